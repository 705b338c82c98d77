"""A figure of the paper beside what the data give, and the rules by which they agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import comb, sqrt
from statistics import NormalDist, fmean, pstdev, stdev
from typing import Literal, NamedTuple

from msgspec import Struct

from autoreason.report.numbers import UNKNOWN
from autoreason.stats import Estimate
from autoreason.stats.shares import student_t

Verdict = Literal["agrees", "consistent", "differs", "no data"]
CONFIDENCE = 0.999
"""Of an interval over a part: a report has some eighty, and all of them together should seldom miss."""


class Found(NamedTuple):
    """What the data give for one figure."""

    value: float | None
    low: float | None = None
    """What all of the data may give at least; None is unlimited where only a part is here, else the value."""
    high: float | None = None
    whole: bool = True
    """All that the figure rests on is here."""


NOTHING = Found(None)


class Answer(NamedTuple):
    """What the data give for one claim."""

    values: Mapping[str, Found]
    here: int
    """How many of the units that it rests on are here."""
    note: str = ""


class PaperFigure(Struct, frozen=True, kw_only=True):
    """One figure: what the paper says and what the data give."""

    name: str
    paper: float | None
    """None where the paper gives no such figure."""
    digits: int
    """Decimals that the paper gives; where it gives no figure, those that are shown."""
    value: float | None
    """None where there are no data."""
    low: float | None
    high: float | None
    whole: bool
    """All that it rests on is here; else `low` and `high` limit what the whole may give, None is unlimited."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether they agree; None where the paper says nothing."""
        if self.value is None:
            return "no data"
        if self.paper is None:
            return None
        rounding = 0.5 * 10**-self.digits + 1e-9
        known = self.value if self.whole else None
        low, high = (known if end is None else end for end in (self.low, self.high))
        too_low = low is not None and self.paper < low - rounding
        too_high = high is not None and self.paper > high + rounding
        if too_low or too_high:
            return "differs"
        return "agrees" if self.whole else "consistent"

    def shown(self) -> str:
        """What the data give, with its limits."""
        if self.value is None:
            return UNKNOWN
        value, low, high = (
            "" if each is None else f"{each:.{self.digits}f}"
            for each in (self.value, self.low, self.high)
        )
        if not (low or high) or (self.whole and value in (low, high)):
            return value
        if low and high:
            return f"{value} ({low} to {high})"
        return f"{value} ({low} or more)" if low else f"{value} ({high} or less)"

    def claimed(self) -> str:
        """What the paper says."""
        return UNKNOWN if self.paper is None else f"{self.paper:.{self.digits}f}"


def compare(name: str, paper: str, found: Found) -> PaperFigure:
    """A figure as the paper prints it beside what was found; an empty one is not in the paper."""
    return PaperFigure(
        name=name,
        paper=float(paper) if paper else None,
        digits=len(paper.partition(".")[2]) if paper else _decimals(found.value),
        value=found.value,
        low=found.low,
        high=found.high,
        whole=found.whole,
    )


def conclude(figures: Iterable[PaperFigure]) -> Verdict:
    """The verdict on a line: one figure that differs is enough, and all must agree."""
    verdicts = {figure.verdict for figure in figures} - {None}
    if "differs" in verdicts:
        return "differs"
    if verdicts <= {"no data"}:
        return "no data"
    return "agrees" if verdicts == {"agrees"} else "consistent"


def tally(hits: Iterable[bool | None]) -> Found:
    """How many of some cases; None is a case that is not here, and may be one or not."""
    known = list(hits)
    count, missing = sum(map(bool, known)), known.count(None)
    if missing == len(known):
        return NOTHING
    return Found(count, count, count + missing, whole=not missing)


def mean_within(values: Iterable[float | None], lowest: float, highest: float) -> Found:
    """The mean of cases on a scale; one that is not here may lie anywhere on it."""
    cases = list(values)
    known = [value for value in cases if value is not None]
    if not known:
        return NOTHING
    missing = len(cases) - len(known)
    low, high = ((sum(known) + missing * end) / len(cases) for end in (lowest, highest))
    return Found(fmean(known), low, high, whole=not missing)


