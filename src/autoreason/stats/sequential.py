"""Intervals that may be looked at any time, shares that should be equal, and how many it takes to tell two apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, fsum, lgamma, log, sqrt
from statistics import NormalDist

from autoreason.stats.results import Estimate

_NORMAL = NormalDist()
MIN_EVENTS = 20
"""In each arm, of both kinds; with fewer the normal approximation is not good enough."""
MAX_SAMPLE = 10**10
"""More than there are people."""


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
    reach = _standard_errors(size / planned, alpha) * sqrt(variance)
    middle = shares[0] - shares[1]
    return Estimate(middle, max(-1.0, middle - reach), min(1.0, middle + reach), n=size)


def unequal_split(counts: Sequence[int], planned: int, alpha: float = 0.001) -> float:
    """How likely an equal random split is to be so unequal at any look, however often it is looked at.

    The sequential multinomial test of Lindon and Malek (2022), most sensitive at `planned` in all arms together.
    """
    total, arms = sum(counts), len(counts)
    prior = planned / _best_scale(alpha) / arms
    against = lgamma(arms * prior) - lgamma(arms * prior + total) + total * log(arms)
    against += fsum(lgamma(prior + each) - lgamma(prior) for each in counts)
    return exp(-max(0.0, against))


def sample_size(base: float, lift: float, comparisons: int = 1, power: float = 0.8) -> int:
    """How many each arm takes for `always_valid_difference` to show a share that is `lift` of itself above `base`.

    At 5 % over all comparisons. Raises ValueError where it is more than `MAX_SAMPLE`.
    """
    better = base * (1 + lift)
    if not (0 < base < 1 and 0 < better < 1):
        raise ValueError("shares lie between 0 and 1")
    effect = abs(base * lift) / sqrt(base * (1 - base) + better * (1 - better))
    errors = _standard_errors(1, 0.05 / comparisons) + _NORMAL.inv_cdf(power)
    # Twice what an interval needs: chance gives half of what is expected less than once in a thousand times.
    events = 2 * MIN_EVENTS / min(base, 1 - base, better, 1 - better)
    if max(errors, sqrt(events) * effect) > sqrt(MAX_SAMPLE) * effect:
        raise ValueError(f"it takes more than {MAX_SAMPLE:,}")
    return ceil(max((errors / effect) ** 2, events))


def _standard_errors(part: float, alpha: float) -> float:
    """How far an interval that is always valid reaches, at this part of the planned size."""
    scale = part * _best_scale(alpha) + 1
    return sqrt(2 * scale / (scale - 1) * log(sqrt(scale) / alpha))


def _best_scale(alpha: float) -> float:
    """What a mixture is tuned to for the narrowest interval at the planned size (Waudby-Smith and others)."""
    return -2 * log(alpha) + log(-2 * log(alpha)) + 1
