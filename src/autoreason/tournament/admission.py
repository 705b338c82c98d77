"""Which texts become candidates: complete, no further from the contract than the incumbent, no clone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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
    drop = partial(CandidateDropped, number=number, slot=slot)
    found = _check(context, written, others, drop, listed=listed)
    if isinstance(found, CandidateDropped):
        context.emit(found)
        return False
    context.emit(
        CandidateReady(
            number=number,
            slot=slot,
            text=found.text,
            words=count_words(found.text),
            notes=found.notes,
            repaired=found.repaired,
            rewritten=found.rewritten,
            leaks=found.leaks,
            violations=found.violations,
            fresh=fresh,
        )
    )
    return True


def _check(
    context: JobContext,
    written: WrittenText | MissingText | WorseText,
    others: tuple[str, ...],
    drop: Callable[..., CandidateDropped],
    *,
    listed: bool,
) -> WrittenText | CandidateDropped:
    """The text, or why it is dropped."""
    if isinstance(written, MissingText):
        return drop(reason=written.reason, detail=written.detail)
    if isinstance(written, WorseText):
        return drop(reason=written.reason, detail=written.detail, text=written.text)
    if any(same_text(written.text, other) for other in others):
        return drop(reason="clone", detail="the same as another text")
    if not listed:
        return drop(reason="unlisted", text=written.text)
    if _is_further(context, written, others[0]):
        broken = written.violations
        detail = "; ".join(each.message for each in broken)
        return drop(reason="contract", detail=detail, violations=broken, text=written.text)
    return written


def _is_further(context: JobContext, written: WrittenText, incumbent: str) -> bool:
    """Whether a text is further from the contract than the incumbent."""
    broken, before = len(written.violations), len(violations(context, incumbent))
    if broken != before:
        return broken > before
    # Judges may like a text that is thirty times as long as allowed, and each pass could add to it.
    contract = context.task.contract
    return contract.words_off(written.text) > contract.words_off(incumbent)
