"""Shares and the exact tests on counts. Standard library only: a run states shares too."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from math import asin, ceil, comb, exp, lgamma, log, log2, sqrt
from statistics import NormalDist, fmean
from typing import TypeVar

from autoreason.stats import BEYOND_CHANCE, Estimate, Test

T = TypeVar("T")

_STEP, _LEAST_STEP = 1.02, -900
"""Of p-values that are found in steps: the least is a level divided by 55 million."""
_UNSEEN = 0.25
"""How much of a task may have come out wholly the other way without being seen."""


def share(successes: float, trials: int, confidence: float = 0.95) -> Estimate:
    """A share with the score interval of Wilson (1927)."""
    _check_counts(successes, trials - successes)
    if not trials:
        return Estimate(None, reason="there was nothing to count")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    found = successes / trials
    spread = z * sqrt(found * (1 - found) / trials + (z / (2 * trials)) ** 2)
    middle = found + z**2 / (2 * trials)
    scale = 1 + z**2 / trials
    # At 0 and 1 rounding must not push the share itself out of its interval.
    low, high = min(found, (middle - spread) / scale), max(found, (middle + spread) / scale)
    return Estimate(found, max(0.0, low), min(1.0, high), n=trials)


def exact_share(successes: int, trials: int, confidence: float = 0.95) -> Estimate:
    """A share with the interval of Clopper and Pearson (1934): what it leaves out, an exact test rejects."""
    _check_counts(successes, trials - successes)
    if not trials:
        return Estimate(None, reason="a share needs one trial or more, there is none")
    outside = (1 - confidence) / 2
    low = _least_chance(successes, trials, outside)
    high = 1 - _least_chance(trials - successes, trials, outside)
    return Estimate(successes / trials, low, high, n=trials)


def group_values(values: Iterable[tuple[Hashable, T]]) -> list[list[T]]:
    """Values by the group they are of, without its name."""
    groups: dict[Hashable, list[T]] = {}
    for group, value in values:
        groups.setdefault(group, []).append(value)
    return list(groups.values())


def clustered_share(
    tasks: Iterable[Sequence[float]], confidence: float = 0.95, noun: str = ""
) -> Estimate:
    """A share over tasks that were each tried a few times, every try between 0 and 1; `n` counts tasks.

    The interval is Korn and Graubard's (1998): that of `exact_share` on as many trials as the tries are worth, which
    the variance between tasks says, corrected for how few tasks say it: Satterthwaite's (1946) degrees of freedom,
    which follow the tasks' sizes. Each end allows for a quarter of a task that came out wholly the other way and was
    not seen. Never more than the tries, and never fewer than the tasks, counted as if all were tried equally often
    (Kish 1965). Tasks so few that even all of them agreeing could be chance count once each. With one try a task it
    is `exact_share`. Where a `noun` says what tasks are, a single one has no interval.
    """
    found = pooled_share([(sum(tries), len(tries)) for tries in tasks if tries], confidence)
    if not noun or found.n != 1:
        return found
    reason = f"an interval needs two {noun}s or more, there is one {noun}"
    return Estimate(found.value, n=1, reason=reason)


def even_share_test(tasks: Iterable[Sequence[float]], level: float) -> Test:
    """Whether a share could be one half, by the interval of `clustered_share`: p is where it begins to leave that out.

    Found in steps of 2 % from `level`, so that p is at most `level` exactly where the interval of that level leaves
    one half out. One task alone shows nothing.
    """
    tried = [(sum(tries), len(tries)) for tries in tasks if tries]
    if len(tried) < 2:
        return Test(1.0, n=1) if tried else Test(None, reason="there was nothing to count")

    def leaves_out(step: int) -> bool:
        found = pooled_share(tried, 1 - level * _STEP**step)
        return not (found.low or 0.0) <= 0.5 <= (found.high or 0.0)

    low, high = _LEAST_STEP, ceil(-log(level) / log(_STEP))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if leaves_out(middle) else (middle + 1, high)
    share = pooled_share(tried)
    return Test(min(1.0, level * _STEP**low), statistic=share.value, n=share.n)


def bounded_mean(
    values: Sequence[float], lowest: int, highest: int, confidence: float = 0.95
) -> Estimate:
    """The mean of values on a scale of whole numbers: a share of the way up, by `clustered_share`."""
    steps = highest - lowest
    found = pooled_share([(each - lowest, steps) for each in values], confidence)
    if found.value is None or found.low is None or found.high is None:
        return Estimate(None, reason="needs one value or more, there is none")
    middle = fmean(values)
    if len(values) < 2:
        return Estimate(middle, n=1, reason="an interval needs two values or more, there is one")
    low, high = lowest + steps * found.low, lowest + steps * found.high
    return Estimate(middle, min(low, middle), max(high, middle), n=len(values))


def pooled_share(tried: Sequence[tuple[float, int]], confidence: float = 0.95) -> Estimate:
    """What `clustered_share` gives, from the successes and the tries of each task."""
    trials = sum(count for _, count in tried)
    if not trials:
        return Estimate(None, reason="there was nothing to count")
    found = sum(total for total, _ in tried) / trials
    squares = sum(count**2 for _, count in tried)
    least, alike = trials**2 / squares, squares**2 / sum(count**4 for _, count in tried)
    outside = (1 - confidence) / 2
    variance = few = 0.0
    if 0.5**least < outside:
        # A large task pulls the share towards itself, so that it seems to differ less than it does.
        parts = ((total - n * found) ** 2 / (1 - n / trials) for total, n in tried)
        variance = sum(parts) / trials**2
        few = (student_t(trials - 1, outside) / student_t(alike - 1, outside)) ** 2

    def low_end(share: float) -> float:
        if not share:
            return 0.0
        wide = variance + (_UNSEEN * share) ** 2 / (least * alike)
        worth = min(float(trials), max(least, few * share * (1 - share) / wide))
        return _least_chance(share * worth, worth, outside)

    # Rounding must not push the share itself out of its interval.
    low, high = min(found, low_end(found)), max(found, 1 - low_end(1 - found))
    return Estimate(found, low, high, n=len(tried))


def cohens_h(one: float, other: float) -> float:
    """How far two shares lie apart as a difference of angles (Cohen 1988): 0.2 small, 0.5 medium, 0.8 large."""
    if not (0 <= one <= 1 and 0 <= other <= 1):
        raise ValueError(f"shares lie between 0 and 1, not {one} and {other}")
    return 2 * asin(sqrt(one)) - 2 * asin(sqrt(other))


def sign_test(wins: int, losses: int) -> Test:
    """Whether wins and losses could be tosses of a fair coin: two-sided, exact (Dixon and Mood 1946)."""
    _check_counts(wins, losses)
    if not wins + losses:
        return Test(None, reason="needs one win or loss, there is none")
    n, tail = wins + losses, sum(comb(wins + losses, few) for few in range(min(wins, losses) + 1))
    return Test(min(1.0, 2 * tail / (1 << n)), statistic=float(wins), n=n)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The p-values adjusted for being several (Holm 1979); None stays None and does not count."""
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for before, (p, at) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - before) * p))
        adjusted[at] = largest
    return adjusted


