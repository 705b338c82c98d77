"""The texts that stand for a vote: first drafts and challengers, and what keeps a text off the ballot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from math import sqrt
from statistics import fmean, stdev
from typing import Any, NamedTuple

from autoreason import events
from autoreason.contract import Violation, count_words
from autoreason.errors import ProviderFailed
from autoreason.jobs.context import JobContext, draw, use_in_order
from autoreason.keys import pass_key, sub_key
from autoreason.parsing.documents import same_text
from autoreason.stats.shares import student_t
from autoreason.story import DRAFTS
from autoreason.tournament.panel import EVALUATIONS, CodeJudges, Panel, measure, metric_of
from autoreason.tournament.voting import (
    PanelSize,
    judges_revisions,
    revisers_by_slot,
    turn,
    writes_synthesis,
)
from autoreason.tournament.writing import (
    ENDLESS,
    MissingText,
    WrittenText,
    find_addition,
    leaks_in,
    revise,
    reviser_key,
    violations,
    write,
)

_TAIL = 0.025


class WorseText(NamedTuple):
    text: str
    detail: str
    reason: events.WorseReason = "metric"


class Guard:
    """Compares the texts of a stage with the incumbent, which is measured once for all of them."""

    def __init__(self, stage: str, incumbent: str) -> None:
        self._stage, self._incumbent = stage, incumbent
        self._known: list[float | None] = []

    async def check(
        self, context: JobContext, name: str | int, written: WrittenText | MissingText
    ) -> WrittenText | MissingText | WorseText:
        if isinstance(written, MissingText):
            return written
        if excess := context.find_excess(written.text):
            return WorseText(written.text, excess.detail, excess.reason)
        is_seen = context.settings.judges > 0
        if written.leaks and not is_seen and not leaks_in(context, self._incumbent):
            return WorseText(written.text, ", ".join(written.leaks), "leak")
        metric = metric_of(context.task, "guard")
        if metric is None or same_text(written.text, self._incumbent):
            return written
        stage = self._stage
        if not self._known:
            key = sub_key(stage, "A")
            self._known, _ = await measure(context, metric, key, self._incumbent, stage)
        values, fault = await measure(context, metric, sub_key(stage, name), written.text, stage)
        if None in values:
            return WorseText(written.text, fault, "number")
        both = zip(values, self._known, strict=True)
        differences = [now - was for now, was in both if now is not None and was is not None]
        if not is_worse(differences):
            return written
        by = f"by {-fmean(differences):.3g} on average over {len(differences)} measurements"
        return WorseText(written.text, by)


def ends_incumbent(key: str) -> bool:
    """Whether an evaluation is the last of the incumbent, without whose number nothing can be compared."""
    return key.endswith(sub_key("metric", "A", "evaluation", EVALUATIONS - 1))


def is_worse(differences: Sequence[float]) -> bool:
    """Whether differences to A are below 0 beyond their noise; without noise, at all. No difference says nothing."""
    if not differences:
        return False
    apart = stdev(differences) if len(differences) > 1 else 0.0
    reach = student_t(len(differences) - 1, _TAIL) * apart / sqrt(len(differences)) if apart else 0
    return fmean(differences) + reach < 0


def admit(
    context: JobContext,
    number: int,
    slot: events.Slot,
    written: WrittenText | MissingText | WorseText,
    others: tuple[str, ...],
    *,
    fresh: bool = False,
    listed: bool = True,
) -> str:
    """The text, if it becomes a candidate next to others, the incumbent first; emits it, or why it is dropped.

    One that is not `listed` was written for another text to be made of it, and is not judged.
    """
    drop = partial(events.CandidateDropped, number=number, slot=slot)
    event: events.CandidateDropped | events.CandidateReady
    if isinstance(written, MissingText | WorseText):
        event = drop(**written._asdict())
    elif any(same_text(written.text, other) for other in others):
        event = drop(reason="clone", detail="the same as another text")
    elif not listed:
        event = drop(reason="unlisted", text=written.text)
    elif _distance(written.violations) > _distance(violations(context, others[0])):
        broken = written.violations
        detail = "; ".join(each.message for each in broken)
        event = drop(reason="contract", detail=detail, violations=broken, text=written.text)
    else:
        about = written._asdict() | {"words": count_words(written.text), "fresh": fresh}
        event = events.CandidateReady(number=number, slot=slot, **about)
    context.emit(event)
    return event.text if isinstance(event, events.CandidateReady) else ""


def _distance(broken: tuple[Violation, ...]) -> tuple[int, int]:
    """How many limits a text breaks, and how many words it is from those of length.

    Judges may like a text that is thirty times as long as allowed, and each pass could add to it.
    """
    return len(broken), sum(each.words_off for each in broken)


async def prepare_draft(context: JobContext, prompt: str = "") -> None:
    _emit_ready(context, await _first_draft(context, prompt))


async def choose_draft(
    context: JobContext, affords: Callable[[range], Awaitable[bool]], code: CodeJudges
) -> None:
    """Emit the first text: of several drafts the one that breaks the fewest limits, then the judges' choice.

    They are written until as many as wanted keep the contract. A draft given by the user is the only one.
    """
    settings, drafts = context.settings, {1: await _first_draft(context)}
    alone = settings.max_drafts == 1 or context.task.draft is not None
    last = 1
    while not alone:
        missing = settings.drafts - sum(not (x.violations or x.leaks) for x in drafts.values())
        numbers = range(last + 1, min(last + missing, settings.max_drafts) + 1)
        if missing <= 0 or not numbers or not await affords(numbers):
            break
        if last == 1:
            context.emit(events.DraftWritten(number=1, **_recorded(drafts[1])))
        last = numbers[-1]
        answers: list[WrittenText | MissingText] = []
        works = [write_draft(context, sub_key(DRAFTS, number)) for number in numbers]
        await use_in_order(works, answers.append)
        for number, written in zip(numbers, answers, strict=True):
            if isinstance(written, MissingText):
                context.emit(events.DraftFailed(attempt=number - 1, **written._asdict()))
            else:
                drafts[number] = written
                context.emit(events.DraftWritten(number=number, **_recorded(written)))
    number_chosen = await _choose(context, drafts, code)
    _emit_ready(context, drafts[number_chosen], number_chosen, len(drafts))


async def write_draft(context: JobContext, key: str, prompt: str = "") -> WrittenText | MissingText:
    """One text for the task, by an author who sees no other text, unless this prompt shows some."""
    return await write(context, "author", key, prompt or context.prompts.render("author"))


async def _choose(context: JobContext, drafts: dict[int, WrittenText], code: CodeJudges) -> int:
    """Contract first; where several drafts that keep it were asked for, judges choose among equals."""
    broken = {number: _distance(each.violations) for number, each in drafts.items()}
    faults = {at: (number, len(drafts[at].leaks), off) for at, (number, off) in broken.items()}
    fewest = min(faults.values())
    best: dict[str, int] = {}
    for number, each in drafts.items():
        others = (drafts[other].text for other in best.values())
        if faults[number] == fewest and not any(same_text(each.text, x) for x in others):
            best[f"draft {number}"] = number
    first = next(iter(best.values()))
    if context.settings.drafts == 1 or len(best) == 1:
        return first
    texts = {name: drafts[number].text for name, number in best.items()}
    panel = Panel(context, DRAFTS, texts, PanelSize(context.settings.panel_judges), code=code)
    verdict = await panel.run()
    context.emit(events.PanelDecided(stage=DRAFTS, verdict=verdict))
    return best[verdict.winner] if verdict else first


async def _first_draft(context: JobContext, prompt: str = "") -> WrittenText:
    """The user's draft, or the author's; a run resumed after it got none asks once more than before."""
    task = context.task
    if task.draft is not None:
        text = task.draft.strip()
        return WrittenText(text, "", False, False, (), task.violations(text))
    reason = fix = ""
    for attempt in range(context.recovery.redrafts + 1):
        key = sub_key("draft", attempt) if attempt else "draft"
        written = await write_draft(context, key, prompt)
        if isinstance(written, WrittenText):
            return written
        context.emit(events.DraftFailed(attempt=attempt, **written._asdict()))
        reason = f"{written.reason}: {written.detail}"
        too_short = written.reason == "truncated" and written.detail != ENDLESS
        fix = "raise the output limit" if too_short else "try another author model"
    raise ProviderFailed(f"the author gave no first draft ({reason}); {fix}")


def _emit_ready(context: JobContext, written: WrittenText, number: int = 1, of: int = 1) -> None:
    given = context.task.draft is not None and number == 1
    context.emit(events.DraftReady(given=given, number=number, of=of, **_recorded(written)))


def _recorded(written: WrittenText) -> dict[str, Any]:
    text, broken = written.text, written.violations
    return {"text": text, "words": count_words(text), "violations": broken, "leaks": written.leaks}


MAX_RIVALS = 4
"""Fresh drafts written at most where a pass has no challenger; the first takes the place of a synthesis."""


async def challenge(
    context: JobContext, number: int, incumbent: str, problems: str, ranked: Sequence[str] = ()
) -> dict[events.Slot, str]:
    settings = context.settings
    challengers: dict[events.Slot, str] = {}
    guard = Guard(pass_key(number, "metric"), incumbent)
    listed = judges_revisions(settings)
    revisers = revisers_by_slot(settings, number)
    written: list[WrittenText | MissingText] = []
    blind = settings.blind_revision
    work = [
        revise(context, reviser_key(number, slot), incumbent, problems, model=model, blind=blind)
        for slot, model in revisers.items()
    ]
    await use_in_order(work, written.append)
    revisions = dict(zip(revisers, written, strict=True))
    for slot, revision in revisions.items():
        checked = await guard.check(context, slot, revision) if listed else revision
        others = (incumbent, *ranked, *challengers.values())
        if text := admit(context, number, slot, checked, others, listed=listed):
            challengers[slot] = text
    whole = [each.text for each in written if isinstance(each, WrittenText)]
    texts = [each for each in whole if not same_text(each, incumbent)]
    if not texts or not writes_synthesis(settings):
        # There is nothing to combine, or nothing is to be.
        return challengers
    pair = [incumbent, texts[turn(number, len(texts))]]
    if settings.subtractive_synthesis:
        found = context.find_excess
        context = replace(context, find_excess=lambda x: find_addition(x, pair) or found(x))
    key, shown = pass_key(number, "synthesizer"), [*pair]
    draw(settings.seed, f"{key}/order").shuffle(shown)
    subtractive = settings.subtractive_synthesis
    prompt = context.prompt("synthesizer", key, texts=shown, subtractive=subtractive)
    model = settings.models.synthesizer
    synthesis = await write(context, "synthesizer", key, prompt, model=model)
    checked = await guard.check(context, "AB", synthesis)
    if text := admit(context, number, "AB", checked, (incumbent, *ranked, *texts)):
        challengers["AB"] = text
    return challengers


async def write_rival(
    context: JobContext, number: int, incumbent: str, affords: Callable[[str], Awaitable[bool]]
) -> dict[events.Slot, str]:
    """The first of up to `MAX_RIVALS` fresh drafts, as far as the budget allows, that becomes a challenger."""
    guard = Guard(pass_key(number, "draft", "metric"), incumbent)
    for attempt in range(MAX_RIVALS):
        key = pass_key(number, "draft", attempt)
        if attempt and not await affords(key):
            break
        checked = await guard.check(context, attempt, await write_draft(context, key))
        if text := admit(context, number, "B", checked, (incumbent,), fresh=True):
            return {"B": text}
    return {}
