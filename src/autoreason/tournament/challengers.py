"""The challengers of a pass: the revision B and the synthesis AB."""

from __future__ import annotations

from autoreason.contract import count_words
from autoreason.events import CandidateDropped, CandidateReady, Slot
from autoreason.tournament.chance import draw
from autoreason.tournament.documents import same_text
from autoreason.tournament.venue import Venue
from autoreason.tournament.writing import Unwritten, Written, write


async def challenge(venue: Venue, number: int, incumbent: str, problems: str) -> dict[Slot, str]:
    """The challengers that may stand against the incumbent; none, one or two."""
    standing: dict[Slot, str] = {}
    revision = await _revise(venue, number, incumbent, problems)
    if _admit(venue, number, "B", revision, (incumbent,)):
        standing["B"] = _text(revision)
    if isinstance(revision, Unwritten) or same_text(revision.text, incumbent):
        # Nothing to make a synthesis with.
        return standing
    synthesis = await _synthesize(venue, number, incumbent, revision.text)
    if _admit(venue, number, "AB", synthesis, (incumbent, revision.text)):
        standing["AB"] = _text(synthesis)
    return standing


async def _revise(venue: Venue, number: int, incumbent: str, problems: str) -> Written | Unwritten:
    settings = venue.settings
    key = f"pass/{number}/reviser"
    prompt = venue.prompt("reviser", key, (incumbent, problems), text=incumbent, critique=problems)
    request = venue.request(
        "reviser",
        f"{key}/try/0",
        settings.models.author,
        prompt,
        temperature=settings.author_temperature,
    )
    return await write(venue, request, key)


async def _synthesize(
    venue: Venue, number: int, incumbent: str, revision: str
) -> Written | Unwritten:
    settings = venue.settings
    key = f"pass/{number}/synthesizer"
    texts = [incumbent, revision]
    draw(settings.seed, f"{key}/order").shuffle(texts)
    prompt = venue.prompt("synthesizer", key, tuple(texts), texts=texts)
    request = venue.request(
        "synthesizer",
        f"{key}/try/0",
        settings.models.synthesizer,
        prompt,
        temperature=settings.author_temperature,
    )
    return await write(venue, request, key)


def _admit(
    venue: Venue, number: int, slot: Slot, written: Written | Unwritten, others: tuple[str, ...]
) -> bool:
    """Whether a text may stand; what it is, or why not, is told either way."""
    if isinstance(written, Unwritten):
        venue.tell(
            CandidateDropped(number=number, slot=slot, reason=written.reason, detail=written.detail)
        )
        return False
    if any(same_text(written.text, other) for other in others):
        venue.tell(
            CandidateDropped(
                number=number, slot=slot, reason="clone", detail="the same as another text"
            )
        )
        return False
    if written.violations:
        venue.tell(
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
    venue.tell(
        CandidateReady(
            number=number,
            slot=slot,
            text=written.text,
            words=count_words(written.text),
            notes=written.notes,
            repaired=written.repaired,
            rewritten=written.rewritten,
            leaks=written.leaks,
        )
    )
    return True


def _text(written: Written | Unwritten) -> str:
    assert isinstance(written, Written)
    return written.text
