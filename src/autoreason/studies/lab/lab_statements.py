"""What a suite's report says in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreason.report.numbers import count, p_statement, percent
from autoreason.studies.lab.lab_suite import SHARES

if TYPE_CHECKING:
    from autoreason.studies.lab.lab_report import ArmPair


def answer(pair: ArmPair, clusters: str) -> str:
    """One plain sentence for a question."""
    if pair.difference.value is None:
        return f"no answer: {pair.first} and {pair.second} have no result in common"
    what = _finding(pair)
    rests = f"{count(pair.difference.n, clusters)}"
    if not pair.difference.value:
        return f"not shown: {what}, over {rests}"
    p = p_statement(pair.p_value_adjusted)
    if not pair.shown:
        return f"not shown: {what}, but that could be chance ({p}, over {rests})"
    return f"{what}, which is more than chance gives ({p}, over {rests})"


def _finding(pair: ArmPair) -> str:
    value = pair.difference.value or 0.0
    first, second = pair.first, pair.second
    if pair.measure == "preferred":
        share = (1 + value) / 2
        ahead, behind = (first, second) if value >= 0 else (second, first)
        if not value:
            return f"{first} and {second} are preferred equally often"
        return f"{ahead} is preferred to {behind} by {percent(max(share, 1 - share))} of votes"
    if not value:
        return f"{first} and {second} come out equal in {pair.measure.replace('_', ' ')}"
    more = "more" if value > 0 else "fewer" if pair.measure in _COUNTED else "less"
    size = f"{abs(value) * 100:.1f} points" if pair.measure in SHARES else f"{abs(value):,.3g}"
    return f"{first} has {size} {more} {_NOUNS[pair.measure]} than {second}"


_COUNTED = ("words", "calls", "passes", "seconds")
_NOUNS = {
    "words": "words",
    "calls": "calls",
    "cost": "cost in US dollars",
    "seconds": "seconds",
    "passes": "passes",
    "converged": "of its tournaments converged",
    "kept_contract": "of its texts within the contract",
    "passed": "of the problems passed",
    "value": "gain",
}
