"""The challengers of a pass: revisions and a synthesis, as the settings have it, or a fresh draft in their place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from autoreason.events import Slot
from autoreason.jobs.context import JobContext
from autoreason.jobs.randomness import draw
from autoreason.jobs.tasks import use_in_order
from autoreason.keys import pass_key, try_key
from autoreason.parsing.documents import same_text
from autoreason.tournament.admission import admit
from autoreason.tournament.authors import MissingText, WrittenText, additions, write
from autoreason.tournament.candidates import (
    judges_revisions,
    revisers_by_slot,
    turn,
    writes_synthesis,
)
from autoreason.tournament.drafts import write_draft
from autoreason.tournament.metric_guard import MetricGuard, WorseText
from autoreason.tournament.revision import revise, reviser_key

MAX_RIVALS = 4
"""Fresh drafts written at most where a pass has no challenger; the first takes the place of a synthesis."""


async def challenge(
    context: JobContext, number: int, incumbent: str, problems: str
) -> dict[Slot, str]:
    """The challengers of the incumbent, as many as become candidates."""
    settings = context.settings
    challengers: dict[Slot, str] = {}
    guard = MetricGuard(context, pass_key(number, "metric"), incumbent)
    listed = judges_revisions(settings)
    revisions = await _revise(context, number, incumbent, problems)
    for slot, revision in revisions.items():
        checked = await guard.check(slot, revision) if listed else revision
        others = (incumbent, *challengers.values())
        if admit(context, number, slot, checked, others, listed=listed):
            challengers[slot] = _text(revision)
    texts = [
        each.text
        for each in revisions.values()
        if isinstance(each, WrittenText) and not same_text(each.text, incumbent)
    ]
    if not texts or not writes_synthesis(settings):
        # There is nothing to combine, or nothing is to be.
        return challengers
    revised = texts[turn(number, len(texts))]
    synthesis = await _synthesize(context, number, incumbent, revised)
    checked = synthesis if isinstance(synthesis, WorseText) else await guard.check("AB", synthesis)
    if admit(context, number, "AB", checked, (incumbent, *texts)):
        challengers["AB"] = _text(synthesis)
    return challengers


async def write_rival(
    context: JobContext, number: int, incumbent: str, affords: Callable[[str], Awaitable[bool]]
) -> dict[Slot, str]:
    """The first of up to `MAX_RIVALS` fresh drafts, as far as the budget allows, that becomes a challenger."""
    guard = MetricGuard(context, pass_key(number, "draft", "metric"), incumbent)
    for attempt in range(MAX_RIVALS):
        key = pass_key(number, "draft", attempt)
        if attempt and not await affords(key):
            break
        written = await write_draft(context, key)
        checked = await guard.check(attempt, written)
        if admit(context, number, "B", checked, (incumbent,), fresh=True):
            return {"B": _text(written)}
    return {}


async def _revise(
    context: JobContext, number: int, incumbent: str, problems: str
) -> dict[Slot, WrittenText | MissingText]:
    """The revisions of a pass, written side by side."""
    settings = context.settings
    revisers = revisers_by_slot(settings, number)
    work = [
        revise(
            context,
            reviser_key(number, slot),
            incumbent,
            problems,
            model=model,
            blind=settings.blind_revision,
        )
        for slot, model in revisers.items()
    ]
    written: list[WrittenText | MissingText] = []
    await use_in_order(work, written.append)
    return dict(zip(revisers, written, strict=True))


async def _synthesize(
    context: JobContext, number: int, incumbent: str, revision: str
) -> WrittenText | MissingText | WorseText:
    """One text of two; where it may only cut, one that says more even when asked again is no candidate."""
    settings = context.settings
    key = pass_key(number, "synthesizer")
    texts = [incumbent, revision]
    draw(settings.seed, f"{key}/order").shuffle(texts)
    subtractive = settings.subtractive_synthesis
    prompt = context.prompt("synthesizer", key, tuple(texts), texts=texts, subtractive=subtractive)
    request = context.request(
        "synthesizer",
        try_key(key, 0),
        settings.models.synthesizer,
        prompt,
        temperature=settings.author_temperature,
    )
    sources = texts if subtractive else ()
    written = await write(context, request, key, sources=sources)
    if isinstance(written, WrittenText) and (added := additions(written.text, sources)):
        return WorseText(written.text, added[0].message, "added")
    return written


def _text(written: WrittenText | MissingText | WorseText) -> str:
    assert isinstance(written, WrittenText)
    return written.text
