"""The winner's curse: what kept changes are worth in the light of all that were tried. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import erfc, exp, pi, sqrt
from statistics import median
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoreason.research.trial_events import Effect, TrialDecided

_IDLE, _OTHER = 4.0, 0.5
"""What is assumed before any trial, in trials: so many do nothing, and so many are of each size and sign."""
_ROUNDS, _STEPS = 3, 30


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


def correct_keeps(trials: Sequence[TrialDecided]) -> CorrectedKeeps:
    """What keeps are worth, given every change that was measured, kept or not.

    Empirical Bayes after Stephens (2017): effects are a mixture of nothing and of half-normals of several
    sizes to either side, whose shares are those that make all trials likeliest. When to stop looking depended
    on the looks alone, which does not change what they say. The looks that an incumbent was kept with flatter
    it by what shrinking takes away, so trials against it are given that back.
    """
    measured = [trial for trial in trials if trial.effect is not None]
    effects = {trial.number: trial.effect for trial in measured if trial.effect is not None}
    keeps = [trial.number for trial in measured if trial.status == "kept"]
    worth = {number: effects[number].value for number in keeps}
    noisy = [effect for effect in effects.values() if effect.error > 0]
    if not noisy:
        return CorrectedKeeps(effects=tuple(worth.values()), idle=0.0)
    kinds = _kinds(noisy)
    idle = 0.0
    for _ in range(_ROUNDS):
        seen = {
            trial.number: _without_flattery(effects, worth, trial.number, trial.incumbent)
            for trial in measured
        }
        shares = _fit([seen[number] for number in effects if effects[number].error], kinds)
        found = {number: _correct(seen[number], kinds, shares) for number in keeps}
        worth = {number: each.mean for number, each in found.items()}
        idle = sum(each.idle for each in found.values())
    return CorrectedKeeps(effects=tuple(worth.values()), idle=idle)


def _without_flattery(
    effects: Mapping[int, Effect], worth: Mapping[int, float], number: int, incumbent: int
) -> Effect:
    """A trial's effect, had its incumbent's record begun after it was kept."""
    effect, before = effects[number], effects.get(incumbent)
    if before is None or incumbent not in worth:
        return effect
    # Of what was luck, the part of the looks at the candidate; of the record, the part that those looks are.
    luck = (before.value - worth[incumbent]) * before.against / (before.looks + before.against)
    return replace(effect, value=effect.value + luck * min(1.0, before.looks / effect.against))


class _Corrected(NamedTuple):
    mean: float
    idle: float
    """How likely it is to do nothing or to harm."""


def _correct(effect: Effect, kinds: Sequence[_Kind], shares: Sequence[float]) -> _Corrected:
    exact = _Corrected(effect.value, float(effect.value <= 0))
    if not effect.error:
        return exact
    found = [_posterior(effect.value, effect.error, kind) for kind in kinds]
    weights = [share * each.likelihood for share, each in zip(shares, found, strict=True)]
    total = sum(weights)
    # So far from all others that no kind reaches it: there is no doubt about it.
    if not total:
        return exact
    mean = sum(weight * each.mean for weight, each in zip(weights, found, strict=True)) / total
    idle = sum(weight for weight, kind in zip(weights, kinds, strict=True) if kind.sign <= 0)
    return _Corrected(mean, idle / total)


def _kinds(effects: Sequence[Effect]) -> list[_Kind]:
    """From a fraction of the noise to the largest effect that was seen."""
    size = median(effect.error for effect in effects) / 4
    largest = max(abs(effect.value) for effect in effects)
    sizes = [size]
    while sizes[-1] < max(largest, 8 * size):
        sizes.append(2 * sizes[-1])
    return [_Kind(0, 0.0), *(_Kind(sign, each) for each in sizes for sign in (-1, 1))]


def _fit(seen: Sequence[Effect], kinds: Sequence[_Kind]) -> list[float]:
    """The shares of kinds, by expectation and maximisation."""
    assumed = [_OTHER if kind.sign else _IDLE for kind in kinds]
    shares = [each / sum(assumed) for each in assumed]
    rows = [
        [_posterior(each.value, each.error, kind).likelihood for kind in kinds] for each in seen
    ]
    for _ in range(_STEPS):
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
