"""Before a suite is run: its cells, what they may take, and what they can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autoreason.report.numbers import UNKNOWN, count, money, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.run.cells import cell_prompts
from autoreason.run.estimate import Number, RunEstimate, Span, estimate_run
from autoreason.settings import Budget, Settings
from autoreason.stats.results import BEYOND_CHANCE, Estimate
from autoreason.studies.lab.lab_suite import Suite, draft_settings, job_settings
from autoreason.studies.lab.suite_cells import groups
from autoreason.task import Entry

_SAMPLE_WORDS = 700
"""Length of texts that a panel is taken to read, where no contract limits them."""


class PlannedArm(Struct, frozen=True, kw_only=True):
    """The cells of an arm, of the shared drafts or of the panels, and what they may take together."""

    name: str
    cells: int
    calls: Span[int] | None
    """None where the strategy cannot say."""
    cost: Span[Decimal] | None
    """US dollars; None where a price is not known."""


class PlannedTest(Struct, frozen=True, kw_only=True):
    """What a planned test could show with what the budget pays for."""

    comparison: str
    question: str
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
    cost: Span[Decimal] | None
    tests: tuple[PlannedTest, ...]
    alpha: float
    """The level of each test, corrected for all that are planned."""
    share_paid: float
    """How much of the suite its budget pays for, most likely; 1 is all of it."""
    clusters: str
    budget: Budget

    heading = "A plan"

    @property
    def conclusion(self) -> str:
        """Cells, calls and cost."""
        parts = [count(self.cells, "cell")]
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
        """That of the suite."""
        return [self.suite]

    @property
    def refusal(self) -> str:
        """Why it is not run; empty where it may show something."""
        if not self.tests or any(each.detectable.value is not None for each in self.tests):
            return ""
        each = self.tests[0]
        part = f" its budget pays for {percent(self.share_paid)} of it, and"
        return (
            f"the suite {self.suite} cannot show anything:{part if self.share_paid < 1 else ''} "
            f"{each.detectable.reason} for {count(len(self.tests), 'planned test')}; "
            "add repeats or tasks, or run it with --anyway (anyway=True)"
        )

    def sections(self) -> list[Section]:
        """Cells and what they may take, then what can be shown."""
        rows = [
            (each.name, f"{each.cells:,}", _span(each.calls), _money_span(each.cost))
            for each in self.arms
        ]
        columns = [Column("arm", figures=False), *map(Column, ("cells", "calls", "cost"))]
        parts = [Section("Cells", tables=[Table(columns, rows)])]
        if self.tests:
            words = [Column(name, figures=False) for name in ("comparison", "arms", "measure")]
            heads = [Column(f"{self.clusters}s"), Column("shows", figures=False)]
            table = Table([*words, *heads], [_test_row(each) for each in self.tests])
            parts.append(Section("What it can show", tables=[table], sentences=self._notes()))
        return parts

    def _notes(self) -> list[tuple[str, str]]:
        speaks = "tasks like these" if self.clusters == "task" else "these tasks only"
        rows = [
            (
                "Test",
                f"permutation of signs by {self.clusters}; the share is what an exact sign test at level "
                f"{self.alpha:.2g} (for {count(len(self.tests), 'planned test')}) shows four times out of five",
            ),
            ("Applies to", speaks),
        ]
        if self.share_paid < 1:
            rows.append(("Budget", f"pays for about {percent(self.share_paid)} of the suite"))
        if self.refusal:
            rows.append(("Refused", self.refusal))
        return rows


def _test_row(test: PlannedTest) -> tuple[str, ...]:
    share = test.detectable
    shows = f"nothing: {share.reason}"
    if share.value is not None:
        better = "prefer one arm" if test.measure == "preferred" else "favour one arm"
        shows = f"{percent(share.value)} or more {better}"
    return test.comparison, test.arms, test.measure.replace("_", " "), f"{test.units:,}", shows


def _span(span: Span[int] | None) -> str:
    if span is None:
        return UNKNOWN
    return f"{span.likely:,} ({span.low:,} to {span.high:,})"


def _money_span(span: Span[Decimal] | None) -> str:
    if span is None:
        return UNKNOWN
    if not any(span):
        return "free"
    return f"{money(span.likely)} ({money(span.low)} to {money(span.high)})"


async def plan_cells(suite: Suite, settings: Settings) -> LabPlan:
    """What a suite may take, one estimate for each arm and task; nothing is called."""
    counted: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for group in groups(suite):
        for cells in group:
            counted.update((cell.kind, cell.task, cell.arms) for cell in cells)
    by_name: dict[str, list[tuple[int, RunEstimate]]] = {}
    for (kind, task, arms), number in counted.items():
        estimate = await _estimate(suite, kind, task, arms)
        name = arms[0] if kind == "arm" else {"draft": "shared drafts", "panel": "panels"}[kind]
        by_name.setdefault(name, []).append((number, estimate))
    planned = tuple(_planned(name, estimates) for name, estimates in by_name.items())
    calls, cost = _sum([each.calls for each in planned]), _sum([each.cost for each in planned])
    paid = _share_paid(settings.budget, calls, cost)
    alpha = BEYOND_CHANCE / max(1, len(suite.pairs))
    return LabPlan(
        suite=suite.name,
        cells=counted.total(),
        arms=planned,
        calls=calls,
        cost=cost,
        tests=tuple(_tests(suite, paid, alpha)),
        alpha=alpha,
        share_paid=paid,
        clusters="task" if suite.many_tasks else "pair",
        budget=settings.budget,
    )


async def _estimate(suite: Suite, kind: str, task: str, arms: Sequence[str]) -> RunEstimate:
    """What a cell may take; texts that are not written yet are taken to have a usual length."""
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
    return await estimate_run(given, settings, cell_prompts(settings))


def _planned(name: str, estimates: Sequence[tuple[int, RunEstimate]]) -> PlannedArm:
    calls = [each.calls and Span(*(n * part for part in each.calls)) for n, each in estimates]
    costs = [each.cost and Span(*(n * part for part in each.cost)) for n, each in estimates]
    return PlannedArm(
        name=name,
        cells=sum(number for number, _ in estimates),
        calls=_sum(calls),
        cost=_sum(costs),
    )


def _sum(spans: Sequence[Span[Number] | None]) -> Span[Number] | None:
    """All of them together; None where one is not known."""
    known = [each for each in spans if each is not None]
    if not known or len(known) < len(spans):
        return None
    return Span(*(sum(parts[1:], parts[0]) for parts in zip(*known, strict=True)))


def _share_paid(budget: Budget, calls: Span[int] | None, cost: Span[Decimal] | None) -> float:
    """How much of the suite its limits allow, if it takes what is likely."""
    shares = [1.0]
    if budget.calls is not None and calls and calls.likely:
        shares.append(budget.calls / calls.likely)
    if budget.cost is not None and cost and cost.likely:
        shares.append(float(budget.cost / cost.likely))
    return min(shares)


def _tests(suite: Suite, paid: float, alpha: float) -> Iterator[PlannedTest]:
    from autoreason.stats.power import detectable_share

    for comparison, arm in suite.pairs:
        units = int(suite.task_count * suite.repeats_of(comparison) * paid)
        units = min(suite.task_count, units) if suite.many_tasks else units
        noun = "tasks" if suite.many_tasks else "pairs"
        detectable = detectable_share(units, alpha=alpha)
        # That function speaks of judges.
        reason = detectable.reason.replace("judges", noun)
        yield PlannedTest(
            comparison=comparison.name,
            question=comparison.question,
            arms=f"{comparison.arms[0]} – {arm}",
            measure=comparison.measure,
            units=units,
            detectable=replace(detectable, reason=reason),
        )
