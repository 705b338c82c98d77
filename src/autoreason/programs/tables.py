"""A report on programs as tables and sentences, the same on a screen and on a page."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from autoreason.assignment import CodeVerdict
from autoreason.plugins import short
from autoreason.programs.duels import Duel
from autoreason.programs.solve_report import BEYOND_CHANCE, Score, SolveReport
from autoreason.stats.results import Estimate, losing

NOTHING = "–"


class Table(NamedTuple):
    """Cells as text: names first, then figures."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    names: int = 1
    """How many columns are names."""
    spare: tuple[str, ...] = ()
    """Columns that a narrow screen does without, in this order."""


def rates(report: SolveReport) -> Table:
    """Pass rates over all problems."""
    head = ("strategy", "problems", "public", "private", "public but not private", "recovered")
    rows = [
        (
            short(each.strategy),
            f"{each.problems:,}",
            percent(each.public),
            percent(each.private),
            _of(each.fooled),
            _of(each.recovery),
        )
        for each in report.scores
    ]
    return Table("Pass rates (95 % intervals)", head, rows)


def tiers(report: SolveReport) -> Table:
    """Pass rates by difficulty."""
    head = ("difficulty", "strategy", "problems", "public", "private", "recovered")
    rows = [
        (
            each.difficulty,
            short(each.strategy),
            f"{each.problems:,}",
            percent(each.public),
            percent(each.private),
            _of(each.recovery),
        )
        for each in report.tiers
    ]
    return Table("By difficulty", head, rows, names=2)


def took(report: SolveReport) -> Table:
    """What each strategy took."""
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
    return Table("What it took, for one problem once and in all", head, rows)


def verdicts(report: SolveReport) -> Table:
    """How the programs handed in ended."""
    seen = [
        each for each in CodeVerdict if any(score.verdicts.get(each) for score in report.scores)
    ]
    head = ("strategy", *(each.replace("_", " ") for each in seen))
    rows = [
        (short(score.strategy), *(f"{score.verdicts.get(each, 0):,}" for each in seen))
        for score in report.scores
    ]
    return Table("Verdicts", head, rows)


def duels(found: Sequence[Duel], title: str) -> Table:
    """Every two strategies on the same problems."""
    head = (
        *("strategy", "against", "problems", "more", "less", "difference"),
        *("p", "corrected", "h", "could show"),
    )
    rows = [
        (
            short(each.one),
            short(each.other),
            f"{each.problems:,}",
            str(each.gained),
            str(each.lost),
            points(each.difference),
            p_value(each.test.p),
            p_value(each.holm),
            NOTHING if each.h is None else f"{each.h:+.2f}",
            _shown(each.detectable),
        )
        for each in found
    ]
    spare = ("h", "p", "could show", "less", "more")
    return Table(title, head, rows, names=2, spare=spare)


def paired(report: SolveReport) -> Table:
    """Every two strategies on all problems."""
    return duels(report.duels, "Paired tests on the problems both were scored on")


def recovered(report: SolveReport) -> Table:
    """Every two strategies on problems that were not solved at once."""
    return duels(report.recoveries, "The same where the first attempt of both failed")


def tables(report: SolveReport) -> list[Table]:
    """Everything there is to show, in order of interest."""
    found = [rates(report)]
    if report.tiers:
        found.append(tiers(report))
    if report.duels:
        found.append(paired(report))
    if any(each.problems for each in report.recoveries):
        found.append(recovered(report))
    return [*found, took(report), verdicts(report)]


def conclusion(report: SolveReport) -> str:
    """Who wins beyond chance, or that nobody does and what could have been seen: one plain sentence."""
    first, *others = report.leaders
    if first.solved.value is None:
        return "nothing was scored, so nothing is known"
    if not others or others[0].solved.value is None:
        return f"{short(first.strategy)} solved {percent(first.solved)} of {_problems(first)}"
    duel = _between(report, first.strategy, others[0].strategy)
    if report.winner:
        return f"{short(report.winner)} wins: {_lead(report, first, others[0], duel)}"
    if not any(each.gained or each.lost for each in report.duels):
        same = f"all solved the same problems, {percent(first.solved)} of them"
        if not first.solved.value:
            same = f"none solved any of {_problems(first)}"
        return f"nobody wins: {same}; {_could_show(duel)}"
    lead = _lead(report, first, others[0], duel)
    lose = losing([short(score.strategy) for score in others if _is_beaten(report, score.strategy)])
    return f"nobody wins beyond chance{lose}: {lead}; {_could_show(duel)}"


