"""How much it takes to see a difference, and how small a difference can be seen."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom, norm

from autoreason.stats.results import Estimate

_MOST_JUDGES = 1_000_000


def judges_needed(share: float, *, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """How many judges it takes to tell a preference held by `share` of them from a coin, by the exact sign test.

    Exact power goes up in saw teeth (Chernick and Liu 2002): this is the number from which on it
    stays at `power` or above. None where the share is one half, or too near it for a million.
    """
    _check_levels(power, alpha)
    if not 0 <= share <= 1:
        raise ValueError(f"a share lies between 0 and 1, not {share}")
    effect = abs(share - 0.5)
    if not effect:
        return None
    z = norm.isf(alpha / 2) + norm.isf(1 - power)
    # The normal approximation, with room for the saw teeth and for small panels.
    far = int(1.3 * (z / (2 * effect)) ** 2 + 4 / effect + 30)
    if far > _MOST_JUDGES:
        return None
    sizes = np.arange(1, far + 1)
    too_weak = np.flatnonzero(_sign_test_power(sizes, 0.5 + effect, alpha) < power)
    return int(sizes[too_weak[-1]]) + 1


def detectable_share(judges: int, *, power: float = 0.8, alpha: float = 0.05) -> Estimate:
    """The smallest majority share that so many judges would show by the exact sign test."""
    _check_levels(power, alpha)
    if 0.5 ** (judges - 1) > alpha:
        needed = 1 + ceil(-np.log2(alpha))
        reason = f"even all of {judges} agreeing could be chance; it takes {needed} judges or more"
        return Estimate(None, n=judges, reason=reason)

    def missing(share: float) -> float:
        return float(_sign_test_power(np.array([judges]), share, alpha)[0]) - power

    return Estimate(float(brentq(missing, 0.5, 1.0)), n=judges)


def tasks_needed(
    gained: float, lost: float, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """How many tasks McNemar's test needs if one way alone solves a share `gained`, the other alone `lost`.

    By the normal approximation of Miettinen (1968). None where the two shares are equal.
    """
    _check_levels(power, alpha)
    differ, by = gained + lost, gained - lost
    if gained < 0 or lost < 0 or differ > 1:
        raise ValueError(f"shares of tasks add up to 1 at most, not {gained} and {lost}")
    if not by:
        return None
    spread = norm.isf(alpha / 2) * sqrt(differ) + norm.isf(1 - power) * sqrt(differ - by**2)
    return ceil(float(spread / by) ** 2)


def detectable_gain(
    tasks: int, differ: float, *, power: float = 0.8, alpha: float = 0.05
) -> Estimate:
    """The smallest difference in shares solved that McNemar's test shows if the ways differ on a share of tasks.

    Turns `tasks_needed` round. None where even a difference all one way would not do.
    """
    _check_levels(power, alpha)
    if not 0 < differ <= 1:
        raise ValueError(f"the share of tasks that differ lies above 0 and up to 1, not {differ}")
    z_alpha, z_power = norm.isf(alpha / 2), norm.isf(1 - power)

    def missing(by: float) -> float:
        return float(z_alpha * sqrt(differ) + z_power * sqrt(differ - by**2) - by * sqrt(tasks))

    if missing(differ) > 0:
        reason = f"{tasks} tasks of which {differ:.0%} differ are too few for any difference"
        return Estimate(None, n=tasks, reason=reason)
    return Estimate(float(brentq(missing, 0.0, differ)), n=tasks)


def least_gain(tasks: int, *, power: float = 0.8, alpha: float = 0.05) -> Estimate:
    """The smallest difference in shares solved that McNemar's test shows where every task that differs goes one way.

    For ways of which nobody knows on how many tasks they differ: none smaller can be shown.
    """
    _check_levels(power, alpha)
    z_alpha, z_power = norm.isf(alpha / 2), norm.isf(1 - power)

    def missing(by: float) -> float:
        return float(z_alpha + z_power * sqrt(1 - by) - sqrt(by * tasks))

    if missing(1.0) > 0:
        reason = f"{tasks} tasks are too few for any difference to show"
        return Estimate(None, n=tasks, reason=reason)
    return Estimate(float(brentq(missing, 0.0, 1.0)), n=tasks)


def detectable_difference(
    n: int, sd: float, *, power: float = 0.8, alpha: float = 0.05
) -> Estimate:
    """The smallest mean of `n` paired differences with spread `sd` that shows, by the normal approximation."""
    _check_levels(power, alpha)
    if n < 1:
        return Estimate(None, n=n, reason="needs one pair or more, there is none")
    return Estimate(float(norm.isf(alpha / 2) + norm.isf(1 - power)) * sd / sqrt(n), n=n)


def pairs_needed(
    difference: float, sd: float, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """How many pairs it takes to show a mean difference with spread `sd`; None where there is no difference."""
    _check_levels(power, alpha)
    if not difference:
        return None
    return max(1, ceil((float(norm.isf(alpha / 2) + norm.isf(1 - power)) * sd / difference) ** 2))


def _sign_test_power(sizes: NDArray[Any], share: float, alpha: float) -> NDArray[Any]:
    """How often the two-sided exact sign test ends at or below `alpha`, for each number of judges."""
    # The largest losing side that is still significant; -1 where none is.
    most = binom.ppf(alpha / 2, sizes, 0.5)
    most = np.where(binom.cdf(most, sizes, 0.5) <= alpha / 2, most, most - 1)
    return np.asarray(
        binom.cdf(most, sizes, 1 - share) + binom.cdf(most, sizes, share), dtype=float
    )


def _check_levels(power: float, alpha: float) -> None:
    if not (0 < alpha < power < 1):
        raise ValueError(f"alpha lies above 0 and below power, power below 1, not {alpha}, {power}")
