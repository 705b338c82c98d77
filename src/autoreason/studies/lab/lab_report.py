"""The report of a suite: its numbers, its sentences and its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from statistics import fmean

from msgspec import Struct

from autoreason.events import BallotCast
from autoreason.exchange import Spent
from autoreason.report.numbers import (
    UNKNOWN,
    count,
    decimal,
    listed,
    money,
    p_statement,
    p_value,
    percent,
)
from autoreason.report.plot import Chart, Plot, Point, Series, colours, plot_charts
from autoreason.report.report import NOTHING_KNOWN, Report, Section
from autoreason.report.table import Column, Table, figures, words
from autoreason.stats.results import Estimate
from autoreason.story import Story
from autoreason.studies.lab.lab_results import (
    MODES,
    AddedRepeats,
    ArmPair,
    ArmValues,
    LabArm,
    LabFailure,
    additions,
    compare_arms,
    describe_arm,
    quality_measure,
)
from autoreason.studies.lab.lab_suite import (
    MANY_TASKS,
    SHARES,
    AddRule,
    CellFinished,
    Form,
    Suite,
    SuiteMatch,
    count_cells,
    suite_of,
)
from autoreason.studies.lab.lab_trees import (
    TrajectoryTree,
    draw_tree,
    draw_tree_legend,
    trajectory_trees,
)
from autoreason.studies.panels.panel_report import (
    CountedBallot,
    PanelReport,
    duels,
    missing_intervals,
    notes,
    report,
    standings,
    win_matrix,
)

_HEADINGS = {"strategies": "A comparison of strategies", "rules": "Rules of research"}


class LeftOutCell(Struct, frozen=True, kw_only=True):
    """A cell without a result."""

    cell: str
    run: str
    reason: str


class LabReport(Report, Struct, frozen=True, kw_only=True):
    """A suite in numbers."""

    suite: str
    tasks: int
    repeats: int
    cells: int
    planned: int
    """Cells that the suite has; fewer have ended where it is not over."""
    pairs: tuple[ArmPair, ...]
    arms: tuple[LabArm, ...]
    panels: dict[str, PanelReport]
    """Standings, agreement, position and length, by the arms that were judged together."""
    judged: int
    """Panels that gave valid ballots."""
    left_out: tuple[LeftOutCell, ...]
    spent: Spent
    trees: tuple[TrajectoryTree, ...]
    """Who won each pass, for every task and every arm that is a tournament."""
    clusters: str
    """What was drawn again, and whose signs were flipped: `task`, or `pair`, a task in a repeat by both arms."""
    costs: str
    """What quality is set against: `cost`, or `calls` where nothing costs anything or a price is not known."""
    quality_by: str
    """What quality is: the share of problems `passed`, the mean `value`, or the share of votes by which an arm is
    `preferred` to its rivals in one panel; empty where there is nothing of it."""
    added: dict[str, int] = {}
    """Repeats that were added to a comparison by the rule of the suite."""
    additions: tuple[AddedRepeats, ...] = ()
    """The same one after another, and why."""
    add: AddRule | None = None
    broken: int = 0
    """Results of research that break a guard at the end, and count as no gain."""
    opened: int = 0
    """How often a sealed set has been opened, by these cells and before them."""
    match: SuiteMatch | None = None
    form: Form = "suite"

    origin: dict[str, str] = {}
    """Run, models, seed and start, as a page shows them."""

    @property
    def heading(self) -> str:  # type: ignore[override]
        """The suite, or what it was made for."""
        return _HEADINGS.get(self.form) or f"Suite {self.suite}"

    @property
    def conclusion(self) -> str:
        """Who wins, or how many questions have an answer; nothing before all cells have ended."""
        if self.cells < self.planned:
            return (
                f"unfinished: {self.cells:,} of {count(self.planned, 'cell')} have ended, "
                "and nothing is concluded before all have"
            )
        if self.form == "strategies":
            panel = next(iter(self.panels.values()), None)
            return panel.conclusion if panel else "no winner: there was nothing to judge"
        if self.form == "rules":
            return rules_conclusion(self)
        if not self.pairs:
            cells = count(self.cells, "cell")
            return f"the suite {self.suite} is done, with {cells} and no comparisons to answer"
        shown = [each for each in self.pairs if each.shown]
        if not shown:
            return f"nothing is shown beyond chance in {count(len(self.pairs), 'planned test')}"
        return (
            f"{len(shown)} of {count(len(self.pairs), 'planned test')} "
            f"{'shows' if len(shown) == 1 else 'show'} a difference beyond chance"
        )

    def names(self) -> Sequence[str]:
        """Those of the suite and its arms."""
        return [self.suite, *(each.arm for each in self.arms)]

    def about(self) -> Mapping[str, str]:
        """The run it comes from."""
        return self.origin

    def sections(self) -> list[Section]:
        """Answers first, then tables, then how the arms went about it."""

        return sections(self)


def lab_report(story: Story, origin: Mapping[str, str] = NOTHING_KNOWN) -> LabReport:
    """The report of a suite's story; `origin` is what else is known of its run."""
    suite = suite_of(story.task)
    assert suite is not None
    finished = sorted(story.of(CellFinished), key=lambda each: each.cell.number)
    values = ArmValues(suite, finished)
    quality_by = quality_measure(values)
    arms = [describe_arm(suite, arm, values, quality_by) for arm in suite.arms]
    spent = reduce(Spent.joined, (each.result.spent for each in finished), Spent())
    costs = "calls" if spent.cost is None or not spent.cost else "cost"
    return LabReport(
        suite=suite.name,
        tasks=len(suite.tasks),
        repeats=suite.repeats,
        cells=len(finished),
        planned=count_cells(suite),
        # Strategies are all compared with each other, by the panels' own tests.
        pairs=() if suite.form == "strategies" else tuple(compare_arms(suite, values)),
        arms=tuple(arms),
        panels=_panels(suite, values),
        judged=sum(bool(each.result.ballots) for each in values.panels),
        left_out=tuple(
            LeftOutCell(cell=each.cell.part, run=each.result.run, reason=each.result.reason)
            for each in finished
            if not each.result.finished
        ),
        spent=spent,
        trees=tuple(trajectory_trees(suite, finished)),
        clusters="task" if suite.many_tasks else "pair",
        costs=costs,
        quality_by=quality_by,
        added=suite.added,
        additions=tuple(additions(suite, finished)),
        add=suite.add,
        broken=sum(each.result.broken for each in finished),
        opened=max((each.result.opened for each in finished), default=0),
        match=suite.match,
        form=suite.form,
        origin=dict(origin),
    )


