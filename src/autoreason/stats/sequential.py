"""Intervals that may be looked at any time, shares that should be equal, and how many it takes to tell two apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, erfc, exp, gamma, log, sqrt
from statistics import NormalDist

from autoreason.stats.results import Estimate

_NORMAL = NormalDist()
MIN_EVENTS = 20
"""In each arm, of both kinds; with fewer the normal approximation is not good enough."""


def always_valid_difference(
    one: tuple[int, int], other: tuple[int, int], planned: int, alpha: float = 0.05
) -> Estimate:
    """The difference of two shares, `(count, n)` each, with an interval that holds however often it is looked at.

    The asymptotic confidence sequence of Waudby-Smith and others (2024), narrowest at `planned` in both arms together.
    """
    (count, n), (other_count, other_n) = one, other
    least = min(count, n - count, other_count, other_n - other_count)
    if least < MIN_EVENTS:
        value = count / n - other_count / other_n if n and other_n else None
        reason = f"an interval needs {MIN_EVENTS} of each kind in both arms, there are {least}"
        return Estimate(value, n=n + other_n, reason=reason)
    shares = count / n, other_count / other_n
    variance = shares[0] * (1 - shares[0]) / n + shares[1] * (1 - shares[1]) / other_n
    size = n + other_n
    weight = (-2 * log(alpha) + log(-2 * log(alpha)) + 1) / planned
    scale = size * weight + 1
    reach = sqrt(variance * 2 * scale / (size * weight) * log(sqrt(scale) / alpha))
    middle = shares[0] - shares[1]
    return Estimate(middle, max(-1.0, middle - reach), min(1.0, middle + reach), n=size)


def unequal_split(counts: Sequence[int]) -> float:
    """How likely an equal random split is to come out at least as unequal (chi-squared test)."""
    total, arms = sum(counts), len(counts)
    if not total or arms < 2:
        return 1.0
    expected = total / arms
    return _chi_squared_tail(sum((each - expected) ** 2 / expected for each in counts), arms - 1)


def sample_size(base: float, lift: float, comparisons: int = 1, power: float = 0.8) -> int:
    """How many each arm takes to distinguish a share of `base` from one that is `lift` of itself higher, at 5 %."""
    better = base * (1 + lift)
    if not (0 < base < 1 and 0 < better < 1 and lift):
        raise ValueError("shares lie between 0 and 1, and a lift is not 0")
    z = _NORMAL.inv_cdf(1 - 0.025 / comparisons) + _NORMAL.inv_cdf(power)
    spread = base * (1 - base) + better * (1 - better)
    return ceil(z**2 * spread / (better - base) ** 2)


def _chi_squared_tail(value: float, freedom: int) -> float:
    """The chance that a chi-squared variable is larger, by the recursion over degrees of freedom."""
    half = value / 2
    odd = freedom % 2
    tail, steps = (erfc(sqrt(half)), 1) if odd else (exp(-half), 2)
    for done in range(steps, freedom, 2):
        tail += half ** (done / 2) * exp(-half) / gamma(done / 2 + 1)
    return min(1.0, tail)
