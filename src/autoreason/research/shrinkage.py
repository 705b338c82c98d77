"""The winner's curse: what kept changes are worth in the light of all that were tried. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import erfc, exp, pi, sqrt
from statistics import median
from typing import NamedTuple

from msgspec import Struct

from autoreason.research.trial_events import Effect

_SCALES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Sizes that effects may have, in standard errors of a first look."""
_IDLE, _OTHER = 4.0, 0.5
"""What is assumed before any trial, in trials: so many do nothing, and so many are of each size and sign."""
_ROUNDS = 40


class CorrectedKeeps(Struct, frozen=True, kw_only=True):
    """Keeps without the luck they were kept for."""

    effects: tuple[float, ...]
    """What each is worth on average among changes that looked as good."""
    idle: float
    """How many of them are expected to do nothing or to harm."""


class _Kind(NamedTuple):
    """Effects of one sign and size: half of a normal distribution; size 0 does nothing."""

    sign: int
    size: float


class _Posterior(NamedTuple):
    likelihood: float
    mean: float


def correct_keeps(keeps: Sequence[Effect], first_looks: Iterable[Effect]) -> CorrectedKeeps:
    """What keeps are worth, given the first looks at every change that was measured, kept or not.

    Empirical Bayes after Stephens (2017): effects are a mixture of nothing and of half-normals of several
    sizes to either side, whose shares are those that make all first looks likeliest.
    """
    seen = [each for each in first_looks if each.error > 0]
    noisy = [each.error for each in (*seen, *keeps) if each.error > 0]
    if not noisy:
        return CorrectedKeeps(effects=tuple(each.value for each in keeps), idle=0.0)
    unit = median(noisy)
    sizes = [unit * scale for scale in _SCALES]
    largest = max((abs(each.value) for each in seen), default=0.0)
    while sizes[-1] < largest:
        sizes.append(2 * sizes[-1])
    kinds = [_Kind(0, 0.0), *(_Kind(sign, size) for size in sizes for sign in (-1, 1))]
    shares = _fit(seen, kinds)
    effects, idle = [], 0.0
    for keep in keeps:
        if not keep.error:
            effects.append(keep.value)
            continue
        found = [_posterior(keep.value, keep.error, kind) for kind in kinds]
        weights = [share * each.likelihood for share, each in zip(shares, found, strict=True)]
        total = sum(weights)
        if not total:
            effects.append(keep.value)
            continue
        effects.append(
            sum(weight * each.mean for weight, each in zip(weights, found, strict=True)) / total
        )
        idle += (
            sum(weight for weight, kind in zip(weights, kinds, strict=True) if kind.sign <= 0)
            / total
        )
    return CorrectedKeeps(effects=tuple(effects), idle=idle)


def _fit(seen: Sequence[Effect], kinds: Sequence[_Kind]) -> list[float]:
    """The shares of kinds, by expectation and maximisation."""
    assumed = [_OTHER if kind.sign else _IDLE for kind in kinds]
    shares = [each / sum(assumed) for each in assumed]
    rows = [
        [_posterior(each.value, each.error, kind).likelihood for kind in kinds] for each in seen
    ]
    for _ in range(_ROUNDS if rows else 0):
        counts = list(assumed)
        for row in rows:
            weights = [share * likelihood for share, likelihood in zip(shares, row, strict=True)]
            total = sum(weights)
            if total:
                counts = [
                    count + weight / total for count, weight in zip(counts, weights, strict=True)
                ]
        shares = [count / sum(counts) for count in counts]
    return shares


def _posterior(value: float, error: float, kind: _Kind) -> _Posterior:
    """How likely an effect of this kind is to look so, and what it is then on average."""
    if not kind.sign:
        return _Posterior(_density(value / error) / error, 0.0)
    towards = kind.sign * value
    both = error**2 + kind.size**2
    scale = kind.size * error / sqrt(both)
    place = towards * kind.size**2 / both / scale
    inside = _above(-place)
    likelihood = 2 * _density(value / sqrt(both)) / sqrt(both) * inside
    # Far on the wrong side the mean is close to 0 and the quotient is not to be had.
    mean = scale * (place + _density(place) / inside) if inside > 1e-12 else 0.0
    return _Posterior(likelihood, kind.sign * mean)


def _density(z: float) -> float:
    return exp(-z * z / 2) / sqrt(2 * pi)


def _above(z: float) -> float:
    return erfc(z / sqrt(2)) / 2
