"""How likely chance alone is to give as large a sum. Standard library only."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import exp, fsum, pi, sqrt
from operator import itemgetter
from random import Random
from statistics import NormalDist, fmean
from typing import NamedTuple

from autoreason.stats import Estimate, counted

Part = tuple[tuple[complex, float], ...]
"""What one independent part may come to, and how likely each of it is; two numbers are one complex number."""

_WORK = 50_000
"""Steps up to which a distribution is worked out exactly."""
_RESAMPLES = 600
_DIGITS, _CLOSE = 9, 1e-9
_NORMAL = NormalDist()


class Moments(NamedTuple):
    mean: float
    variance: float
    third: float


def as_part(chances: Mapping[complex, float]) -> Part:
    """A part by its values; the order in which they were found makes no difference."""
    return tuple(sorted(chances.items(), key=lambda item: (item[0].real, item[0].imag)))


def flips(scores: Iterable[float]) -> list[Part]:
    """Every score with either sign, as likely one as the other (Fisher 1935)."""
    return [((-abs(score), 0.5), (abs(score), 0.5)) for score in scores if score]


def more_than_chance(parts: Sequence[Part], observed: float) -> float:
    """How likely parts are to come to `observed` or more together; without a part nothing is unlikely."""
    if not parts:
        return 1.0
    exact = distribution(parts)
    if exact is None:
        return _approximate(moments(parts), observed)
    return min(1.0, fsum(p for value, p in exact.items() if value.real >= observed - _CLOSE))


def unlike_chance(parts: Sequence[Part], observed: float) -> float:
    """Two-sided: twice the chance of as much or more, or of as little or less, whichever is smaller."""
    mirrored = [as_part({-value: p for value, p in each}) for each in parts]
    more, less = more_than_chance(parts, observed), more_than_chance(mirrored, -observed)
    return min(1.0, 2 * min(more, less))


def distribution(parts: Sequence[Part]) -> Mapping[complex, float] | None:
    """What the sum may come to, exactly; None where that takes too long."""
    return None if len(parts) ** 2 > _WORK else _sums(frozenset(Counter(parts).items()))


@lru_cache(16)
def _sums(parts: frozenset[tuple[Part, int]]) -> Mapping[complex, float] | None:
    so_far: dict[complex, float] = {0.0: 1.0}
    work = 0
    ends = {end for each, _ in parts for value, _ in each for end in (value.real, value.imag)}
    whole = all(float(end).is_integer() for end in ends)
    # Small parts first, which is quickest; sorted, so that rounding does not depend on the order of the parts.
    for each, times in sorted(parts, key=lambda item: (len(item[0]), str(item[0]))):
        for _ in range(times):
            work += len(so_far) * len(each)
            if work > _WORK:
                return None
            further: defaultdict[complex, float] = defaultdict(float)
            for more, q in each:
                for value, p in so_far.items():
                    total = value + more
                    # Sums that differ by rounding alone are one.
                    further[total if whole else _rounded(total)] += p * q
            so_far = further
    return so_far


def moments(parts: Iterable[Part]) -> Moments:
    found = []
    for each, times in Counter(parts).items():
        mean = fsum(value.real * p for value, p in each)
        central = [(value.real - mean, p) for value, p in each]
        second, third = (fsum(c**power * p for c, p in central) for power in (2, 3))
        found.append((times * mean, times * second, times * third))
    return Moments(*(fsum(column) for column in zip(*found, strict=True)))


def resampled_mean(clusters: Sequence[Sequence[float]]) -> Estimate:
    """The mean over all values with its 95 % percentile interval, whole clusters drawn again (Efron 1979)."""
    kept = sorted((fsum(cluster), len(cluster)) for cluster in clusters if cluster)
    if not kept:
        return Estimate(None, reason="needs one value or more, there is none")
    n = len(kept)
    value = fsum(total for total, _ in kept) / sum(size for _, size in kept)
    if n < 2:
        return Estimate(value, n=n, reason=f"an interval needs two, {counted(n, 'value')}")
    totals, sizes = zip(*kept, strict=True)
    means = [sum(of(totals)) / sum(of(sizes)) for of in _resamples(n)]
    means.sort()
    outside = _RESAMPLES // 40
    return Estimate(value, means[outside], means[-1 - outside], n=n)


@lru_cache(4)
def _resamples(n: int) -> list[itemgetter[tuple[float, ...]]]:
    """What draws `n` values with replacement, the same ones every time."""
    rng = Random(0)
    return [itemgetter(*rng.choices(range(n), k=n)) for _ in range(_RESAMPLES)]


def centred(values: Sequence[float], mean: float, variance: float) -> Part:
    """A sample as a part with the mean and the variance it is known to have."""
    middle = fmean(values)
    scale = sqrt(variance / fmean((value - middle) ** 2 for value in values))
    counts = Counter(_rounded(mean + (value - middle) * scale) for value in values)
    return as_part({value: times / len(values) for value, times in counts.items()})


def _approximate(of: Moments, observed: float) -> float:
    """The normal tail with one term for skewness (Edgeworth 1905)."""
    if not of.variance:
        return float(observed <= of.mean + _CLOSE)
    deviation = sqrt(of.variance)
    z, skewness = (observed - of.mean) / deviation, of.third / deviation**3
    density = exp(-z * z / 2) / sqrt(2 * pi)
    tail = _NORMAL.cdf(-z) + skewness / 6 * (z * z - 1) * density
    # Far out the correction can exceed the tail itself.
    return min(1.0, max(tail, _NORMAL.cdf(-z) / 10))


def _rounded(value: complex) -> complex:
    if value.imag:
        return complex(round(value.real, _DIGITS), round(value.imag, _DIGITS))
    return round(value.real, _DIGITS)
