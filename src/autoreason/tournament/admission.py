"""Which texts become candidates: complete, no further from the contract than the incumbent, no clone."""

from __future__ import annotations

from autoreason.contract import count_words
from autoreason.events import CandidateDropped, CandidateReady, Slot
from autoreason.jobs.context import JobContext
from autoreason.parsing.documents import same_text
from autoreason.tournament.authors import MissingText, WrittenText, violations
from autoreason.tournament.metric_guard import WorseText


def admit(
    context: JobContext,
    number: int,
    slot: Slot,
    written: WrittenText | MissingText | WorseText,
    others: tuple[str, ...],
    *,
    fresh: bool = False,
    listed: bool = True,
) -> bool:
    """Whether a text becomes a candidate next to others, the incumbent first; emits it, or why it is dropped.

    One that is not `listed` was written for another text to be made of it, and is not judged.
    """
    if isinstance(written, MissingText):
        context.emit(
            CandidateDropped(number=number, slot=slot, reason=written.reason, detail=written.detail)
        )
        return False
    if isinstance(written, WorseText):
        context.emit(
            CandidateDropped(
                number=number,
                slot=slot,
                reason=written.reason,
                detail=written.detail,
                text=written.text,
            )
        )
        return False
    if any(same_text(written.text, other) for other in others):
        context.emit(
            CandidateDropped(
                number=number, slot=slot, reason="clone", detail="the same as another text"
            )
        )
        return False
    if not listed:
        context.emit(
            CandidateDropped(number=number, slot=slot, reason="unlisted", text=written.text)
        )
        return False
    if _is_further(context, written, others[0]):
        context.emit(
            CandidateDropped(
                number=number,
                slot=slot,
                reason="contract",
                detail="; ".join(v.message for v in written.violations),
                violations=written.violations,
                text=written.text,
            )
        )
        return False
    context.emit(
        CandidateReady(
            number=number,
            slot=slot,
            text=written.text,
            words=count_words(written.text),
            notes=written.notes,
            repaired=written.repaired,
            rewritten=written.rewritten,
            leaks=written.leaks,
            violations=written.violations,
            fresh=fresh,
        )
    )
    return True


def _is_further(context: JobContext, written: WrittenText, incumbent: str) -> bool:
    """Whether a text is further from the contract than the incumbent."""
    broken, before = len(written.violations), len(violations(context, incumbent))
    if broken != before or not context.settings.strict_length:
        return broken > before
    # Judges may like a text that is thirty times as long as allowed, and each pass could add to it.
    contract = context.task.contract
    return contract.words_off(written.text) > contract.words_off(incumbent)
