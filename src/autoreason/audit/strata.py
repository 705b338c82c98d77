"""Two shares compared within groups that were held alike, so that groups that differ do not feign an effect."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

Table = tuple[tuple[int, int], tuple[int, int]]
"""Rows are the two conditions, columns yes and no."""


class Stratified(NamedTuple):
    """What the first condition gave, and what it would have given if conditions made no difference."""

    observed: int
    expected: float
    trials: int
    """Of the first condition."""
    p: float | None
    """Two-sided; None where no group holds both conditions and both outcomes."""


def compare(tables: Iterable[Table]) -> Stratified:
    """The test of Mantel and Haenszel (1959) over all groups, without a correction for continuity."""
    observed, expected, variance, trials = 0, 0.0, 0.0, 0
    for (yes, no), (other_yes, other_no) in tables:
        rows, columns = (yes + no, other_yes + other_no), (yes + other_yes, no + other_no)
        n = sum(rows)
        observed += yes
        trials += rows[0]
        if n < 2:
            expected += yes
            continue
        expected += rows[0] * columns[0] / n
        variance += rows[0] * rows[1] * columns[0] * columns[1] / (n * n * (n - 1))
    p = None
    if variance:
        p = 2 * NormalDist().cdf(-abs(observed - expected) / sqrt(variance))
    return Stratified(observed, expected, trials, p)
