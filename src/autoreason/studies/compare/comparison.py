"""Strategies from one shared draft, on equal terms: same task, same contract, matched budgets, one blind panel."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from math import ceil
from typing import Annotated, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import Delivered, JobFinished
from autoreason.jobs.allowance import Allowance, Unit
from autoreason.jobs.context import Emit, JobContext
from autoreason.jobs.job import (
    Job,
    Plan,
    Plans,
    join_plans,
    panel_attempts,
    plan_calls,
    read_options,
    repeat_plans,
    run_part,
    user_code_errors,
)
from autoreason.jobs.parts import part_context, side_by_side
from autoreason.keys import PANEL, PartName
from autoreason.models.prices import rates
from autoreason.plugins import short
from autoreason.report.numbers import count
from autoreason.settings import MAX_JUDGES, MAX_PASSES, PANEL_JUDGES, Settings
from autoreason.stats.shares import enough_repeats
from autoreason.story import RecordedPanel, Story
from autoreason.strategies.registry import find_strategy
from autoreason.strategies.rivals import Single
from autoreason.studies.panels.entries import distinct, same_texts
from autoreason.studies.panels.ranked import STAGE, RankedPanel
from autoreason.task import Task
from autoreason.tournament.loop import MAX_CALLS_PER_TEXT, without_drafts

MAX_REPEATS = 100
MAX_ALLOWANCE = 1_000_000_000
REFERENCE = "autoreason"
_DRAFT = "draft"
_OWN_PARTS = (_DRAFT, PANEL)
"""Parts of a repeat that are no strategy's."""
Texts = Mapping[str, str | None]
"""What each strategy delivered in a repeat; None where it failed."""


class ComparisonOptions(Struct, frozen=True, kw_only=True):
    """Which strategies are compared, how often, and under which limits."""

    strategies: Annotated[
        tuple[str, ...],
        "The first sets the budget that the others have to match, unless one is given.",
    ] = (REFERENCE, "single", "critique_revise")
    repeats: Annotated[
        int | None,
        "None is as many as it takes for a preference that is the same in all of them to show.",
    ] = None
    match: Annotated[Unit, "What all strategies may spend equally much of."] = "calls"
    allowance: Annotated[
        Decimal | None,
        "What each may spend, in calls, tokens or dollars, instead of what the first takes; the shared draft is "
        "extra.",
    ] = None
    judges: Annotated[int, "Judges of the panel over what is delivered."] = PANEL_JUDGES

    def __post_init__(self) -> None:
        if len(self.strategies) < 2 or len(set(self.strategies)) < len(self.strategies):
            raise InvalidInput("a comparison needs two different strategies or more; name them")
        names = set(_OWN_PARTS)
        for name in map(short, self.strategies):
            if name in names:
                raise InvalidInput(
                    f"{name} is the name of another part of the comparison; rename that strategy"
                )
            names.add(name)
        if not 1 <= self.repeat_count <= MAX_REPEATS:
            raise InvalidInput(
                f"`repeats` is {self.repeats}; give a number from 1 to {MAX_REPEATS}"
            )
        if not 2 <= self.judges <= MAX_JUDGES:
            raise InvalidInput(f"give the final panel 2 to {MAX_JUDGES} judges, not {self.judges}")
        if self.allowance is not None and not (
            self.allowance.is_finite() and 0 < self.allowance <= MAX_ALLOWANCE
        ):
            raise InvalidInput(
                f"`allowance` is {self.allowance}; give more than 0, at most {MAX_ALLOWANCE:,}"
            )

    @property
    def repeat_count(self) -> int:
        """How many repeats there are."""
        return enough_repeats(len(self.strategies)) if self.repeats is None else self.repeats


def few_repeats_note(settings: Settings) -> str:
    """What a comparison with few repeats cannot show; empty where there are enough."""
    options = read_options(settings, ComparisonOptions)
    needed = enough_repeats(len(options.strategies))
    if options.repeat_count >= needed:
        return ""
    return (
        f"{count(options.repeat_count, 'repeat')} of {len(options.strategies)} strategies cannot show "
        f"that one of them is best beyond chance; that takes {needed} or more"
    )


class _PartResult(NamedTuple):
    """What one strategy delivered in one repeat."""

    text: str | None
    """None where it failed; an error is not a result."""
    spent: Decimal