def _panels(suite: Suite, values: ArmValues) -> dict[str, PanelReport]:
    """Who judged how, by the arms that were judged together."""
    found = {}
    for arms in suite.judged:
        judged, cast, lengths = [], [], {}
        for at, each in enumerate(values.panels):
            if set(each.cell.arms) != set(arms) or not each.result.ballots:
                continue
            groups: dict[str, tuple[str, ...]] = {}
            for arm, entry in each.judged_as.items():
                groups[entry] = (*groups.get(entry, ()), arm)
            unit = (each.cell.task, each.cell.repeat)
            lengths[at] = {arm: values.cells[arm][unit].words or 0 for arm in each.judged_as}
            for seat, ballot in enumerate(each.result.ballots):
                if ballot.ranking:
                    ranking = tuple(groups[name] for name in ballot.ranking)
                    judged.append(CountedBallot(ranking=ranking, cluster=at))
                cast.append(
                    BallotCast(
                        stage=each.cell.part,
                        seat=seat,
                        model="",
                        order=ballot.order,
                        labels=(),
                        ranking=ballot.ranking,
                    )
                )
        seen = {arm for each in lengths.values() for arm in each}
        if judged and len(seen) > 1:
            words = {
                arm: round(fmean(e[arm] for e in lengths.values() if arm in e)) for arm in seen
            }
            pairwise = bool(suite.panel and suite.panel.pairwise)
            found[" / ".join(arms)] = report(
                judged,
                {arm: words[arm] for arm in arms if arm in words},
                # In pairs every text stood in both places.
                [] if pairwise else cast,
                clustered=True,
                pairwise=pairwise,
                lengths=lengths,
            )
    return found


