"""Simulated loops decide as the loop does, and the table of rules is what was published."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.keep_rules.simulation import decide_all, effects
from benchmarks.keep_rules.study import WAYS, WORLDS, fill_cell
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.artifacts.acceptance import Effect, KeepRule, Noise, effect_of

steady = settings(derandomize=True, deadline=None)
BY_NAME = {way.name: way for way in WAYS}
GAINS = {world.name: world for world in WORLDS}
rules = st.builds(
    KeepRule,
    evaluations=st.integers(1, 5),
    drop=st.sampled_from([-np.inf, -0.25, 0.0]),
    keep_first=st.sampled_from([1.0, 2.3, np.inf]),
    keep_last=st.sampled_from([0.0, 1.0]),
)
numbers = st.floats(-5, 5, allow_nan=False)


@steady
@given(rules, numbers, st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 6), st.floats(0, 2))
def test_many_are_decided_as_one_is(
    rule: KeepRule, value: float, error: float, evaluations: int, floor: float
) -> None:
    effect = Effect(value=value, error=error, evaluations=evaluations, against=4)
    columns = (np.array([float(each)]) for each in (value, error, evaluations, floor))
    keep, drop = decide_all(rule, *columns)
    decision = "keep" if keep[0] else "drop" if drop[0] else "again"
    assert decision == rule.decide(effect, Noise(spread=1.0), floor)


@steady
@given(
    st.dictionaries(st.integers(0, 7), numbers, min_size=1, max_size=4),
    st.dictionaries(st.integers(0, 7), numbers, min_size=1, max_size=8),
    st.floats(0, 1),
)
def test_many_effects_are_measured_as_one_is(
    candidate: dict[int, float], incumbent: dict[int, float], correlation: float
) -> None:
    one = effect_of(candidate, incumbent, Noise(spread=2.0, correlation=correlation))
    shared = [incumbent[evaluation] for evaluation in candidate.keys() & incumbent.keys()]

    def summed(values: list[float]) -> tuple[np.ndarray, np.ndarray]:
        return np.array([sum(values)]), np.array([float(len(values))])

    value, error = effects(
        np.array([2.0]),
        np.array([correlation]),
        summed(list(candidate.values())),
        summed(list(incumbent.values())),
        summed(shared),
    )
    assert value[0] == pytest.approx(one.value, abs=1e-9)
    assert error[0] == pytest.approx(one.error, abs=1e-6)


@pytest.mark.parametrize(
    ("way", "world", "quality", "gap"),
    [
        ("greedy", "small gains", 0.42, 2.67),
        ("greedy", "none helps", -0.38, 2.70),
        ("floor of two runs", "gains", 1.20, 1.73),
        ("Ladder", "gains", 1.31, 0.0),
        ("3 repeats", "small gains", 0.23, 0.0),
        ("strict race", "gains", 2.63, 0.0),
        ("race to 4", "gains", 4.00, 0.0),
    ],
)
def test_rules_deliver_and_claim_what_was_published(
    way: str, world: str, quality: float, gap: float
) -> None:
    cell = fill_cell(GAINS[world], BY_NAME[way], 200, 1000, 1)
    # Both figures have their error.
    reach = 1.3 * (cell.quality.high - cell.quality.low)
    assert cell.quality.value == pytest.approx(quality, abs=0.03 + reach)
    assert cell.gap.value == pytest.approx(gap, abs=0.12)