def stated(report: SolveReport) -> str:
    """The conclusion as a sentence; a strategy's name stays as it is written."""
    said = conclusion(report)
    named = said.startswith(tuple(map(short, report.strategies)))
    return f"{said if named else said[0].upper() + said[1:]}."


def _lead(report: SolveReport, first: Score, second: Score, duel: Duel) -> str:
    by = _turned(duel, first.strategy)
    lead = (
        f"{short(first.strategy)} solved {_bare(first.solved)} and {short(second.strategy)} "
        f"{_bare(second.solved)}"
    )
    if duel.holm is None:
        return f"{lead}, difference {points(by)} points"
    pairs = len(report.duels)
    corrected = f" (corrected for {pairs} pairs)" if pairs > 1 else ""
    return f"{lead}, difference {points(by)} points, p = {p_value(duel.holm)}{corrected}"


def _could_show(duel: Duel) -> str:
    found = duel.detectable
    if found.value is None:
        return found.reason
    return (
        f"{found.n} problems show a difference of {found.value * 100:.0f} points or more four times "
        "out of five, and mostly miss a smaller one"
    )


def _is_beaten(report: SolveReport, name: str) -> bool:
    return any(
        duel.behind == name and duel.holm is not None and duel.holm <= BEYOND_CHANCE
        for duel in report.duels
    )


def _between(report: SolveReport, one: str, other: str) -> Duel:
    return next(duel for duel in report.duels if {duel.one, duel.other} == {one, other})


def _turned(duel: Duel, name: str) -> Estimate:
    """The difference as seen from one side."""
    found = duel.difference
    if duel.one == name or found.value is None or found.low is None or found.high is None:
        return found
    return Estimate(-found.value, -found.high, -found.low, n=found.n)


def percent(found: Estimate) -> str:
    """`77 % (69 to 83)`; a dash where nothing is known."""
    if found.value is None:
        return NOTHING
    if found.low is None or found.high is None:
        return _bare(found)
    return f"{_bare(found)} ({found.low * 100:.0f} to {found.high * 100:.0f})"


def points(found: Estimate) -> str:
    """`+4.0 (-2.1 to +9.8)`, in points of a hundred."""
    if found.value is None:
        return NOTHING
    if found.low is None or found.high is None:
        return f"{found.value * 100:+.1f}"
    return f"{found.value * 100:+.1f} ({found.low * 100:+.1f} to {found.high * 100:+.1f})"


def p_value(p: float | None) -> str:
    """`0.041`, `< 0.001`."""
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def money(cost: Decimal | None) -> str:
    """US dollars; an unknown sum is called unknown."""
    if cost is None:
        return "unknown"
    return f"${cost:,.2f}" if cost == 0 or cost >= Decimal("0.1") else f"${cost:.4f}"


def _bare(found: Estimate) -> str:
    assert found.value is not None
    if 0 < found.value < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 < found.value < 1 else f"{found.value * 100:.0f} %"


def _of(found: Estimate) -> str:
    """A share of some of the problems, and of how many."""
    return f"{percent(found)} of {found.n}" if found.value is not None else NOTHING


def _mean(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"


def _shown(found: Estimate) -> str:
    return NOTHING if found.value is None else f"{found.value * 100:.0f} points"


def _tokens(score: Score) -> str:
    """Tokens as far as they are known."""
    more = "+" if score.spent.unmetered else ""
    if more and not score.spent.known_tokens:
        return "unknown"
    return f"{score.spent.known_tokens:,}{more}"


def _problems(score: Score) -> str:
    return "1 problem" if score.problems == 1 else f"{score.problems:,} problems"