def answer(pair: ArmPair, clusters: str) -> str:
    """One plain sentence for a question."""
    if pair.difference.value is None:
        return f"no answer: {pair.first} and {pair.second} have no result in common"
    what = _finding(pair)
    rests = f"{count(pair.difference.n, clusters)}{_at_limit(pair)}{_same(pair)}"
    if not pair.difference.value or _is_even(pair):
        return f"not shown: {what} ({rests})"
    p = p_statement(pair.p_value_adjusted)
    if not pair.shown:
        return f"not shown: {what}, but that could be chance ({p}, {rests})"
    return f"{what}, which is more than chance gives ({p}, {rests})"


def _at_limit(pair: ArmPair) -> str:
    """That pairs are missing which took most."""
    if not pair.at_limit:
        return ""
    return f"; without {count(pair.at_limit, 'pair')} in which an arm reached its limit"


def _same(pair: ArmPair) -> str:
    """That texts which are the same were not judged, and how they count."""
    if not pair.same:
        return ""
    where = f"in {count(pair.same, 'pair')}" if pair.same < pair.units else "in all of them"
    return f"; {where} both texts are the same, which counts half for each arm"


def _finding(pair: ArmPair) -> str:
    value = pair.difference.value or 0.0
    first, second = pair.first, pair.second
    if pair.measure == "preferred":
        ahead, behind = (first, second) if value >= 0 else (second, first)
        if not value or _is_even(pair):
            return f"judges prefer neither {first} nor {second}"
        share = (1 + abs(value)) / 2
        shown = f"{share * 100:.3g} %" if percent(share) == _HALF else percent(share)
        return f"judges prefer {ahead} to {behind} in {shown} of votes"
    verb, equal = _VERBS[pair.measure]
    if not value:
        return f"{first} and {second} {equal}"
    more = "more" if value > 0 else "fewer" if pair.measure in _COUNTED else "less"
    size = in_units(pair.measure, abs(value))
    return f"{first} {verb.format(size=size, more=more, second=second)}"


_HALF = percent(0.5)


def _is_even(pair: ArmPair) -> bool:
    """Whether judges prefer neither: what is not shown and rounds to half of all votes is no preference."""
    share = (1 + abs(pair.difference.value or 0.0)) / 2
    return pair.measure == "preferred" and not pair.shown and percent(share) == _HALF


_COUNTED = {"words": "word", "calls": "call", "tokens": "token", "passes": "pass"}
_VERBS = {
    "words": ("writes {size} {more} than {second} on average", "write texts of the same length"),
    "calls": ("makes {size} {more} than {second} on average", "make the same number of calls"),
    "tokens": ("takes {size} {more} than {second} on average", "take the same number of tokens"),
    "cost": ("costs {size} {more} than {second} on average", "cost the same"),
    "seconds": ("takes {size} {more} than {second} on average", "take the same time"),
    "passes": ("takes {size} {more} than {second} on average", "take the same number of passes"),
    "converged": ("converges {more} often than {second}, by {size}", "converge equally often"),
    "kept_contract": (
        "keeps the contract {more} often than {second}, by {size}",
        "keep the contract equally often",
    ),
    "passed": (
        "passes the tests of a problem {more} often than {second}, by {size}",
        "pass the tests of equally many problems",
    ),
    "value": ("gains {size} {more} than {second} on average", "gain the same"),
    "claimed": ("claims {size} {more} than {second} on average", "claim the same"),
    "kept": ("keeps {size} {more} changes than {second} on average", "keep as many changes"),
    "evaluations": ("takes {size} {more} evaluations than {second} on average", "take as many"),
}


def number(measure: str, value: float) -> str:
    """A mean as a table shows it."""
    if measure in SHARES:
        return percent(value)
    return _money(value) if measure == "cost" else _plain(value)


def in_units(measure: str, value: float) -> str:
    """A difference with its unit."""
    if measure in SHARES:
        return f"{value * 100:.1f} points"
    if measure == "cost":
        return _money(value)
    size = _plain(value)
    if noun := _COUNTED.get(measure):
        plural = "passes" if noun == "pass" else f"{noun}s"
        return f"{size} {noun if size.strip('-') == '1' else plural}"
    return f"{size} s" if measure == "seconds" else size


def difference(measure: str, found: Estimate) -> tuple[str, ...]:
    """A difference with its unit, and below it the ends of its interval."""
    if found.value is None:
        return (UNKNOWN,)
    shown = in_units(measure, found.value)
    if found.low is None or found.high is None:
        return (shown,)
    low, high = (in_units(measure, end).partition(" ")[0] for end in (found.low, found.high))
    return (shown, f"({low} to {high})")


