"""Simulated loops decide as the loop does, and the table of rules is what was published."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.keep_rules.search import (
    FAMILIES,
    OTHER_CASES,
    search_rules,
    settings_of,
)
from benchmarks.keep_rules.simulation import (
    ResearchWorld,
    Way,
    decide_all,
    effects,
    simulate,
    simulate_fixed_set,
)
from benchmarks.keep_rules.study import WAYS, WORLDS, fill_cell, study_rules
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


def test_the_budget_includes_everything() -> None:
    for evaluations in (60, 200):
        for way in WAYS:
            played = simulate(GAINS["gains"], way, evaluations, 20, 3)
            trials = played.trials
            for run in range(20):
                assert trials.evaluations[trials.run == run].sum() <= evaluations
    costly = ResearchWorld(name="costly", about="", price=2)
    few = simulate(costly, Way(name="race"), 100, 50, 1).proposals.mean()
    assert few < simulate(GAINS["gains"], Way(name="race"), 100, 50, 1).proposals.mean() / 1.5


def test_on_a_fixed_set_no_step_makes_the_number_on_it_believable() -> None:
    found = {}
    for step in (0.0, 1.0, 2.3):
        quality, claimed = simulate_fixed_set(
            GAINS["small gains"], KeepRule(step=step), 200, 400, 1
        )
        assert claimed.mean() > quality.mean() + 2
        found[step] = quality.mean()
    assert found[1.0] == pytest.approx(1.4, abs=0.3)
    assert found[2.3] == pytest.approx(0.4, abs=0.2)
    assert found[1.0] > found[2.3] > found[0.0]


def test_a_study_reports_every_rule_in_every_world() -> None:
    report = study_rules(60, 10, 1, worlds=WORLDS[1:3], ways=WAYS[-2:])
    assert [(cell.world, cell.rule) for cell in report.cells] == [
        (world, way) for world in ("small gains", "gains") for way in ("race, no playoff", "race")
    ]
    text = report.to_text(80)
    assert "false keeps" in text
    assert "step 1" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_best_of_every_family_and_the_default_are_judged_where_none_was_tuned() -> None:
    report = search_rules(20, 2, 4, 1, processes=1)
    assert len(report.rules) == len(FAMILIES) + 1
    assert report.rules == sorted(report.rules, key=lambda rule: rule.worst_shortfall)
    assert report.conclusion.startswith(f"{report.rules[0].name} falls short the least at worst")
    assert "race, the default" in report.conclusion
    assert not {case.world for case in OTHER_CASES} & set(WORLDS)
    for rule in report.rules:
        assert list(rule.quality) == [case.world.name for case in OTHER_CASES]
        assert 0 <= rule.mean_shortfall <= rule.worst_shortfall


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_as_many_tries_and_the_same_seed_draws_the_same(family: Any) -> None:
    ways = settings_of(family, 8, 1)
    assert ways == settings_of(family, 8, 1)
    assert 1 < len(ways) <= 8
