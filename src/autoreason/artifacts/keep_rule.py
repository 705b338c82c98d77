"""Which changes are kept: a race of few looks against an incumbent whose record is a mean. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil, hypot, sqrt
from statistics import fmean
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autoreason.artifacts.trial_events import Effect

Looks = Mapping[int, float]
"""Values by the number of the look, higher is better; two artifacts' looks of one number share seed and items."""
Decision = Literal["look", "keep", "drop"]
SHRINK_PAIRS = 6
"""A correlation shown by so many degrees of freedom is believed by half."""
_REPEATED = 2
"""Looks that show how much looks differ."""
_PAIRED_FROM = 0.2
"""The correlation from which an effect is called one of pairs."""


class KeepRule(Struct, frozen=True, kw_only=True):
    """When a candidate is dropped, kept, or looked at again; thresholds are in standard errors."""

    looks: int = 3
    drop: float = -0.25
    keep_first: float = 2.3
    """After the first look."""
    keep_later: float = 1.64
    keep_last: float = 0.0
    """After the last look: ahead is enough, for a change that does nothing costs nothing."""
    incumbent_least: int = 3
    """Looks that an incumbent has before any candidate is decided."""
    incumbent_ratio: float = 1
    """The incumbent is measured until it has so many times the candidate's looks."""
    incumbent_every: int = 2
    """And once more after so many trials that it survives: what stays long may have been lucky."""
    incumbent_looks: int = 8
    """But no more than this."""
    step: float = 1.0
    """On a fixed set of items, the standard errors over its items that a gain must exceed."""
    drawn: bool = False
    """Items are drawn for each look, so that equal numbers do not show that there is no noise."""

    def on_fixed_set(self) -> KeepRule:
        """The rule where every look sees the same items, so that looking again does not help."""
        return replace(
            self,
            keep_first=max(self.keep_first, self.step),
            keep_later=max(self.keep_later, self.step),
            keep_last=max(self.keep_last, self.step),
        )

    def incumbent_needs(self, looks: int, survived: int = 0, *, noisy: bool = True) -> int:
        """The looks an incumbent must have before a candidate with so many is decided, after so many trials.

        Without noise a second look shows that a new incumbent has none either.
        """
        if not noisy and not self.drawn:
            return min(self.incumbent_looks, _REPEATED)
        needs = max(self.incumbent_least, ceil(self.incumbent_ratio * looks))
        return min(self.incumbent_looks, needs + survived // self.incumbent_every)

    def decide(self, effect: Effect, noise: Noise, floor: float = 0.0) -> Decision:
        """What becomes of a candidate; a gain that does not exceed the floor is none."""
        if effect.error == 0:
            if self.drawn and effect.looks < self.looks and effect.value >= 0:
                return "look"
            return "keep" if effect.value > floor else "drop"
        z = effect.value / effect.error
        if z < self.drop:
            return "drop"
        ahead = effect.value > floor
        if ahead and z > (self.keep_first if effect.looks == 1 else self.keep_later):
            return "keep"
        if effect.looks < self.looks and noise.spread:
            return "look"
        return "keep" if ahead and z > self.keep_last else "drop"


class Noise(Struct, frozen=True, kw_only=True):
    """How much looks at one artifact differ, and how alike two artifacts' looks with one seed are."""

    spread: float = 0.0
    """Standard deviation of one look, pooled over every artifact that was measured more than once."""
    freedom: int = 0
    correlation: float = 0.0
    """Shrunken to 0 by how few pairs show it."""


class NoiseSums(Struct, frozen=True, kw_only=True):
    """What the noise is worked out from, in a form to which looks can be added."""

    squares: float = 0.0
    freedom: int = 0
    products: float = 0.0
    candidates: float = 0.0
    incumbents: float = 0.0
    pairs: int = 0

    def with_looks(self, values: Collection[float]) -> NoiseSums:
        """With the looks at one artifact."""
        if len(values) < _REPEATED:
            return self
        return replace(
            self, squares=self.squares + _squares(values), freedom=self.freedom + len(values) - 1
        )

    def with_pairs(self, pairs: Collection[tuple[float, float]]) -> NoiseSums:
        """With a trial's pairs of looks: what both differ by on average says nothing about their seeds."""
        if len(pairs) < _REPEATED:
            return self
        first, second = (mean_of(column) for column in zip(*pairs, strict=True))
        return replace(
            self,
            products=self.products + sum((a - first) * (b - second) for a, b in pairs),
            candidates=self.candidates + sum((a - first) ** 2 for a, _ in pairs),
            incumbents=self.incumbents + sum((b - second) ** 2 for _, b in pairs),
            pairs=self.pairs + len(pairs) - 1,
        )

    @property
    def noise(self) -> Noise:
        """As far as it is known."""
        size = sqrt(self.candidates * self.incumbents)
        shown = min(1.0, max(0.0, self.products / size)) if size else 0.0
        return Noise(
            spread=sqrt(self.squares / self.freedom) if self.freedom else 0.0,
            freedom=self.freedom,
            correlation=shown * self.pairs / (self.pairs + SHRINK_PAIRS),
        )


def measure_noise(
    repeated: Iterable[Sequence[float]], pairs: Iterable[Sequence[tuple[float, float]]] = ()
) -> Noise:
    """The noise, from each artifact's looks, and from each trial's pairs of looks (candidate, incumbent)."""
    sums = NoiseSums()
    for values in repeated:
        sums = sums.with_looks(values)
    for trial in pairs:
        sums = sums.with_pairs(trial)
    return sums.noise


def mean_of(values: Iterable[float]) -> float:
    """The mean; of equal numbers that number itself, because rounding is not noise."""
    values = list(values)
    return values[0] if min(values) == max(values) else fmean(values)


def _squares(values: Collection[float]) -> float:
    mean = mean_of(values)
    return sum((value - mean) ** 2 for value in values)


def effect_of(candidate: Looks, incumbent: Looks, noise: Noise, over_items: float = 0.0) -> Effect:
    """The candidate's mean over the incumbent's, less the luck of the looks that both share.

    The more alike looks of one number are, the more it is a difference of pairs; without correlation it is one of
    means. `over_items` is the standard error over the items of a fixed set, which looking again does not reduce.
    """
    shared = candidate.keys() & incumbent.keys()
    looks, against, pairs = len(candidate), len(incumbent), len(shared)
    record = mean_of(incumbent.values())
    value = mean_of(candidate.values()) - record
    weight = noise.correlation * pairs / looks
    variance = 1 / looks + 1 / against
    if pairs:
        # What the incumbent's shared looks say beyond its others is luck, of which the candidate has its part.
        value -= weight * (mean_of(incumbent[look] for look in shared) - record)
        variance -= 2 * weight / against + weight**2 * (1 / pairs - 1 / against)
    return Effect(
        value=value,
        error=hypot(noise.spread * sqrt(max(0.0, variance)), over_items),
        looks=looks,
        against=against,
        paired=weight > _PAIRED_FROM,
    )


def pairs_of(candidate: Looks, incumbent: Looks) -> list[tuple[float, float]]:
    """The looks of both that share seed and items."""
    return [
        (candidate[look], incumbent[look]) for look in sorted(candidate.keys() & incumbent.keys())
    ]


def over_items(differences: Iterable[Sequence[float]]) -> float:
    """The standard error of a mean difference over the items of a fixed set, from each item's differences."""
    by_item = [mean_of(each) for each in zip(*differences, strict=True)]
    number = len(by_item)
    return sqrt(_squares(by_item) / (number - 1) / number) if number > 1 else 0.0