def _plain(value: float) -> str:
    """Enough digits for a small number, and none too many for a large one."""
    return decimal(value) if abs(value) >= 10 else f"{float(f'{value:.3g}'):g}"


def _money(value: float) -> str:
    sign = "-" if value < 0 else ""
    return sign + money(Decimal(str(round(abs(value), 6))))


def _limit_notes(found: LabReport) -> list[tuple[str, str]]:
    """Which figures are those of the cells that took less."""
    rows = []
    for each in filter(lambda arm: arm.at_limit, found.arms):
        cells = f"{count(each.at_limit, 'cell')} that reached {'its' if each.at_limit == 1 else 'their'} limit"
        known = each.means.get("converged") is not None
        counted = ", which counts as not converged" if known else ""
        rows.append((each.arm, f"without {cells}{counted}; the others took less"))
    return rows


def scopes(found: LabReport) -> Iterator[str]:
    """What the answers speak of, by how many tasks have results."""
    answered = [each for each in found.pairs if each.difference.value is not None]
    few = [each for each in answered if each.difference.n < MANY_TASKS]
    if found.clusters != "task" or len(few) == len(answered):
        yield f"these tasks only: with results of {MANY_TASKS} tasks or more they extend to others"
        return
    yield f"tasks like these: with results of {MANY_TASKS} tasks or more they extend to others"
    for each in few:
        has = count(each.difference.n, "task")
        yield f"{each.comparison}, {each.first} – {each.second}: these tasks only, with results of {has}"


_QUALITIES = {
    "passed": "the share of problems whose tests are passed",
    "value": "the mean gain",
    "preferred": "the share of votes against each rival in the same panel, on average",
}


def _quality_notes(found: LabReport) -> list[tuple[str, str]]:
    """What quality is, and why an arm has none."""
    if not found.quality_by:
        return []
    return [
        ("quality", _QUALITIES[found.quality_by]),
        *((each.arm, f"no quality: {each.no_quality}") for each in found.arms if each.no_quality),
    ]


_POINTS = "of preferred: the share of votes for the first arm minus that for the second"
_EFFECT = (
    "how large the difference is, whatever its unit: of shares and votes Cohen's h, else the mean "
    "difference in standard deviations of the differences; 0.2 is small, 0.5 medium, 0.8 large"
)


def comparison_notes(found: LabReport) -> list[tuple[str, str]]:
    """What columns of the comparisons mean."""
    judged = any(each.measure == "preferred" for each in found.pairs)
    known = any(each.effect is not None for each in found.pairs)
    return [*([("points", _POINTS)] if judged else []), *([("effect", _EFFECT)] if known else [])]


def rules_conclusion(found: LabReport) -> str:
    """Which rule of research is better than which, or that none is shown to be."""
    where = "sealed items" if found.opened else "fresh evaluations"
    shown = []
    for pair in filter(lambda each: each.shown, found.pairs):
        value = pair.difference.value or 0.0
        better, worse = (pair.first, pair.second) if value > 0 else (pair.second, pair.first)
        shown.append(f"{better} gains {in_units('value', abs(value))} more than {worse}")
    repeats = count(found.repeats, "repeat")
    if not shown:
        return f"no rule is shown to be better on {where}, in {repeats}"
    return f"on {where}, in {repeats}: {'; '.join(shown)}"


def research_notes(found: LabReport) -> list[tuple[str, str]]:
    """What the figures of research mean, and what they are without."""
    if not any(each.means.get("claimed") is not None for each in found.arms):
        return []
    rows = [
        ("value", "the gain of the result on evaluations that decided nothing"),
        (
            "claimed",
            "what the loop itself saw of its result, which is selection, do not quote it",
        ),
    ]
    if found.opened:
        times = count(found.opened, "time")
        rows.append(("sealed", f"the sealed set has been opened {times}, each end test counted"))
    if found.broken:
        these = "a guard on these evaluations"
        results = count(
            found.broken, f"result breaks {these} and counts", f"results break {these} and count"
        )
        rows.append(("guards", f"{results} as no gain"))
    return rows


