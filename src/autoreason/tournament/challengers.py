"""The challengers of a pass: the revision B and the synthesis AB, or a fresh draft in their place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from autoreason.events import Slot
from autoreason.jobs.context import JobContext
from autoreason.jobs.randomness import draw
from autoreason.keys import pass_key, try_key
from autoreason.parsing.documents import same_text
from autoreason.tournament.admission import admit
from autoreason.tournament.authors import MissingText, WrittenText, write
from autoreason.tournament.drafts import write_draft
from autoreason.tournament.revision import revise

MAX_RIVALS = 4
"""Fresh drafts written at most where a pass has no challenger; the first takes the place of a synthesis."""


async def challenge(
    context: JobContext, number: int, incumbent: str, problems: str
) -> dict[Slot, str]:
    """The challengers of the incumbent: none, one or two."""
    challengers: dict[Slot, str] = {}
    revision = await revise(context, number, incumbent, problems)
    if admit(context, number, "B", revision, (incumbent,)):
        challengers["B"] = _text(revision)
    if isinstance(revision, MissingText) or same_text(revision.text, incumbent):
        # There is nothing to combine.
        return challengers
    synthesis = await _synthesize(context, number, incumbent, revision.text)
    if admit(context, number, "AB", synthesis, (incumbent, revision.text)):
        challengers["AB"] = _text(synthesis)
    return challengers


async def write_rival(
    context: JobContext, number: int, incumbent: str, affords: Callable[[str], Awaitable[bool]]
) -> dict[Slot, str]:
    """The first of up to `MAX_RIVALS` fresh drafts, as far as the budget allows, that becomes a challenger."""
    for attempt in range(MAX_RIVALS):
        key = pass_key(number, "draft", attempt)
        if attempt and not await affords(key):
            break
        written = await write_draft(context, key)
        if admit(context, number, "B", written, (incumbent,), fresh=True):
            return {"B": _text(written)}
    return {}


async def _synthesize(
    context: JobContext, number: int, incumbent: str, revision: str
) -> WrittenText | MissingText:
    settings = context.settings
    key = pass_key(number, "synthesizer")
    texts = [incumbent, revision]
    draw(settings.seed, f"{key}/order").shuffle(texts)
    prompt = context.prompt("synthesizer", key, tuple(texts), texts=texts)
    request = context.request(
        "synthesizer",
        try_key(key, 0),
        settings.models.synthesizer,
        prompt,
        temperature=settings.author_temperature,
    )
    return await write(context, request, key)


def _text(written: WrittenText | MissingText) -> str:
    assert isinstance(written, WrittenText)
    return written.text