def enough_repeats(strategies: int) -> int:
    """The smallest number of repeats in which one strategy can be shown to be best, if it wins every one of them.

    Signs are flipped repeat by repeat, so the smallest p is 2 / 2**repeats, and it is corrected for all pairs.
    """
    pairs = strategies * (strategies - 1) // 2
    return ceil(log2(2 * pairs / BEYOND_CHANCE))


@lru_cache(1024)
def student_t(freedom: float, tail: float) -> float:
    """What Student's t exceeds with probability `tail`."""
    share = _beta_quantile(2 * tail, freedom / 2, 0.5)
    return sqrt(freedom * (1 - share) / share)


def _least_chance(successes: float, trials: float, tail: float) -> float:
    """The chance of success under which so many successes or more are as rare as `tail`."""
    return _beta_quantile(tail, successes, trials - successes + 1) if successes else 0.0


@lru_cache(4096)
def _beta_quantile(p: float, a: float, b: float) -> float:
    """Where the Beta distribution reaches `p`, by Newton's method. By hand, so that a run need not load SciPy."""
    low, high, x = 0.0, 1.0, a / (a + b)
    while high - low > 1e-15:
        over = _beta(x, a, b) - p
        low, high = (low, x) if over > 0 else (x, high)
        slope = _beta_density(x, a, b)
        step = over / slope if slope else 0.0
        if slope and abs(step) < 1e-13 * x:
            break
        # Out of its bounds, or flat: halved instead.
        x = x - step if slope and low < x - step < high else (low + high) / 2
    return x


def _beta_density(x: float, a: float, b: float) -> float:
    ways = lgamma(a + b) - lgamma(a) - lgamma(b)
    return exp(ways + (a - 1) * log(x) + (b - 1) * log(1 - x))


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function: for whole a, a binomial tail (a or more of a + b - 1)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    ends = _beta_density(x, a, b) * x * (1 - x)
    # Its continued fraction, by Lentz's method.
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1 / (1 + step * d)
            c = 1 + step / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return ends * fraction / a


def _check_counts(one: float, other: float) -> None:
    if not (one >= 0 and other >= 0):
        raise ValueError(f"counts are 0 or more, not {one} and {other}")


def longer_preferred(comparisons: Iterable[tuple[Hashable, float, float]]) -> Estimate:
    """How often the longer of two texts won; draws and texts of equal length say nothing and are left out.

    A comparison is its cluster, 1, 0.5 or 0 for the first text, and how much longer that is. Those of one cluster, a
    ballot say, hang together; `n` counts clusters, and the interval rests on them.
    """
    decided = (each for each in comparisons if each[1] != 0.5 and each[2])
    return clustered_share(
        group_values((unit, float((won > 0.5) == (more > 0))) for unit, won, more in decided)
    )
