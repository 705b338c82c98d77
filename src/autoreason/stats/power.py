"""The smallest difference that can be detected."""

from __future__ import annotations

from math import ceil, log2, sqrt
from statistics import NormalDist

from scipy.optimize import brentq
from scipy.special import bdtr

from autoreason.stats.results import Estimate

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

    # The largest losing side that is still significant.
    sides = range(judges // 2)
    losses = max(side for side in sides if bdtr(side, judges, 0.5) <= alpha / 2)

    def missing(share: float) -> float:
        return float(bdtr(losses, judges, 1 - share) + bdtr(losses, judges, share)) - POWER

    return Estimate(float(brentq(missing, 0.5, 1.0)), n=judges)


def detectable_gain(tasks: int, differ: float, *, alpha: float = 0.05) -> Estimate:
    """The smallest difference in shares solved that McNemar's test shows if the ways differ on a share of tasks.

    By the normal approximation of Miettinen (1968). None where even a difference all one way would not do.
    """
    if not 0 < differ <= 1:
        raise ValueError(f"the share of tasks that differ lies above 0 and up to 1, not {differ}")
    z_alpha, z_power = _quantiles(alpha)

    def missing(by: float) -> float:
        return float(z_alpha * sqrt(differ) + z_power * sqrt(differ - by**2) - by * sqrt(tasks))

    if missing(differ) > 0:
        reason = f"{tasks} tasks of which {differ:.0%} differ are too few for any difference"
        return Estimate(None, n=tasks, reason=reason)
    return Estimate(float(brentq(missing, 0.0, differ)), n=tasks)


def least_gain(tasks: int, *, alpha: float = 0.05) -> Estimate:
    """The smallest difference in shares solved that McNemar's test shows where every task that differs goes one way.

    Where it is unknown on how many tasks the two differ: no smaller difference can be shown.
    """
    z_alpha, z_power = _quantiles(alpha)

    def missing(by: float) -> float:
        return float(z_alpha + z_power * sqrt(1 - by) - sqrt(by * tasks))

    if missing(1.0) > 0:
        reason = f"{tasks} tasks are too few for any difference to show"
        return Estimate(None, n=tasks, reason=reason)
    return Estimate(float(brentq(missing, 0.0, 1.0)), n=tasks)


def detectable_difference(n: int, sd: float, *, alpha: float = 0.05) -> Estimate:
    """The smallest mean of `n` paired differences with spread `sd` that shows, by the normal approximation."""
    if n < 1:
        return Estimate(None, n=n, reason="needs one pair or more, there is none")
    return Estimate(sum(_quantiles(alpha)) * sd / sqrt(n), n=n)


def _quantiles(alpha: float) -> tuple[float, float]:
    return _NORMAL.inv_cdf(1 - alpha / 2), _NORMAL.inv_cdf(POWER)
