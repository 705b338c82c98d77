"""The tables and plots of a suite's report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from autoreason.report.numbers import UNKNOWN, count, decimal, p_value, percent
from autoreason.report.report import Section
from autoreason.report.table import Column, Table, figures, words
from autoreason.studies.lab.lab_failures import MODES, LabFailure
from autoreason.studies.lab.lab_plots import (
    draw_lines,
    draw_quality,
    draw_tree,
    draw_tree_legend,
)
from autoreason.studies.lab.lab_statements import (
    answer,
    arm_notes,
    comparison_notes,
    difference,
    in_units,
    matched,
    number,
    scopes,
)
from autoreason.studies.lab.lab_trees import TrajectoryTree
from autoreason.studies.panels.panel_tables import (
    duels,
    missing_intervals,
    notes,
    standings,
    win_matrix,
)

if TYPE_CHECKING:
    from autoreason.studies.lab.lab_report import LabArm, LabReport

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
    plots = ("Plots", "SVG by pygal, trees by autoreason: no script, in the page's colours")
    return [*parts, *_trees(found), _failures(found), Section(sentences=[plots], detail=True)]


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
