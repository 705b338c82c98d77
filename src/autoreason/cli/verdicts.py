"""What panels and comparisons show, as tables and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreason.cli import words
from autoreason.stats.results import p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from autoreason.events import Verdict
    from autoreason.stats.results import Estimate
    from autoreason.studies.compare.report import ComparisonReport
    from autoreason.studies.panels.panel_report import PanelReport
    from autoreason.studies.panels.rejudge import Decision

_LONGEST_NAME = 24


def short(name: str) -> str:
    """A name that fits a column; the end tells texts in one folder apart."""
    return name if len(name) <= _LONGEST_NAME else f"…{name[-_LONGEST_NAME + 1 :]}"


def number(value: float) -> str:
    """`17`, `17.5`."""
    return f"{value:.1f}".removesuffix(".0")


def with_interval(found: Estimate) -> str:
    """`2.43 (1.86 to 2.86)`; a dash where it is not known."""
    if found.value is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def standings(report: PanelReport) -> Table:
    """Points, means with intervals, first places."""
    table = _table("", "words", "points", "a ballot (95 % for all)", "first places")
    for each in report.standings:
        table.add_row(
            short(each.name),
            f"{each.words:,}",
            number(each.points),
            with_interval(each.mean),
            number(each.first),
        )
    return _whole(table)


def win_matrix(report: PanelReport) -> Table:
    """How many ballots put the row above the column."""
    names = [each.name for each in report.standings]
    table = _table("above", *(short(name) for name in names))
    for one in names:
        row = report.wins.get(one, {})
        table.add_row(
            short(one), *("–" if one == other else str(row.get(other, 0)) for other in names)
        )
    return _whole(table)


def duels(report: PanelReport, against: str) -> Table:
    """Everybody against one of them, with paired tests."""
    preferred = "preferred (95 % for all pairs)"
    table = _table(f"{short(against)} against", "won", "lost", preferred, "p", "p, corrected")
    for each in report.duels:
        if against not in (each.one, each.other):
            continue
        ahead = each.one == against
        table.add_row(
            short(each.other if ahead else each.one),
            str(each.wins if ahead else each.losses),
            str(each.losses if ahead else each.wins),
            _turned(each.preferred, ahead),
            p_value(each.test.p),
            p_value(each.holm),
        )
    return _whole(table)


def _turned(found: Estimate, ahead: bool) -> str:
    if found.value is None:
        return "–"
    value = found.value if ahead else 1 - found.value
    if found.low is None or found.high is None:
        return words.percent(value)
    low, high = (found.low, found.high) if ahead else (1 - found.high, 1 - found.low)
    return f"{words.percent(value)} ({low * 100:.0f} to {high * 100:.0f} %)"


def notes(report: PanelReport) -> list[tuple[str, str]]:
    """Agreement, position, length and what was left out, as labelled sentences."""
    rows = [
        ("Agreement", _agreement(report)),
        ("Position", _position(report)),
        ("Length", _length(report)),
        ("Ballots", _ballots(report)),
    ]
    if report.cycles:
        circles = "; ".join(" > ".join(cycle) for cycle in report.cycles)
        rows.append(("Circle", f"majorities go round in a circle: {circles}"))
    rows.append(("Power", _power(report)))
    return rows


def _agreement(report: PanelReport) -> str:
    if report.agreement is None:
        return f"unknown: {report.concordance.reason or 'no two valid ballots to compare'}"
    said = words.agreement(report.agreement)
    if report.concordance.value is None:
        return said
    test = p_value(report.concordance_test.p)
    by_chance = 1 / report.concordance.n
    return f"{said}; Kendall's W {report.concordance.value:.2f} (chance is {by_chance:.2f}), p = {test}"


def _position(report: PanelReport) -> str:
    said = words.positions(report.positions)
    if not said:
        return f"unknown: {report.position_test.reason}"
    return f"{said}; p = {p_value(report.position_test.p)}"


def _ballots(report: PanelReport) -> str:
    said = f"{words.count(report.ballots, 'vote')} counted"
    if report.abstained:
        said += f"; {report.abstained} left out because the judge flipped with the order"
    return f"{said}; {report.invalid or 'none'} not valid"


def _length(report: PanelReport) -> str:
    found = report.longer
    if found.value is None:
        return "unknown: no vote was about two texts of different length"
    if found.low is None or found.high is None:
        return f"unknown: {found.reason}"
    interval = f"{found.low * 100:.0f} to {words.percent(found.high)}"
    over = words.count(found.n, "repeat" if report.repeats > 1 else "vote")
    return (
        f"the longer of two texts is preferred {words.percent(found.value)} of the time "
        f"(95 % interval {interval}, over {over}; chance is 50 %)"
    )


def _power(report: PanelReport) -> str:
    found = report.detectable
    noun = "repeat" if found.n == report.repeats else "vote"
    if found.value is None:
        return (
            f"{words.count(found.n, noun)} can show nothing: even if all agreed it could be chance"
        )
    return (
        f"{words.count(found.n, noun)} can show a majority of {words.percent(found.value)} or more "
        "four times out of five; a smaller one would mostly be missed"
    )


def entrants(report: ComparisonReport) -> Table:
    """What each strategy took and kept."""
    contract = [each.keeps_contract for each in report.entrants]
    heads = ("strategy", "texts", "words", "calls", "tokens", "cost", "kept the draft")
    table = _table(*heads, *(["keeps contract"] if None not in contract else []))
    for each in report.entrants:
        table.add_row(
            short(each.strategy),
            f"{each.delivered} of {report.repeats}",
            "–" if each.words is None else f"{each.words:,.0f}",
            f"{each.spent.calls:,}",
            "unknown" if each.spent.tokens is None else f"{each.spent.tokens:,}",
            words.money(each.spent.cost),
            str(each.same_as_draft),
            *([] if each.keeps_contract is None else [str(each.keeps_contract)]),
        )
    return _whole(table)


def decisions(found: Sequence[Decision]) -> Table:
    """Recorded decisions beside those of the other panel."""
    table = _table("decision", "recorded", "other panel", "", "its lead")
    for each in found:
        table.add_row(
            each.stage,
            each.before,
            each.now or "–",
            "changed" if each.changed else "",
            _margin(each.verdict) if each.verdict else "too few valid ballots",
        )
    return _whole(table)


def _margin(verdict: Verdict) -> str:
    if verdict.tied:
        return "a tie"
    return f"{words.count(verdict.margin, 'point')}, {words.percent(verdict.chance)} by chance"


def _table(first: str, *others: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _whole(table: Table) -> Table:
    """The same table, in which headings may take several lines and no number is cut off."""
    for column in table.columns:
        column.min_width = max((len(str(cell)) for cell in column.cells), default=0)
    return table
