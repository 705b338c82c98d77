"""What a suite's report says in sentences, and its numbers with their units."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from autoreason.report.numbers import UNKNOWN, count, decimal, money, p_statement, percent
from autoreason.studies.lab.lab_suite import SHARES

if TYPE_CHECKING:
    from autoreason.stats.results import Estimate
    from autoreason.studies.lab.arm_pairs import ArmPair


def answer(pair: ArmPair, clusters: str) -> str:
    """One plain sentence for a question."""
    if pair.difference.value is None:
        return f"no answer: {pair.first} and {pair.second} have no result in common"
    what = _finding(pair)
    rests = f"{count(pair.difference.n, clusters)}{_at_limit(pair)}{_same(pair)}"
    if not pair.difference.value:
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
        share = (1 + value) / 2
        ahead, behind = (first, second) if value >= 0 else (second, first)
        if not value:
            return f"judges prefer {first} and {second} equally often"
        return f"judges prefer {ahead} to {behind} in {percent(max(share, 1 - share))} of votes"
    verb, equal = _VERBS[pair.measure]
    if not value:
        return f"{first} and {second} {equal}"
    more = "more" if value > 0 else "fewer" if pair.measure in _COUNTED else "less"
    size = in_units(pair.measure, abs(value))
    return f"{first} {verb.format(size=size, more=more, second=second)}"


_COUNTED = {"words": "word", "calls": "call", "passes": "pass"}
_VERBS = {
    "words": ("writes {size} {more} than {second} on average", "write texts of the same length"),
    "calls": ("makes {size} {more} than {second} on average", "make the same number of calls"),
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