def matched(found: LabReport) -> str:
    """What arms could spend, and which of them ended long before."""
    unit = found.match.by if found.match else "calls"
    known = {each.arm: mean for each in found.arms if (mean := each.means.get(unit)) is not None}
    less = [name for name, mean in known.items() if 2 * mean < max(known.values())]
    fewer = "less" if unit == "cost" else "fewer"
    needed = f"; {listed(less)} needed far {fewer}" if less else ""
    return f"by {unit}, the most that each may take after its draft{needed}"


def arm_notes(found: LabReport) -> list[tuple[str, str]]:
    """What the figures of arms are without, and what quality is."""
    return [*_limit_notes(found), *_quality_notes(found), *research_notes(found)]


_MAX_TREES = 24
_MAX_LEFT_OUT = 20


def sections(found: LabReport) -> list[Section]:
    """Answers, tables of comparisons and arms, how it was inferred, and on a page the rest."""
    if found.form == "strategies":
        return [*_strategies(found), *_details(found)]
    parts = [
        *([Section("Answers", _answers(found))] if found.pairs else []),
        *(
            [Section("Comparisons", comparison_notes(found), [comparisons_table(found)])]
            if found.pairs
            else []
        ),
        Section("Arms", arm_notes(found), [arms_table(found)]),
        Section(sentences=[*_method(found), *_left_out(found)]),
    ]
    return [*parts, *_details(found)]


def _strategies(found: LabReport) -> list[Section]:
    """What each strategy took, then the panel's tables and what they rest on."""
    parts = [Section("Arms", arm_notes(found), [arms_table(found)])]
    rows: list[tuple[str, str]] = []
    if panel := next(iter(found.panels.values()), None):
        first = found.arms[0].arm
        tables = [standings(panel), win_matrix(panel), duels(panel, first)]
        parts.append(Section("Panel", tables=tables))
        if found.judged == 1:
            alone = (
                "one was judged: it says something about its texts, nothing about the strategies"
            )
            rows.append(("Repeats", alone))
        rows += [*notes(panel), *missing_intervals(panel, first)]
    rows += [("Matched", matched(found)), *_left_out(found)]
    return [*parts, Section(sentences=rows)]


def _answers(found: LabReport) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for each in found.pairs:
        if (each.comparison, each.question) not in rows:
            rows.append((each.comparison, each.question))
        rows.append((f"  {each.second}", answer(each, found.clusters)))
    return rows


def comparisons_table(found: LabReport) -> Table:
    """One row per planned test."""
    rows = [
        (
            each.comparison,
            f"{each.first} – {each.second}",
            each.measure.replace("_", " "),
            _number(each.measure, each.first_mean),
            _number(each.measure, each.second_mean),
            difference(each.measure, each.difference),
            UNKNOWN if each.effect is None else f"{each.effect:+z.2f}",
            p_value(each.test.p_value),
            p_value(each.p_value_adjusted),
            f"{each.units} of {each.units + each.missing}" if each.missing else str(each.units),
        )
        for each in found.pairs
    ]
    columns = [
        *words("comparison", "arms", "measure"),
        *(Column("first", spare=3), Column("second", spare=3), Column("difference")),
        *(Column("effect", spare=2), Column("p alone", spare=1), Column("corrected p")),
        Column("pairs"),
    ]
    return Table(columns, rows)


def _number(measure: str, value: float | None) -> str:
    return UNKNOWN if value is None else number(measure, value)


def arms_table(found: LabReport) -> Table:
    """One row per arm: what it took and what it came to, on average for a cell with its draft."""
    known = [name for arm in found.arms for name, mean in arm.means.items() if mean is not None]
    measures = list(dict.fromkeys(known))
    judged = bool(found.quality_by)
    columns = [
        *(*words("arm"), *figures("cells", *(name.replace("_", " ") for name in measures))),
        *([Column("quality")] if judged else []),
    ]
    rows = [
        (
            each.arm,
            f"{each.finished} of {each.cells}" if each.finished < each.cells else str(each.cells),
            *(_number(name, each.means.get(name)) for name in measures),
            *([_quality_of(each)] if judged else []),
        )
        for each in found.arms
    ]
    return Table(columns, rows)


def _quality_of(arm: LabArm) -> str:
    return UNKNOWN if arm.quality is None else f"{arm.quality:.2f}"


