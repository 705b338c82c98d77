"""Two strategies on the same problems: whether one is better, by how much, and what would have shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

from autoreason.stats.results import BEYOND_CHANCE, Estimate, Test
from autoreason.stats.shares import cohens_h, holm, mcnemar, paired_gain

Outcomes = Mapping[str, Sequence[bool]]
"""Whether each repeat succeeded, by problem."""
_ALPHA = 0.05


class StrategyDuel(Struct, frozen=True, kw_only=True):
    """One strategy against another, on the problems that both have a result for."""

    first: str
    second: str
    problems: int
    first_share: float | None
    """The share of them that `first` solved."""
    second_share: float | None
    wins: int
    """Problems that `first` solved more often."""
    losses: int
    """Problems that `second` solved more often."""
    difference: Estimate
    """Of the shares, `first` less `second`; the intervals of all pairs hold together, as the corrected tests do."""
    test: Test
    p_value_adjusted: float | None = None
    """The test's p, corrected for how many pairs were tested."""
    cohens_h: float | None
    """Cohen's h between the shares."""
    detectable: Estimate
    """The smallest difference that so many problems would show four times out of five."""

    @property
    def ahead(self) -> str | None:
        """The strategy that solved more; None where neither did."""
        by = self.difference.value
        return (self.first if by > 0 else self.second) if by else None

    @property
    def behind(self) -> str | None:
        """The strategy that solved less; None where neither did."""
        return {self.first: self.second, self.second: self.first}.get(self.ahead or "")

    @property
    def beyond_chance(self) -> bool:
        """Whether one is ahead by more than chance gives."""
        return (
            self.ahead is not None
            and self.p_value_adjusted is not None
            and self.p_value_adjusted <= BEYOND_CHANCE
        )


def duels(names: Sequence[str], outcomes: Mapping[str, Outcomes]) -> tuple[StrategyDuel, ...]:
    """Every pair of strategies, with tests corrected for their number (Holm)."""
    pairs = list(combinations(names, 2))
    uncorrected = [
        _duel(one, other, outcomes[one], outcomes[other], len(pairs)) for one, other in pairs
    ]
    corrected = holm([duel.test.p_value for duel in uncorrected])
    return tuple(
        replace(duel, p_value_adjusted=p) for duel, p in zip(uncorrected, corrected, strict=True)
    )


def _duel(one: str, other: str, first: Outcomes, second: Outcomes, pairs: int) -> StrategyDuel:
    both = [problem for problem in first if problem in second]
    shares, other_shares = ([fmean(each[p]) for p in both] for each in (first, second))
    by = [a - b for a, b in zip(shares, other_shares, strict=True)]
    repeated = any(len(each[problem]) > 1 for each in (first, second) for problem in both)
    share, other_share = (fmean(each) if each else None for each in (shares, other_shares))
    wins, losses = sum(each > 0 for each in by), sum(each < 0 for each in by)
    return StrategyDuel(
        first=one,
        second=other,
        problems=len(both),
        first_share=share,
        second_share=other_share,
        wins=wins,
        losses=losses,
        difference=paired_gain(by, 1 - _ALPHA / pairs),
        test=_flip_signs(by) if repeated else mcnemar(wins, losses),
        cohens_h=None if share is None or other_share is None else cohens_h(share, other_share),
        detectable=_detectable(by, repeated, _ALPHA / pairs),
    )


def _flip_signs(by: Sequence[float]) -> Test:
    """The test for problems that were tried several times: signs flipped problem by problem."""
    if not any(by):
        return Test(
            None, reason="needs a problem that one of the two solved more often, there is none"
        )
    from autoreason.stats.resampling import permutation_test

    return permutation_test(by)


def _detectable(by: Sequence[float], repeated: bool, alpha: float) -> Estimate:
    """At the level that the strictest of so many tests has to pass, for strategies that differ as these do."""
    n = len(by)
    if not n:
        return Estimate(None, reason="no problem has a verdict for both")
    if 2.0 ** (1 - n) > alpha:
        few = "1 problem is" if n == 1 else f"{n} problems are"
        return Estimate(None, n=n, reason=f"{few} too few for any difference to show")
    from autoreason.stats.power import detectable_difference, detectable_gain, least_gain

    spread = stdev(by) if repeated else fmean(abs(each) for each in by)
    if spread:
        estimate = detectable_difference if repeated else detectable_gain
        detectable = estimate(n, spread, alpha=alpha)
        if detectable.value is not None and detectable.value <= 1:
            return detectable
    # Strategies that hardly differ say little about what a difference would take.
    return least_gain(n, alpha=alpha)
