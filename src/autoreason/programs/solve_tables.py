"""A report on programs as tables and sentences, the same on a screen and on a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from autoreason.plugins import short
from autoreason.programs.assignment import CodeVerdict
from autoreason.programs.duels import StrategyDuel
from autoreason.programs.solve_plot import draw
from autoreason.report.numbers import (
    UNKNOWN,
    count,
    describe_losers,
    money,
    p_statement,
    p_value,
    percent,
    percent_interval,
    points,
)
from autoreason.report.report import Section
from autoreason.report.table import Column, Table
from autoreason.stats.results import Estimate

if TYPE_CHECKING:
    from autoreason.programs.solve_report import Score, SolveReport

_ENOUGH = 5
"""Problems that a table within a table must have somewhere, to be worth a screen's room."""
_NOTES = """\
Shares are over problems with a verdict; whatever has none is listed under "Left out" and is in no share.
Intervals are exact (Clopper and Pearson's), on as many trials as repeats of the same problem are worth (Korn and
Graubard). "Public but not private" is of what passes every public test, "recovered" of what failed one at the first
attempt. Differences are in points of a hundred with Bonett and Price's interval, wide enough to hold for all pairs
together in 95 of 100 cases; p is McNemar's exact test, or signs flipped problem by problem where problems were tried
several times, corrected after Holm. "Could show" is the smallest difference seen four times
out of five at the corrected level, for strategies that differ on as many problems as these do.
"""


def rates(report: SolveReport) -> Table:
    """Pass rates over all problems."""
    head = ("strategy", "problems", "public", "private", "public but not private", "recovered")
    rows = [
        (*_rates(each), _share_of(each.passes_public_only), _share_of(each.recovery))
        for each in report.scores
    ]
    return _table(head, rows)


def by_difficulty(report: SolveReport) -> Table:
    """Pass rates by difficulty."""
    head = ("difficulty", "strategy", "problems", "public", "private", "recovered")
    rows = [
        (each.difficulty, *_rates(each), _share_of(each.recovery)) for each in report.by_difficulty
    ]
    return _table(head, rows, names=2)


def _rates(score: Score) -> tuple[str, ...]:
    return (
        short(score.strategy),
        f"{score.problems:,}",
        percent_interval(score.public),
        percent_interval(score.private),
    )


def costs(report: SolveReport) -> Table:
    """Attempts, calls, tokens and money of each strategy."""
    head = (
        *("strategy", "attempts", "calls", "tokens", "cost"),
        *("all calls", "all tokens", "all cost"),
    )
    rows = [
        (
            short(each.strategy),
            _mean(each.attempts),
            _mean(each.calls),
            "unknown" if each.tokens is None else f"{each.tokens:,.0f}",
            money(each.cost),
            f"{each.spent.calls:,}",
            _tokens(each),
            money(each.spent.cost),
        )
        for each in report.scores
    ]
    return _table(head, rows)


def verdicts(report: SolveReport) -> Table:
    """How the programs handed in ended."""
    present = [
        each for each in CodeVerdict if any(score.verdicts.get(each) for score in report.scores)
    ]
    head = ("strategy", *(each.replace("_", " ") for each in present))
    rows = [
        (short(score.strategy), *(f"{score.verdicts.get(each, 0):,}" for each in present))
        for score in report.scores
    ]
    return _table(head, rows)


def duels(contests: Sequence[StrategyDuel]) -> Table:
    """Every pair of strategies on the same problems."""
    head = (
        *("strategy", "against", "problems", "more", "less", "difference"),
        *("p", "corrected", "h", "could show"),
    )
    rows = [
        (
            short(each.first),
            short(each.second),
            f"{each.problems:,}",
            str(each.wins),
            str(each.losses),
            points(each.difference),
            p_value(each.test.p_value),
            p_value(each.p_value_adjusted),
            UNKNOWN if each.cohens_h is None else f"{each.cohens_h:+z.2f}",
            _points(each.detectable),
        )
        for each in contests
    ]
    spare = ("h", "p", "could show", "less", "more")
    return _table(head, rows, names=2, spare=spare)


