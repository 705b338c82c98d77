"""What a suite's report says in sentences, and its numbers with their units."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from autoreason.report.numbers import UNKNOWN, count, decimal, money, p_statement, percent
from autoreason.report.sentences import listed
from autoreason.studies.lab.lab_suite import MANY_TASKS, SHARES

if TYPE_CHECKING:
    from autoreason.stats.results import Estimate
    from autoreason.studies.lab.arm_pairs import ArmPair
    from autoreason.studies.lab.lab_report import LabReport


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