class Comparison(Job):
    """Every repeat: one draft, every strategy from there, then a panel over what they delivered."""

    summary = "strategies from one shared draft with matched budgets, then a blind panel"

    def __init__(self, context: JobContext) -> None:
        super().__init__(context)
        self._options = read_options(self.settings, ComparisonOptions)

    async def run(self) -> JobFinished:
        """Run all repeats side by side."""
        options = self._options
        numbers = range(1, options.repeat_count + 1)
        repeats = [partial(self._repeat, number) for number in numbers]
        texts = dict(zip(numbers, await side_by_side(self.emit, repeats), strict=True))
        for attempt in panel_attempts(self.context)[1:]:
            decided = [n for n, panel in panels_of(self.story).items() if panel.verdict]
            failed = [n for n in numbers if n not in decided]
            works = [partial(self._repeat_failed, n, attempt, texts[n]) for n in failed]
            texts |= zip(failed, await side_by_side(self.emit, works), strict=True)
        panels = panels_of(self.story)
        judged = panels or any(None in each.values() for each in texts.values())
        if judged and not any(panel.verdict for panel in panels.values()):
            raise PanelFailed("no panel got enough valid ballots to decide anything")
        reason = (
            f"{len(options.strategies)} strategies, {count(options.repeat_count, 'repeat')}, "
            f"{count(len(panels), 'panel')}"
        )
        best, last = self._best(panels, texts)
        return self.finish(reason, last.text, f"{best}: {last.origin}")

    @classmethod
    def check(cls, settings: Settings) -> None:
        """Check the options, and every strategy under them."""
        options = read_options(settings, ComparisonOptions)
        if options.match == "cost":
            _require_prices(settings)
        if options.allowance is None and find_strategy(options.strategies[0]) is Single:
            raise InvalidInput(
                "single spends nothing but the draft, so no strategy could match it; "
                "name another strategy first or give an allowance"
            )
        for name in options.strategies:
            kind = find_strategy(name)
            with user_code_errors(kind, name):
                kind.check(_part_settings(settings, name))

    @classmethod
    def plans(cls, settings: Settings) -> Plans | None:
        """In every repeat a draft, what each strategy spends, and the panel."""
        options = read_options(settings, ComparisonOptions)
        names = [name for name in options.strategies if find_strategy(name) is not Single]
        parts: list[Plans | None] = [None]
        if options.allowance is None:
            first = _part_plans(settings, options.strategies[0], None)
            # The others may spend as much, and spend nothing where no pass of theirs fits.
            parts = [first, *[first and ({}, *first[1:])] * (len(names) - 1)]
        elif options.match == "calls":
            parts = [_part_plans(settings, name, options.allowance) for name in names]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        panel = RankedPanel.plans(_panel_settings(settings, options))
        plans = [
            ({"author": 1}, {"author": 1}, {"author": MAX_CALLS_PER_TEXT}),
            *known,
            # There is no panel where all deliver the same text.
            ({}, *panel[1:]),
        ]
        low, likely, high = (join_plans(*each) for each in zip(*plans, strict=True))
        return repeat_plans((low, likely, high), options.repeat_count)

    @classmethod
    def draft_count(cls, settings: Settings) -> int:
        """One in every repeat."""
        return read_options(settings, ComparisonOptions).repeat_count

    def _best(
        self, panels: Mapping[int, RecordedPanel], texts: Mapping[int, Texts]
    ) -> tuple[str, Delivered]:
        """The strategy with the most points, the first one where no text was judged, and its last text."""
        points: dict[str, list[int]] = {name: [0] for name in self._options.strategies}
        for number, panel in panels.items():
            scores = panel.verdict.scores if panel.verdict else {}
            for name, others in same_texts(texts[number]).items():
                points[name].append(sum(scores.get(other, 0) for other in others))
        # Failing in a repeat is no disadvantage; strategies that were never judged come last.
        best = max(points, key=lambda name: sum(points[name]) / max(1, len(points[name]) - 1))
        numbers = range(self._options.repeat_count, 0, -1)
        parts = [self.story.parts[last_part(self.story, n, best)] for n in numbers]
        last = next((part.delivered for part in parts if part.delivered), None)
        if last is None:
            raise PanelFailed("no strategy delivered a text")
        return best, last

    async def _repeat(self, number: int, emit: Emit) -> Texts:
        """One draft, every strategy from there, one panel; what they delivered."""
        draft = self.context.task.draft or await self._draft(number, emit)
        return await self._attempt(number, 0, draft, emit)

    async def _attempt(self, number: int, attempt: int, draft: str, emit: Emit) -> Texts:
        """Every strategy from a draft, one panel; what they delivered."""
        task = replace(self.context.task, draft=draft)
        first, *others = self._options.strategies
        run = partial(self._run_part, number, attempt, task)
        results = {first: await run(self._options.allowance, first, emit)}
        amount = self._options.allowance or results[first].spent
        works = [partial(run, amount, name) for name in others]
        results |= dict(zip(others, await side_by_side(emit, works), strict=True))
        texts = {name: each.text for name, each in results.items()}
        await self._judge(number, attempt, texts, emit)
        return texts

    async def _repeat_failed(self, number: int, attempt: int, texts: Texts, emit: Emit) -> Texts:
        """The panel once more; before it, where a strategy failed, all of them, so that budgets match."""
        recovery = self.context.recovery
        if None in texts.values() and attempt > recovery.failed_panels - recovery.failed_parts:
            draft = self.context.task.draft or self.story.parts[part_name(number, _DRAFT)].text
            return await self._attempt(number, attempt, draft or "", emit)
        await self._judge(number, attempt, texts, emit)
        return texts

    async def _draft(self, number: int, emit: Emit) -> str:
        settings = _part_settings(self.settings, "single")
        part = part_name(number, _DRAFT)
        strategy = Single(part_context(self.context, part, emit, self.context.task, settings))
        return (await strategy.run()).text

    async def _run_part(
        self,
        number: int,
        attempt: int,
        task: Task,
        amount: Decimal | None,
        name: str,
        emit: Emit,
    ) -> _PartResult:
        settings = _part_settings(self.settings, name)
        if amount is not None and name != REFERENCE:
            # The allowance ends it, not the number of passes.
            settings = replace(settings, passes=MAX_PASSES)
        allowance = Allowance(self._options.match, amount)
        context = part_context(
            self.context,
            part_name(number, name, attempt),
            emit,
            task,
            settings,
            allowance,
            shared_draft=self.context.task.draft is None,
        )
        end = await run_part(find_strategy(name), context)
        return _PartResult(end.text if end else None, allowance.spent)

    async def _judge(self, number: int, attempt: int, texts: Texts, emit: Emit) -> None:
        """The panel over what the strategies delivered; texts that are the same are judged once."""
        entries = distinct(texts)
        if len(entries) < 2:
            return
        task = replace(self.context.task, draft=None, entries=entries)
        settings = _panel_settings(self.settings, self._options)
        part = str(PartName(PANEL, number, attempt=attempt))
        await run_part(RankedPanel, part_context(self.context, part, emit, task, settings))