def _method(found: LabReport) -> list[tuple[str, str]]:
    rows = []
    if found.pairs:
        many = found.clusters == "task"
        resampled = "tasks, then repeats" if many else "pairs (a task in a repeat, by both arms)"
        rows += [("Applies to", each) for each in scopes(found)]
        rows.append(
            (
                "Intervals",
                f"95 % for all planned tests together; bootstrap over {resampled}, with Student's t",
            )
        )
        rows += [
            ("No interval", f"{each.comparison}, {each.first} – {each.second}: {reason}")
            for each in found.pairs
            if (reason := each.difference.reason)
        ]
        rows.append(
            (
                "Tests",
                f"permutation of signs by {found.clusters}, corrected for "
                f"{count(len(found.pairs), 'planned test')} (Holm)",
            )
        )
    for each in found.additions:
        why = "it had no interval yet"
        if each.width is not None and found.add:
            measure = next(p.measure for p in found.pairs if p.comparison == each.comparison)
            width, most = (in_units(measure, size) for size in (each.width, found.add.width))
            why = f"its interval was {width} wide, wider than {most}"
        repeats = f"{count(each.repeats, 'repeat')} to {each.comparison}"
        rows.append(("Added", f"{repeats} by the rule of the suite, because {why}"))
    return rows


def _left_out(found: LabReport) -> list[tuple[str, str]]:
    rows = [
        ("Left out", f"{each.cell}{f' ({each.run})' if each.run else ''}: {each.reason}")
        for each in found.left_out[:_MAX_LEFT_OUT]
    ]
    more = len(found.left_out) - _MAX_LEFT_OUT
    return [*rows, ("Left out", f"and {more} more")] if more > 0 else rows


def _details(found: LabReport) -> list[Section]:
    """What a page shows beneath."""
    parts = [
        # What could be shown is said by the plan, for the tests that were planned.
        Section(
            f"Judges of {arms}",
            [row for row in notes(panel) if row[0] != "Power"],
            detail=True,
        )
        for arms, panel in found.panels.items()
    ]
    if any(each.quality is not None for each in found.arms):
        plot = draw_quality(found)
        parts.append(Section("Cost for quality", plots=[plot], detail=True))
    lines = {each.arm: each.converged_by_pass for each in found.arms if each.converged_by_pass}
    if lines:
        title = "Share of tournaments that have converged, by pass"
        table = _by_pass(title, lines, percent, first=1)
        plot = draw_lines(title, lines, first=1, share=True)
        parts.append(Section("Convergence", plots=[plot], tables=[table], detail=True))
    lines = {each.arm: each.words_by_pass for each in found.arms if each.words_by_pass}
    if lines:
        title = "Words of the text after each pass"
        table = _by_pass(title, lines, decimal, first=0)
        plot = draw_lines(title, lines, first=0)
        parts.append(Section("Length", plots=[plot], tables=[table], detail=True))
    plots = ("Plots", "SVG without a script, in the page's colours")
    return [*parts, *_trees(found), _failures(found), Section(sentences=[plots], detail=True)]


def draw_quality(found: LabReport) -> Plot:
    """One dot per arm: what it took, and how good it was, on the whole scale so that little looks like little."""
    unit = "US dollars" if found.costs == "cost" else "calls"
    dots = [
        (each, Point(price, each.quality, f"{each.arm}: {each.quality:.2f} for {price:.3g} {unit}"))
        for each in found.arms
        if (price := each.means.get(found.costs)) is not None and each.quality is not None
    ]
    shades = colours([each.arm for each, _ in dots])
    series = [Series(each.arm, shades[each.arm], [dot]) for each, dot in dots]
    highest = max((dot.x for _, dot in dots), default=0.0) or 1.0
    about = f"{unit} for a cell, with its draft"
    # Qualities are shares, but for a mean gain.
    heights = [0.0, *(dot.y for _, dot in dots)] if found.quality_by == "value" else [0.0, 1.0]
    low, high = min(heights), max(heights)
    scale = (low, high if high > low else 1.0)
    chart = Chart(series, about, "Quality", x_range=(0, highest), y_range=scale)
    return plot_charts("Quality for what it takes", chart)


