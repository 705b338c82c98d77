"""The tables and sentences of a panel's report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreason.report.numbers import (
    UNKNOWN,
    agreement,
    count,
    decimal,
    interval,
    jury,
    listed,
    longer,
    p_statement,
    p_value,
    percent,
    percent_interval,
    positions,
)
from autoreason.report.table import Table, figures, words

if TYPE_CHECKING:
    from autoreason.studies.panels.panel_report import PanelReport


def standings(report: PanelReport) -> Table:
    """Points, means with intervals, and first places, which in pairs are the points once more."""
    rows = [
        (
            each.name,
            f"{each.words:,}",
            decimal(each.points),
            interval(each.mean_points),
            *([] if report.pairwise else [decimal(each.first_places)]),
        )
        for each in report.standings
    ]
    firsts = [] if report.pairwise else ["first places"]
    heads = ["words", "points", "per ballot (95 % for all)", *firsts]
    return Table([*words(""), *figures(*heads)], rows)


def win_matrix(report: PanelReport) -> Table:
    """How many ballots put the row above the column."""
    names = [each.name for each in report.standings]
    rows = [
        (
            one,
            *(
                UNKNOWN if one == other else str(report.wins.get(one, {}).get(other, 0))
                for other in names
            ),
        )
        for one in names
    ]
    return Table([*words("above"), *figures(*names)], rows)


def duels(report: PanelReport, against: str) -> Table:
    """Each of the others against one of them, with paired tests."""
    its_duels = [d.seen_from(against) for d in report.duels if against in (d.first, d.second)]
    rows = [
        (
            each.second,
            str(each.wins),
            str(each.losses),
            percent_interval(each.preferred),
            p_value(each.test.p_value),
            p_value(each.p_value_adjusted),
        )
        for each in its_duels
    ]
    heads = ("won", "lost", "preferred (95 % for all pairs)", "p", "p, corrected")
    return Table([*words(f"{against} against"), *figures(*heads)], rows)


def missing_intervals(report: PanelReport, name: str) -> list[tuple[str, str]]:
    """Which rows of the table of duels have a share without an interval, and why."""
    its_duels = [each.seen_from(name) for each in report.duels if name in (each.first, each.second)]
    without = [d for d in its_duels if d.preferred.value is not None and d.preferred.low is None]
    if not without:
        return []
    names = listed([each.second for each in without])
    return [("Interval", f"none against {names}: {without[0].preferred.reason}")]


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
    if report.words_before_cut:
        now = {each.name: each.words for each in report.standings}
        cut = [
            f"{name} from {n:,} words to {now[name]:,}"
            for name, n in report.words_before_cut.items()
            if n != now[name]
        ]
        rows.append(("Cut", "; ".join(cut) or "nothing: all texts have the same length"))
    broken = {name: rules for name, rules in report.violations.items() if rules}
    return rows + [("Contract", f"{name}: {'; '.join(rules)}") for name, rules in broken.items()]


def _agreement(report: PanelReport) -> str:
    if report.agreement is None:
        return f"unknown: {report.concordance.reason or 'no two valid ballots to compare'}"
    sentence = agreement(report.agreement)
    if report.concordance.value is None:
        return sentence
    test = p_statement(report.concordance_test.p_value)
    by_chance = 1 / report.concordance.n
    return f"{sentence}; Kendall's W {report.concordance.value:.2f} (chance is {by_chance:.2f}), {test}"


def _position(report: PanelReport) -> str:
    sentence = positions(report.positions)
    if not sentence:
        return f"unknown: {report.position_test.reason}"
    sentence = f"{sentence}; {p_statement(report.position_test.p_value)}"
    shown = sum(report.positions)
    if shown < report.ballots:
        votes = f"{shown} of {count(report.ballots, 'vote')}"
        sentence += f"; over panels of {len(report.positions)} texts only, with {votes}"
    return sentence


def _ballots(report: PanelReport) -> str:
    sentence = f"{count(report.ballots, 'vote')} counted"
    if report.judges:
        sentence += f", of {jury(report.judges)}"
    if report.abstained:
        sentence += f"; {report.abstained} left out because the judge flipped with the order"
    return f"{sentence}; {report.invalid or 'no'} invalid {'ballot' if report.invalid == 1 else 'ballots'}"


def _length(report: PanelReport) -> str:
    share = report.longer_preferred
    return longer(share, count(share.n, "repeat" if report.clustered else "vote"))


def _power(report: PanelReport) -> str:
    share = report.detectable
    noun = "repeat" if report.clustered else "vote"
    if share.value is None:
        return f"{count(share.n, noun)} can show nothing: even if all agreed it could be chance"
    return (
        f"{count(share.n, noun)} can show a majority of {percent(share.value)} or more "
        "four times out of five; a smaller one would mostly be missed"
    )