def mean_of(values: Sequence[float], of: int) -> Found:
    """The mean of lengths, those here of so many; Student's interval for the mean of all."""
    n = len(values)
    if not n:
        return NOTHING
    if n >= of or n < 2:
        return Found(fmean(values), whole=n >= of)
    # The mean of all is the nearer, the more of all are here.
    error = stdev(values) / sqrt(n) * sqrt(1 - n / of)
    reach = student_t(n - 1, (1 - CONFIDENCE) / 2) * error
    return Found(fmean(values), max(0.0, fmean(values) - reach), fmean(values) + reach, whole=False)


def deviation_of(values: Sequence[float], of: int) -> Found:
    """The standard deviation of cases as of all there are; a part sets no limits to it."""
    return Found(pstdev(values), whole=len(values) >= of) if len(values) > 1 else NOTHING


def smallest(values: Sequence[float], of: int) -> Found:
    """The smallest of all: no larger than the smallest that is here."""
    return Found(min(values), None, min(values), whole=len(values) >= of) if values else NOTHING


def largest(values: Sequence[float], of: int) -> Found:
    """The largest of all: no smaller than the largest that is here."""
    return Found(max(values), max(values), None, whole=len(values) >= of) if values else NOTHING


def percentage(hits: Sequence[bool | None], of: int) -> Found:
    """The percentage of hits; of a part, with the exact interval for the whole it was drawn from."""
    if not hits:
        return NOTHING
    found = share_of_whole(sum(map(bool, hits)), len(hits), max(len(hits), of), CONFIDENCE)
    value, low, high = (100 * (each or 0.0) for each in (found.value, found.low, found.high))
    return Found(value, low, high, whole=len(hits) >= of)


def all_of(hits: int, cases: int, whole: bool) -> Found:
    """The percentage where all are claimed to be hits: one that is none contradicts it, whatever is missing."""
    return Found(100 * hits / cases, whole=whole or hits < cases) if cases else NOTHING


def majority(wins: int, losses: int, missing: int) -> Found:
    """1 where there are more wins than losses, else 0; open where missing cases could turn it."""
    if not wins + losses:
        return NOTHING
    lead = wins - losses
    return Found(
        float(lead > 0), float(lead - missing > 0), float(lead + missing > 0), whole=not missing
    )


def _decimals(value: float | None) -> int:
    """None of a count, two of anything else."""
    return 0 if value is None or float(value).is_integer() else 2


def share_of_whole(successes: int, drawn: int, total: int, confidence: float = 0.95) -> Estimate:
    """The share in a whole of which some were drawn at random, from those; `n` counts the drawn.

    The interval is exact (hypergeometric, one tail at a time), and a point where all were drawn.
    """
    if not 0 <= successes <= drawn <= total:
        raise ValueError(f"{successes} of {drawn} drawn from {total} cannot be")
    if not drawn:
        return Estimate(None, reason="a share needs one draw or more, there is none")
    outside, ways = (1 - confidence) / 2 * comb(total, drawn), range(drawn + 1)

    def chance(of: int, counts: Iterable[int]) -> int:
        return sum(comb(of, hits) * comb(total - of, drawn - hits) for hits in counts)

    possible = range(successes, successes + total - drawn + 1)
    low = next(of for of in possible if chance(of, ways[successes:]) > outside)
    high = next(of for of in possible[::-1] if chance(of, ways[: successes + 1]) > outside)
    return Estimate(successes / drawn, low / total, high / total, n=drawn)


def paired_gain(differences: Sequence[float], confidence: float = 0.95) -> Estimate:
    """The mean difference of two shares over the same tasks, each between -1 and 1.

    The interval is Bonett and Price's (2012): two tasks are added, one won and one lost, so that it does not
    shrink to nothing where no task differs.
    """
    if not differences:
        return Estimate(None, reason="needs one pair or more, there is none")
    if not all(-1 <= each <= 1 for each in differences):
        raise ValueError("differences of shares lie between -1 and 1")
    padded = [*differences, 1.0, -1.0]
    middle = fmean(padded)
    variance = fmean((each - middle) ** 2 for each in padded)
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(variance / len(padded))
    low, high = max(-1.0, middle - reach), min(1.0, middle + reach)
    return Estimate(fmean(differences), low, high, n=len(differences))
