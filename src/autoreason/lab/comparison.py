"""Strategies from one shared draft, on equal terms: same task, same contract, matched budgets, one blind panel."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import Delivered, Reigning, RunPaused
from autoreason.panel.ranked import STAGE, RankedPanel
from autoreason.settings import MOST_PASSES, Settings
from autoreason.story import HeldPanel, Story
from autoreason.strategies.finding import find_strategy
from autoreason.strategies.holding import held, made, theirs_to_mend
from autoreason.strategies.sampled import Single
from autoreason.task import Entry, Task
from autoreason.tournament.allowance import Allowance, Unit
from autoreason.tournament.documents import same_text
from autoreason.tournament.parts import part_of, side_by_side
from autoreason.tournament.strategy import Strategy, read_options
from autoreason.tournament.venue import Tell

MOST_REPEATS = 100
REFERENCE = "autoreason"


class Terms(Struct, frozen=True, kw_only=True):
    """Who is compared, how often, and what makes it fair."""

    strategies: tuple[str, ...] = (REFERENCE, "single", "critique_revise")
    """The first sets the budget that the others have to match, unless one is given."""
    repeats: int = 5
    match: Unit = "calls"
    allowance: Decimal | None = None
    """What each strategy may spend, in the unit matched, beside the shared draft."""
    judges: int = 7

    def __post_init__(self) -> None:
        if len(self.strategies) < 2 or len(set(self.strategies)) < len(self.strategies):
            raise InvalidInput("a comparison needs two different strategies or more; name them")
        if not 1 <= self.repeats <= MOST_REPEATS:
            raise InvalidInput(f"repeats is {self.repeats}; give a number from 1 to {MOST_REPEATS}")
        if self.judges < 2:
            raise InvalidInput(f"judges is {self.judges}; a panel has two or more")
        if self.allowance is not None and self.allowance <= 0:
            raise InvalidInput(f"the allowance is {self.allowance}; give more than 0")


class _Ended(NamedTuple):
    """How one strategy came out of one repeat."""

    text: str | None
    """None where it failed; an error is not a result."""
    spent: Decimal


class Comparison(Strategy):
    """Every repeat: one draft, every strategy from there, then a panel over what they delivered."""

    summary = "strategies from one shared draft with matched budgets, then a blind panel"
    iterates = False

    async def run(self) -> Delivered:
        """Hold all repeats side by side."""
        terms = read_options(self.settings, Terms)
        repeats = [partial(self._repeat, number, terms) for number in range(1, terms.repeats + 1)]
        await side_by_side(self.tell, repeats)
        panels = panels_of(self.story)
        reason = (
            f"{len(terms.strategies)} strategies, {terms.repeats} repeats, {len(panels)} panels"
        )
        return self.deliver("done", reason, self._best(terms, panels))

    @classmethod
    def check(cls, settings: Settings) -> None:
        """The terms, and every strategy with them."""
        for name in read_options(settings, Terms).strategies:
            kind = find_strategy(name)
            with theirs_to_mend(kind, name):
                kind.check(_alone(settings, name))

    def _best(self, terms: Terms, panels: Mapping[int, HeldPanel]) -> Reigning:
        """The last text of whoever has the most points; of the first strategy where nobody was judged."""
        points = dict.fromkeys(terms.strategies, 0)
        for panel in panels.values():
            for name, score in (
                panel.held.verdict.scores.items() if panel.held and panel.held.verdict else ()
            ):
                points[name] += score
        best = max(points, key=lambda name: points[name])
        delivered = [
            part.delivered for name, part in self.story.parts.items() if name.endswith(f"/{best}")
        ]
        last = next((each for each in reversed(delivered) if each), None)
        if last is None:
            raise PanelFailed("no strategy delivered a text")
        return Reigning(
            name=f"{best}: {last.origin}",
            since=0,
            text=last.text,
            keeps_contract=not last.violations,
        )

    async def _repeat(self, number: int, terms: Terms, tell: Tell) -> None:
        """One draft, every strategy from there, one panel."""
        base = f"repeat/{number}"
        draft = self.venue.task.draft or await self._draft(base, tell)
        task = replace(self.venue.task, draft=draft)
        first, *others = terms.strategies
        ended = {first: await self._hold(base, first, task, terms, terms.allowance, tell)}
        amount = terms.allowance or ended[first].spent
        works = [partial(self._hold, base, name, task, terms, amount) for name in others]
        ended |= dict(zip(others, await side_by_side(tell, works), strict=True))
        await self._judge(base, {name: each.text for name, each in ended.items()}, terms, tell)

    async def _draft(self, base: str, tell: Tell) -> str:
        settings = _alone(self.settings, "single")
        strategy = Single(part_of(self.venue, f"{base}/draft", tell, self.venue.task, settings))
        return (await strategy.run()).text

    async def _hold(
        self, base: str, name: str, task: Task, terms: Terms, amount: Decimal | None, tell: Tell
    ) -> _Ended:
        settings = _alone(self.settings, name)
        if amount is not None and name != REFERENCE:
            # The allowance ends it, not the number of passes.
            settings = replace(settings, passes=MOST_PASSES)
        allowance = Allowance(terms.match, amount)
        venue = part_of(self.venue, f"{base}/{name}", tell, task, settings, allowance)
        try:
            text: str | None = (await held(made(find_strategy(name), venue))).text
        except PanelFailed as failure:
            venue.tell(RunPaused(status=failure.status, reason=str(failure)))
            text = None
        return _Ended(text, allowance.spent)

    async def _judge(
        self, base: str, texts: Mapping[str, str | None], terms: Terms, tell: Tell
    ) -> None:
        """The panel over what the strategies delivered; texts that are the same stand once."""
        entries = distinct(texts)
        if len(entries) < 2:
            return
        task = replace(self.venue.task, draft=None, entries=entries)
        settings = replace(
            _alone(self.settings, "judge"),
            judges=terms.judges,
            most_judges=max(terms.judges, self.settings.most_judges),
        )
        venue = part_of(self.venue, f"{base}/panel", tell, task, settings)
        try:
            await RankedPanel(venue).run()
        except PanelFailed as failure:
            venue.tell(RunPaused(status=failure.status, reason=str(failure)))


def _alone(settings: Settings, strategy: str) -> Settings:
    return replace(settings, strategy=strategy, strategy_options={})


def panels_of(story: Story) -> dict[int, HeldPanel]:
    """The panels of a comparison, by the number of the repeat."""
    found = {}
    for name, part in story.parts.items():
        place = name.split("/")
        if len(place) == 3 and place[2] == "panel" and STAGE in part.panels:
            found[int(place[1])] = part.panels[STAGE]
    return found


def distinct(texts: Mapping[str, str | None]) -> tuple[Entry, ...]:
    """What there is to judge, each text once, under the name of the first who delivered it."""
    entries: list[Entry] = []
    for name, text in texts.items():
        if text is not None and not any(same_text(text, entry.text) for entry in entries):
            entries.append(Entry(name=name, text=text))
    return tuple(entries)