def _part_settings(settings: Settings, strategy: str) -> Settings:
    # The comparison's own panels do the confirming.
    return replace(settings, strategy=strategy, strategy_options={}, confirmation=0)


def _panel_settings(settings: Settings, options: ComparisonOptions) -> Settings:
    return replace(
        _part_settings(settings, "judge"),
        judges=options.judges,
        max_judges=max(options.judges, settings.max_judges),
    )


def _part_plans(settings: Settings, name: str, allowance: Decimal | None) -> Plans | None:
    """The plans of one strategy after the shared draft, within an allowance of calls."""
    kind = find_strategy(name)
    settings = replace(_part_settings(settings, name), drafts=1, max_drafts=1)
    if (plans := plan_calls(kind, settings)) is None:
        return None
    plans = without_drafts(plans, 1)
    one_pass = plan_calls(kind, replace(settings, passes=1))
    if allowance is None or one_pass is None:
        return plans
    one_pass = without_drafts(one_pass, 1)
    _, likely, high = plans
    calls = int(allowance)
    # A pass that was started is finished.
    max_calls = calls + sum(one_pass[2].values())
    if name == REFERENCE:
        # It may end before.
        calls = min(calls, sum(likely.values()))
        max_calls = min(max_calls, sum(high.values()))
    # None begins a pass that would not fit.
    low = one_pass[0] if sum(one_pass[1].values()) <= allowance else {}
    return low, _scale(likely, calls), _scale(high, max_calls)


def _scale(plan: Plan, calls: int) -> Plan:
    """A plan of so many calls in all, each role with its share."""
    total = sum(plan.values())
    return {role: ceil(each * calls / total) for role, each in plan.items()} if total else plan


def _require_prices(settings: Settings) -> None:
    """Find out before anything is spent that there is a cost to match."""
    prices = {address: rates(address) for address in settings.models.all()}
    for address, price in prices.items():
        if price is None:
            raise InvalidInput(
                f"budgets cannot be matched by cost, the price of {address} is not known; "
                "match calls or tokens"
            )
    if not any(price and (price.input or price.output) for price in prices.values()):
        raise InvalidInput(
            "these models cost nothing, so cost matches nothing; match calls or tokens"
        )


def part_name(number: int, strategy: str, attempt: int = 0) -> str:
    """The part of a strategy in a repeat: `repeat/2/harsh`, and `repeat/2/harsh@1` where it is run again."""
    return str(PartName(short(strategy), number, attempt=attempt))


def last_part(story: Story, number: int, strategy: str) -> str:
    """The part of a strategy in a repeat as it was run last."""
    first = part_name(number, strategy)
    # Attempts may be missing: a panel that failed is sometimes run again without the strategies.
    parts = [PartName.parse(name) for name in story.parts if name.startswith(first)]
    attempts = [part.attempt for part in parts if part.name == short(strategy)]
    return part_name(number, strategy, max(attempts, default=0))


def panels_of(story: Story) -> dict[int, RecordedPanel]:
    """The panels of a comparison as they were run last, by the number of the repeat."""
    panels = {}
    for name, part in story.parts.items():
        parsed = PartName.parse(name)
        if parsed.name == PANEL and STAGE in part.panels:
            panels[parsed.repeat] = part.panels[STAGE]
    return panels
