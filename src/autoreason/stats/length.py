"""Whether judges prefer the longer text."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from autoreason.stats.results import Estimate
from autoreason.stats.shares import clustered_share


def longer_preferred(
    wins: Sequence[float],
    length_differences: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """How often the longer of two texts won; draws and texts of equal length say nothing and are left out.

    `wins` contains 1, 0.5 or 0 for the first text, `length_differences` how much longer it is. Comparisons of one of
    the `clusters`, a ballot say, hang together; `n` counts those, and the interval rests on them.
    """
    together: dict[Hashable, list[float]] = {}
    units = clusters or range(len(wins))
    for unit, won, longer_by in zip(units, wins, length_differences, strict=True):
        if won != 0.5 and longer_by:
            together.setdefault(unit, []).append(float((won > 0.5) == (longer_by > 0)))
    return clustered_share(together.values())
