"""How far raters who score the same things agree, beyond what chance would give. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from statistics import variance

from autoreason.stats.ranks import midranks
from autoreason.stats.results import Estimate, counted


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]]) -> Estimate:
    """Krippendorff's alpha (2011) for scores that count by their order: 1 full agreement, 0 what chance gives.

    One row a rater, one column a thing rated; None where a rater did not rate it. `n` counts the
    things rated twice or more. Below 0 raters disagree systematically.
    """
    if len({len(row) for row in ratings}) > 1:
        raise ValueError(
            "every rater needs an entry for every thing, None where there is no rating"
        )
    units = [[r for r in column if r is not None] for column in zip(*ratings, strict=True)]
    paired = [unit for unit in units if len(unit) > 1]
    if not paired:
        return Estimate(None, reason=_why_none(ratings))
    every = [r for unit in paired for r in unit]
    place = dict(zip(every, midranks(every), strict=True))
    # With places for scores, the squared distances between ratings add up to their variances.
    expected = len(every) * variance(map(place.__getitem__, every))
    if not expected:
        reason = "every rating is the same, so nothing can agree or disagree"
        return Estimate(None, n=len(paired), reason=reason)
    observed = fsum(len(unit) * variance(map(place.__getitem__, unit)) for unit in paired)
    return Estimate(1 - observed / expected, n=len(paired))


def _why_none(ratings: Sequence[Sequence[float | None]]) -> str:
    raters = sum(any(r is not None for r in row) for row in ratings)
    if raters < 2:
        return f"needs two raters or more, {counted(raters, 'rater')}"
    return "no thing was rated by two raters"
