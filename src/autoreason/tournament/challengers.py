"""The challengers of a pass: the revision B and the synthesis AB, or a fresh draft in their place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from autoreason.events import Slot
from autoreason.jobs.context import JobContext
from autoreason.jobs.randomness import draw
from autoreason.parsing.documents import same_text
from autoreason.tournament.admission import admit
from autoreason.tournament.drafting import write_draft
from autoreason.tournament.revision import revise
from autoreason.tournament.writing import Unwritten, Written, write

RIVALS = 4
"""Fresh drafts written at most where a pass has no challenger; the first takes the place of a synthesis."""


async def challenge(
    context: JobContext, number: int, incumbent: str, problems: str
) -> dict[Slot, str]:
    """The challengers that may stand against the incumbent; none, one or two."""
    standing: dict[Slot, str] = {}
    revision = await revise(context, number, incumbent, problems)
    if admit(context, number, "B", revision, (incumbent,)):
        standing["B"] = _text(revision)
    if isinstance(revision, Unwritten) or same_text(revision.text, incumbent):
        # Nothing to make a synthesis with.
        return standing
    synthesis = await _synthesize(context, number, incumbent, revision.text)
    if admit(context, number, "AB", synthesis, (incumbent, revision.text)):
        standing["AB"] = _text(synthesis)
    return standing


async def rival(
    context: JobContext, number: int, incumbent: str, affords: Callable[[str], Awaitable[bool]]
) -> dict[Slot, str]:
    """The first of `RIVALS` fresh drafts, as far as they are afforded, that may stand against the incumbent."""
    for attempt in range(RIVALS):
        key = f"pass/{number}/draft/{attempt}"
        if attempt and not await affords(key):
            break
        written = await write_draft(context, key)
        if admit(context, number, "B", written, (incumbent,), fresh=True):
            return {"B": _text(written)}
    return {}


async def _synthesize(
    context: JobContext, number: int, incumbent: str, revision: str
) -> Written | Unwritten:
    settings = context.settings
    key = f"pass/{number}/synthesizer"
    texts = [incumbent, revision]
    draw(settings.seed, f"{key}/order").shuffle(texts)
    prompt = context.prompt("synthesizer", key, tuple(texts), texts=texts)
    request = context.request(
        "synthesizer",
        f"{key}/try/0",
        settings.models.synthesizer,
        prompt,
        temperature=settings.author_temperature,
    )
    return await write(context, request, key)


def _text(written: Written | Unwritten) -> str:
    assert isinstance(written, Written)
    return written.text
