"""Before a suite is run: its cells, what they may take, and what they can show."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from itertools import product
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from autoreason.report.numbers import UNKNOWN, count, money, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Figure, Table, figures, words
from autoreason.run.estimate import (
    Number,
    RunEstimate,
    Span,
    describe_paid,
    estimate_run,
    share_paid,
)
from autoreason.run.prepared import choose_prompts
from autoreason.settings import Settings, SuiteMatch
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.studies.lab_suite import (
    CellKind,
    Suite,
    draft_settings,
    groups,
    job_settings,
    set_of,
)
from autoreason.task import Entry, Task
from autoreason.wording import in_words

_UNITS = ("calls", "tokens", "cost")
_SAMPLE_WORDS = 700
"""Length of texts that a panel is taken to read, where no contract limits them."""


_NEEDED = {"preferred": get_args(CellKind), "converged": ("draft",)}
"""Cells without which a measure is not known; a tournament at its limit has not converged."""
_CellName = tuple[str, str, str]
"""Kind, task and arm."""


_Estimated = tuple[int, RunEstimate]
"""How many cells that are alike, and what each of them may take."""


class PlannedArm(Struct, frozen=True, kw_only=True):
    """The cells of an arm, of the shared drafts or of the panels, and what they may take together."""

    name: str
    cells: int
    calls: Span[int] | None
    """None where the strategy cannot say."""
    tokens: Span[int] | None
    cost: Span[Decimal] | None
    """US dollars; None where a price is not known."""
    over_limit: int
    """Cells that most likely reach the limit of a cell, and are left out then."""


class PlannedTest(Struct, frozen=True, kw_only=True):
    """What a planned test could show with what the budget pays for."""

    comparison: str
    arms: str
    measure: str
    units: int
    """Tasks, or where they are few pairs: a task in a repeat by both arms."""
    detectable: Estimate
    """The share of units that must favour one arm for the test to show it four times out of five."""


class LabPlan(Report, Struct, frozen=True, kw_only=True):
    """A suite before its first call."""

    suite: str
    cells: int
    arms: tuple[PlannedArm, ...]
    calls: Span[int] | None
    tokens: Span[int] | None
    cost: Span[Decimal] | None
    tests: tuple[PlannedTest, ...]
    alpha: float
    """The level of each test, corrected for all that are planned."""
    share_paid: float
    """How much of the suite its budget pays for, most likely; 1 is all of it."""
    clusters: str

    heading = "A plan"

    @property
    def conclusion(self) -> str:
        parts = [count(self.cells, "part")]
        parts.append(count(self.calls.likely, "call") if self.calls else "calls unknown")
        if self.cost is None:
            parts.append("cost unknown")
        elif any(self.cost):
            low, high = money(self.cost.low), money(self.cost.high)
            parts.append(f"{money(self.cost.likely)} ({low} to {high})")
        else:
            parts.append("free of charge")
        return f"{self.suite} takes about {', '.join(parts)}; nothing was called"

    def names(self) -> Sequence[str]:
        return [self.suite]

    @property
    def refusal(self) -> str:
        """Why it is not run; empty where it may show something."""
        if not self.tests or any(each.detectable.value is not None for each in self.tests):
            return ""
        each = self.tests[0]
        part = f" its budget pays for {percent(self.share_paid)} of it, and"
        remedy = "add repeats or tasks"
        within = ""
        if any(arm.over_limit for arm in self.arms):
            within, remedy = " within the limit of a part", "raise `budget.cell`"
        return (
            f"the suite {self.suite} cannot show anything{within}:{part if self.share_paid < 1 else ''} "
            f"{each.detectable.reason} for {count(len(self.tests), 'planned test')}; "
            f"{remedy}, or run it with --anyway (anyway=True)"
        )

    def sections(self) -> list[Section]:
        rows = [
            (each.name, each.cells, _span(each.calls), _span(each.tokens), _span(each.cost, money))
            for each in self.arms
        ]
        columns = [*words(""), *figures("parts", "calls", "tokens", "cost")]
        limits = [("Budget", describe_paid(self.share_paid))] if self.share_paid < 1 else []
        for each in self.arms:
            if each.over_limit:
                some = f"{each.over_limit:,} of {count(each.cells, 'part')} of {each.name}"
                limits.append(("Limit of a part", f"{some} would likely reach it and be left out"))
        parts = [Section("Parts", limits, [Table(columns, rows)])]
        if self.tests:
            shown = []
            for test in self.tests:
                shows = f"nothing: {test.detectable.reason}"
                if (share := test.detectable.value) is not None:
                    better = "prefer one" if test.measure == "preferred" else "favour one"
                    shows = f"{percent(share)} or more {better}"
                measure = in_words(test.measure)
                shown.append((test.comparison, test.arms, measure, f"{test.units:,}", shows))
            heads = [*words("comparison", "of", "measure"), *figures(f"{self.clusters}s")]
            table = Table([*heads, *words("shows")], shown)
            tests = count(len(self.tests), "planned test")
            where = "tasks like these" if self.clusters == "task" else "these tasks only"
            level = f"an exact sign test at level {self.alpha:.2g} (for {tests})"
            shown_share = f"the share is what {level} shows four times out of five"
            notes = [("Test", f"permutation of signs by {self.clusters}; {shown_share}")]
            notes.append(("Applies to", where))
            notes += [("Refused", self.refusal)] if self.refusal else []
            parts.append(Section("What it can show", tables=[table], sentences=notes))
        return parts


def _span(span: Span[Any] | None, show: Callable[[Any], str] = "{:,}".format) -> Figure:
    """What it may take, in a spreadsheet as an estimate."""
    if span is None:
        return Figure(None, UNKNOWN)
    shown = f"{show(span.likely)} ({show(span.low)} to {show(span.high)})"
    ends = Estimate(float(span.likely), float(span.low), float(span.high))
    return Figure(ends, shown if show is not money or any(span) else "free")


async def plan_cells(suite: Suite, settings: Settings) -> LabPlan:
    counted: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for group in groups(suite):
        for cells in group:
            counted.update((cell.kind, cell.task, cell.arms) for cell in cells)
    by_name: dict[str, list[_Estimated]] = {}
    too_long: set[_CellName] = set()
    known: dict[tuple[str, str, tuple[str, ...]], RunEstimate] = {}
    for (kind, task, arms), number in counted.items():
        given, own = _prepare(suite, kind, task, arms)
        # Problems of a set are much alike, and there may be thousands.
        alike = (kind, set_of(suite.tasks[task]) or task, arms)
        estimate = known.get(alike) or await estimate_run(given, own, choose_prompts(own))
        known[alike] = estimate
        if kind == "arm" and suite.match:
            first, chosen = _prepare(suite, kind, task, [next(iter(suite.arms))])
            most = await estimate_run(first, chosen, choose_prompts(chosen))
            estimate = _matched(suite.match, own, estimate, most)
        if estimate.paid.likely < 1:
            too_long |= {(kind, task, arm) for arm in arms}
        name = arms[0] if kind == "arm" else {"draft": "shared drafts", "panel": "panels"}[kind]
        by_name.setdefault(name, []).append((number, estimate))
    planned = tuple(_planned(name, each) for name, each in by_name.items())
    spans: dict[str, Span[Any] | None] = {
        name: _sum([getattr(each, name) for each in planned]) for name in _UNITS
    }
    likely = {name: span.likely for name, span in spans.items() if span}
    paid = float(share_paid(settings.budget, likely))
    alpha = BEYOND_CHANCE / max(1, len(suite.pairs))
    return LabPlan(
        suite=suite.name,
        cells=counted.total(),
        arms=planned,
        **spans,
        tests=tuple(_tests(suite, paid, alpha, too_long)) if suite.form == "suite" else (),
        alpha=alpha,
        share_paid=paid,
        clusters="task" if suite.many_tasks else "pair",
    )


def _prepare(suite: Suite, kind: str, task: str, arms: Sequence[str]) -> tuple[Task, Settings]:
    """A cell before its first call; texts that are not written yet are taken to have a usual length."""
    given = suite.tasks[task].task
    sample = "word " * (given.contract.max_words or _SAMPLE_WORDS)
    if kind == "panel":
        assert suite.panel is not None
        entries = tuple(Entry(name=arm, text=f"{arm} {sample}") for arm in arms)
        given, settings = replace(given, draft=None, entries=entries), suite.panel.settings
    else:
        arm = suite.arms[arms[0]]
        settings = job_settings(suite, task, arms[0], arm.settings)
        if kind == "draft":
            settings = draft_settings(arm.settings)
        elif arm.shared_draft and not suite.tasks[task].job and given.draft is None:
            given = replace(given, draft=sample)
    return given, settings


def _matched(
    match: SuiteMatch, settings: Settings, own: RunEstimate, first: RunEstimate
) -> RunEstimate:
    """What an arm may take whose budget is matched: as much as the first, or the amount."""
    if settings.job.name == "single":
        return own
    if match.amount is None:
        # The others may spend as much, and spend nothing where no pass of theirs fits.
        return own if own == first else _scaled(first, 1.0)
    likely = getattr(own, match.by)
    share = float(match.amount) / float(likely.likely) if likely and likely.likely else 0.0
    return _scaled(own, min(1.0, share) if settings.job.is_tournament else share)


def _scaled(estimate: RunEstimate, share: float) -> RunEstimate:
    def scaled(span: Span[Any] | None) -> Span[Any] | None:
        kept = (0, share, share)
        return span and Span(*(type(n)(float(n) * f) for n, f in zip(span, kept, strict=True)))

    spans: dict[str, Any] = {name: scaled(getattr(estimate, name)) for name in _UNITS}
    return dataclasses.replace(estimate, **spans)


def _planned(name: str, cells: Sequence[_Estimated]) -> PlannedArm:
    def total(unit: str) -> Span[Any] | None:
        spans = [(number, getattr(each, unit)) for number, each in cells]
        return _sum([span and Span(*(number * part for part in span)) for number, span in spans])

    return PlannedArm(
        name=name,
        cells=sum(number for number, _ in cells),
        **{unit: total(unit) for unit in _UNITS},
        over_limit=sum(number for number, each in cells if each.paid.likely < 1),
    )


def _sum(spans: Sequence[Span[Number] | None]) -> Span[Number] | None:
    known = [each for each in spans if each is not None]
    if not known or len(known) < len(spans):
        return None
    return Span(*(sum(parts[1:], parts[0]) for parts in zip(*known, strict=True)))


def _tests(
    suite: Suite, paid: float, alpha: float, too_long: AbstractSet[_CellName]
) -> Iterator[PlannedTest]:
    from autoreason.stats.power import detectable_share

    for comparison, arm in suite.pairs:
        kinds = _NEEDED.get(comparison.measure, ("draft", "arm"))
        pair = (comparison.arms[0], arm)
        tasks = sum(too_long.isdisjoint(product(kinds, [task], pair)) for task in suite.tasks)
        units = int(tasks * suite.repeats_of(comparison) * paid)
        units = min(tasks, units) if suite.many_tasks else units
        noun = "task" if suite.many_tasks else "pair"
        detectable = detectable_share(units, alpha=alpha)
        # That function speaks of judges.
        reason = detectable.reason.replace("judge", noun)
        yield PlannedTest(
            comparison=comparison.name,
            arms=f"{comparison.arms[0]} – {arm}",
            measure=comparison.measure,
            units=units,
            detectable=replace(detectable, reason=reason),
        )