def sections(report: SolveReport) -> list[Section]:
    """Everything there is to show, in order of interest; tables over few problems only on pages."""
    shown = [Section("Pass rates (95 % intervals)", tables=[rates(report)], plots=[draw(report)])]
    if report.by_difficulty:
        few = all(each.problems < _ENOUGH for each in report.by_difficulty)
        shown.append(Section("By difficulty", tables=[by_difficulty(report)], detail=few))
    # On one problem every row would be the same, with an interval over all there is; the conclusion says so.
    if any(each.problems > 1 for each in report.duels):
        title = "Paired tests on the problems both were scored on"
        shown.append(Section(title, tables=[duels(report.duels)]))
    if any(each.problems > 1 for each in report.duels_after_failure):
        few = all(each.problems < _ENOUGH for each in report.duels_after_failure)
        title = "The same where the first attempt of both failed"
        shown.append(Section(title, tables=[duels(report.duels_after_failure)], detail=few))
    shown += [
        Section("What it took, for one problem once and in all", tables=[costs(report)]),
        Section("Verdicts", tables=[verdicts(report)]),
    ]
    left_out = [("", str(each)) for each in report.left_out] or [("", "Nothing.")]
    return [
        *shown,
        Section("Left out", left_out, detail=not report.left_out),
        Section("How to read it", [("", _NOTES)], detail=True),
    ]


def conclusion(report: SolveReport) -> str:
    """Which strategy wins beyond chance, or that none does and what would have shown: one sentence."""
    first, *others = report.leaders
    if first.solved.value is None:
        return "nothing was scored, so nothing is known"
    if not others or others[0].solved.value is None:
        return f"{short(first.strategy)} solved {percent_interval(first.solved)} of {count(first.problems, 'problem')}"
    duel = _between(report, first.strategy, others[0].strategy)
    if report.winner:
        return f"{short(report.winner)} wins: {_lead(report, first, others[0], duel)}"
    if not any(each.wins or each.losses for each in report.duels):
        same = f"all solved the same problems, {percent_interval(first.solved)} of them"
        if not first.solved.value:
            same = f"none solved any of {count(first.problems, 'problem')}"
        return f"no winner: {same}; {_could_show(duel)}"
    lead = _lead(report, first, others[0], duel)
    losers = {duel.behind for duel in report.duels if duel.beyond_chance}
    lose = describe_losers([short(score.strategy) for score in others if score.strategy in losers])
    return f"no winner beyond chance{lose}: {lead}; {_could_show(duel)}"


def _lead(report: SolveReport, first: Score, second: Score, duel: StrategyDuel) -> str:
    by = _difference_for(duel, first.strategy)
    lead = (
        f"{short(first.strategy)} solved {percent(first.solved.value or 0)} and {short(second.strategy)} "
        f"{percent(second.solved.value or 0)}"
    )
    if duel.p_value_adjusted is None:
        return f"{lead}, difference {points(by)} points"
    pairs = len(report.duels)
    corrected = f" (corrected for {pairs} pairs)" if pairs > 1 else ""
    return (
        f"{lead}, difference {points(by)} points, {p_statement(duel.p_value_adjusted)}{corrected}"
    )


def _could_show(duel: StrategyDuel) -> str:
    detectable = duel.detectable
    if detectable.value is None:
        return detectable.reason
    return (
        f"{detectable.n} problems show a difference of {_points(detectable)} or more four times "
        "out of five, and mostly miss a smaller one"
    )


def _between(report: SolveReport, one: str, other: str) -> StrategyDuel:
    return next(duel for duel in report.duels if {duel.first, duel.second} == {one, other})


def _difference_for(duel: StrategyDuel, name: str) -> Estimate:
    """The difference in favour of one of the two."""
    by = duel.difference
    if duel.first == name or by.value is None or by.low is None or by.high is None:
        return by
    return Estimate(-by.value, -by.high, -by.low, n=by.n)


def _share_of(share: Estimate) -> str:
    """A share of some of the problems, and of how many."""
    return f"{percent_interval(share)} of {share.n}" if share.value is not None else UNKNOWN


def _mean(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f}"


def _points(size: Estimate) -> str:
    return UNKNOWN if size.value is None else f"{size.value * 100:.0f} points"


def _tokens(score: Score) -> str:
    """Tokens as far as they are known."""
    more = "+" if score.spent.unmetered else ""
    if more and not score.spent.known_tokens:
        return "unknown"
    return f"{score.spent.known_tokens:,}{more}"


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1, spare: Sequence[str] = ()
) -> Table:
    """Names first, then figures; `spare` are the columns that a narrow terminal leaves out, in this order."""
    columns = [
        Column(title, figures=at >= names, spare=spare.index(title) + 1 if title in spare else 0)
        for at, title in enumerate(head)
    ]
    return Table(columns, rows)