def draw_lines(
    title: str, lines: Mapping[str, Sequence[float]], *, first: int, share: bool = False
) -> Plot:
    """A line for each arm, pass by pass."""
    shades = colours(list(lines))
    highest = 1.0 if share else max(1.0, *(value for line in lines.values() for value in line))
    show = percent if share else "{:,.0f}".format
    series = [
        Series(name, shades[name], [Point(n, y, f"{name}, pass {n}: {show(y)}") for n, y in line])
        for name, line in ((name, enumerate(line, first)) for name, line in lines.items())
    ]
    return plot_charts(title, Chart(series, "pass", show=show, y_range=(0, highest)))


def _by_pass(
    title: str,
    lines: Mapping[str, Sequence[float]],
    show: Callable[[float], str],
    first: int,
) -> Table:
    longest = max(map(len, lines.values()))
    columns = [Column("arm", figures=False), *(Column(str(first + n)) for n in range(longest))]
    rows = [
        (arm, *(show(line[n]) if n < len(line) else "" for n in range(longest)))
        for arm, line in lines.items()
    ]
    return Table(columns, rows, title)


def _trees(found: LabReport) -> Iterator[Section]:
    """A picture for each task and arm, and the ways in it as a table."""
    if not found.trees:
        return
    shown = found.trees[:_MAX_TREES]
    more = len(found.trees) - len(shown)
    rest = (
        f" {count(more, 'more tree')} {'is' if more == 1 else 'are'} in trees.csv." if more else ""
    )
    yield Section(
        "Trajectory trees",
        [
            (
                "",
                "Each line follows the current text from pass to pass; from its end dots lead to the "
                "numbers of its repeats. Lines separate where different candidates won. A win of B adds 1 to the drift "
                "from the first draft, a win of AB 0.5, as in the paper. Lines of equal drift are drawn "
                "side by side; the table has the numbers. Small circles are candidates that lost; a star "
                f"marks convergence.{rest}",
            )
        ],
        [_ways(shown)],
        [draw_tree_legend(shown), *map(draw_tree, shown)],
        detail=True,
    )


def _ways(trees: Sequence[TrajectoryTree]) -> Table:
    """One row for each way that repeats of a task by an arm went."""
    rows = [
        (
            *(tree.task, tree.arm, ", ".join(map(str, node.ended)), " ".join(node.way)),
            f"{node.drift:g}",
            decimal(node.words),
            f"{len(node.converged)} of {len(node.ended)}",
            str(parting or ""),
        )
        for tree in trees
        for node, parting in zip(tree.ways, tree.partings(), strict=True)
    ]
    measured = figures("drift", "words", "converged", "separates at pass")
    return Table([*words("task", "arm", "repeats", "winners"), *measured], rows)


def failures_table(found: LabReport) -> Table:
    """The paper's taxonomy: for each mode its sign, and the cells of each arm that have it."""
    by_arm = [{each.mode: each for each in arm.failures} for arm in found.arms]
    rows = [
        (mode.name, mode.condition, mode.sign, *(_diagnosis(each[mode.name]) for each in by_arm))
        for mode in MODES
    ]
    columns = words("mode", "condition in the paper", "sign in the record")
    return Table([*columns, *figures(*(each.arm for each in found.arms))], rows)


def _diagnosis(found: LabFailure) -> str:
    if not found.of:
        return UNKNOWN
    known = found.cells and found.under_condition is not None
    return f"{found.cells} of {found.of}" + (f" ({found.under_condition})" if known else "")


def _failures(found: LabReport) -> Section:
    """The taxonomy, and what of it the record cannot say."""
    rows = []
    for mode in MODES:
        blank = [arm.arm for arm in found.arms if not _of_mode(arm, mode.name).of]
        if blank:
            rows.append((mode.name, f"no diagnosis for {', '.join(blank)}: {mode.unknown}"))
        if mode.not_recorded and len(blank) < len(found.arms):
            rows.append((mode.name, f"the record does not say {mode.not_recorded}"))
    rows.append(
        (
            "Counts",
            "cells that show the sign, of those that could; in brackets those that also meet the "
            "paper's condition",
        )
    )
    rows.append(("Caution", "a sign is not proof, and a cell may show several"))
    return Section("Failure taxonomy", rows, [failures_table(found)], detail=True)


def _of_mode(arm: LabArm, mode: str) -> LabFailure:
    return next(each for each in arm.failures if each.mode == mode)
