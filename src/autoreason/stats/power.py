"""What so many can show: the smallest difference, intervals that are always valid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, exp, fsum, lgamma, log, log2, sqrt
from statistics import NormalDist

from autoreason.stats import Estimate

_NORMAL = NormalDist()
POWER = 0.8
"""How often a real difference should be detected."""


def detectable_share(judges: int, *, alpha: float = 0.05) -> Estimate:
    """The smallest majority share that so many judges would show by the exact sign test."""
    if 0.5 ** (judges - 1) > alpha:
        min_judges = 1 + ceil(-log2(alpha))
        few = "judge is" if judges == 1 else "judges are"
        reason = (
            f"{judges} {few} too few (even if all agreed, it could be chance); "
            f"it takes {min_judges} or more"
        )
        return Estimate(None, n=judges, reason=reason)

    from scipy.special import bdtr

    # The largest losing side that is still significant.
    sides = range(judges // 2)
    losses = max(side for side in sides if bdtr(side, judges, 0.5) <= alpha / 2)

    def missing(share: float) -> float:
        return float(bdtr(losses, judges, 1 - share) + bdtr(losses, judges, share)) - POWER

    return Estimate(_root(missing, 0.5, 1.0), n=judges)


def detectable_gain(tasks: int, differ: float | None = None, *, alpha: float = 0.05) -> Estimate:
    """The smallest difference in shares solved that McNemar's test shows if the ways differ on a share of tasks.

    By the normal approximation of Miettinen (1968). None where even a difference all one way would not do. Where it
    is unknown on how many tasks the two differ, every task that does goes one way: no smaller difference can be shown.
    """
    if differ is not None and not 0 < differ <= 1:
        raise ValueError(f"the share of tasks that differ lies above 0 and up to 1, not {differ}")
    z_alpha, z_power = _quantiles(alpha)

    def missing(by: float) -> float:
        share = by if differ is None else differ
        return float(z_alpha * sqrt(share) + z_power * sqrt(share - by**2) - by * sqrt(tasks))

    most = differ or 1.0
    if missing(most) > 0:
        of = "" if differ is None else f" of which {differ:.0%} differ"
        return Estimate(None, n=tasks, reason=f"{tasks} tasks{of} are too few for any difference")
    return Estimate(_root(missing, 0.0 if differ else 1e-9, most), n=tasks)


def detectable_difference(n: int, sd: float, *, alpha: float = 0.05) -> Estimate:
    """The smallest mean of `n` paired differences with spread `sd` that shows, by the normal approximation."""
    if n < 1:
        return Estimate(None, n=n, reason="needs one pair or more, there is none")
    return Estimate(sum(_quantiles(alpha)) * sd / sqrt(n), n=n)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, low, high))


def _quantiles(alpha: float) -> tuple[float, float]:
    return _NORMAL.inv_cdf(1 - alpha / 2), _NORMAL.inv_cdf(POWER)


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
    """How likely an equal random split is ever to be so unequal, however often it is looked at.

    The sequential multinomial test of Lindon and Malek (2022), most sensitive at `planned` in all arms together.
    """
    total, arms = sum(counts), len(counts)
    prior = planned / _best_scale(alpha) / arms
    against = lgamma(arms * prior) - lgamma(arms * prior + total) + total * log(arms)
    against += fsum(lgamma(prior + each) - lgamma(prior) for each in counts)
    return exp(-max(0.0, against))


def sample_size(base: float, lift: float, comparisons: int = 1) -> int:
    """How many each arm takes for `always_valid_difference` to show a share that is `lift` of itself above `base`.

    At 5 % over all comparisons. Raises ValueError where it is more than `MAX_SAMPLE`.
    """
    better = base * (1 + lift)
    if not (0 < base < 1 and 0 < better < 1):
        raise ValueError("shares lie between 0 and 1")
    effect = abs(base * lift) / sqrt(base * (1 - base) + better * (1 - better))
    errors = _standard_errors(1, 0.05 / comparisons) + _NORMAL.inv_cdf(POWER)
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
