"""The rule that keeps: what it decides depends on effects in units of their noise, and on nothing else."""

from __future__ import annotations

from math import isclose
from time import process_time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autoreason.artifacts.keep_rule import (
    KeepRule,
    Noise,
    effect_of,
    measure_noise,
    over_items,
    pairs_of,
)
from autoreason.artifacts.trial_events import Effect

steady = settings(derandomize=True, deadline=None)
RULE = KeepRule()
values = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))
looks = st.dictionaries(st.integers(0, 9), values, min_size=1, max_size=8)
noises = st.builds(
    Noise, spread=st.floats(0.01, 10), freedom=st.just(4), correlation=st.floats(0, 0.95)
)


def ordered(decision: str) -> int:
    """Drop, look, keep."""
    return ("drop", "look", "keep").index(decision)


@steady
@given(looks, looks, noises, st.sampled_from([0.125, 0.5, 4.0, 64.0]), st.integers(-1000, 1000))
def test_decisions_do_not_depend_on_the_scale_or_the_zero_of_the_metric(
    candidate: dict[int, float],
    incumbent: dict[int, float],
    noise: Noise,
    scale: float,
    shift: int,
) -> None:
    def moved(looks: dict[int, float]) -> dict[int, float]:
        return {number: scale * value + shift for number, value in looks.items()}

    effect = effect_of(candidate, incumbent, noise)
    other_noise = Noise(
        spread=scale * noise.spread, freedom=noise.freedom, correlation=noise.correlation
    )
    other = effect_of(moved(candidate), moved(incumbent), other_noise)
    assert isclose(other.error, scale * effect.error, rel_tol=1e-9)
    assert isclose(other.value, scale * effect.value, abs_tol=1e-9 * scale * 2000)
    # Away from the thresholds, which rounding may cross.
    z = effect.value / effect.error
    bounds = (RULE.drop, RULE.keep_first, RULE.keep_later, RULE.keep_last)
    assume(all(abs(z - bound) > 1e-6 for bound in bounds))
    assert RULE.decide(effect, noise) == RULE.decide(other, other_noise)


@steady
@given(looks, looks, noises, st.integers(0, 7), st.floats(0, 50), st.floats(0, 5))
def test_a_candidate_that_looks_better_fares_no_worse(
    candidate: dict[int, float],
    incumbent: dict[int, float],
    noise: Noise,
    which: int,
    more: float,
    floor: float,
) -> None:
    number = sorted(candidate)[which % len(candidate)]
    better = candidate | {number: candidate[number] + more}
    before, after = (
        RULE.decide(effect_of(each, incumbent, noise), noise, floor) for each in (candidate, better)
    )
    assert ordered(after) >= ordered(before)


@steady
@given(looks, looks, noises, st.randoms(use_true_random=False))
def test_the_order_of_looks_makes_no_difference(
    candidate: dict[int, float], incumbent: dict[int, float], noise: Noise, random: st.DataObject
) -> None:
    def shuffled(looks: dict[int, float]) -> dict[int, float]:
        items = list(looks.items())
        random.shuffle(items)  # type: ignore[attr-defined]
        return dict(items)

    assert effect_of(shuffled(candidate), shuffled(incumbent), noise) == effect_of(
        candidate, incumbent, noise
    )


@steady
@given(values, st.floats(0, 10), st.integers(1, 9), st.floats(0, 100))
def test_nothing_at_or_below_the_floor_is_kept(
    value: float, error: float, number: int, floor: float
) -> None:
    effect = Effect(value=min(value, floor), error=error, looks=number, against=4)
    assert RULE.decide(effect, Noise(spread=error), floor) != "keep"


@steady
@given(values, st.floats(0.01, 10), st.integers(4, 9))
def test_the_last_look_decides(value: float, error: float, number: int) -> None:
    effect = Effect(value=value, error=error, looks=number, against=8)
    assert RULE.decide(effect, Noise(spread=error)) in ("keep", "drop")


@steady
@given(values, values)
def test_without_noise_one_look_decides(candidate: float, incumbent: float) -> None:
    effect = effect_of({0: candidate}, {0: incumbent}, Noise())
    assert RULE.decide(effect, Noise()) == ("keep" if candidate > incumbent else "drop")
    assert RULE.decide(effect, Noise(), floor=candidate - incumbent) == "drop"


def test_looks_that_share_seeds_are_worth_more_the_more_alike_they_are() -> None:
    candidate, incumbent = {6: 1.3, 7: 0.2}, {5: 0.4, 6: 1.0, 7: -0.1, 4: 0.7}
    errors = [
        effect_of(candidate, incumbent, Noise(spread=1, correlation=each)).error
        for each in (0.0, 0.5, 0.9, 0.99)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == pytest.approx((1 / 2 + 1 / 4) ** 0.5)
    alike = effect_of(candidate, incumbent, Noise(spread=1, correlation=1))
    assert alike.value == pytest.approx(0.3)
    assert alike.error == pytest.approx(0)
    assert alike.paired
    assert effect_of(candidate, incumbent, Noise(spread=1)).value == pytest.approx(0.25)


def test_a_correlation_is_believed_as_far_as_pairs_show_it() -> None:
    trial = [(0.0, 0.1), (1.0, 1.1)]
    few, many = (measure_noise([], [trial] * number).correlation for number in (1, 30))
    assert 0 < few < 0.2 < 0.8 < many < 1
    assert measure_noise([], [[(0.0, 1.0), (1.0, 0.0)]] * 9).correlation == 0
    assert measure_noise([], [[(0.0, 1.0)]]).correlation == 0


def test_noise_is_pooled_over_artifacts_that_were_looked_at_more_than_once() -> None:
    noise = measure_noise([[1.0, 3.0], [10.0], [5.0, 5.0, 5.0]])
    assert noise.freedom == 3
    assert noise.spread == pytest.approx((2 / 3) ** 0.5)
    assert measure_noise([[1.0]]) == Noise()


def test_an_incumbent_is_measured_as_its_candidates_are_but_not_for_ever() -> None:
    needs = [RULE.incumbent_needs(number) for number in range(1, 20)]
    assert needs == sorted(needs)
    assert needs[0] == RULE.incumbent_least
    assert needs[-1] == RULE.incumbent_looks
    stays = [RULE.incumbent_needs(1, trials) for trials in range(100)]
    assert (
        stays[: 2 * RULE.incumbent_every] == [3] * RULE.incumbent_every + [4] * RULE.incumbent_every
    )
    assert stays[-1] == RULE.incumbent_looks


def test_on_a_fixed_set_a_gain_must_exceed_one_standard_error_over_its_items() -> None:
    rule = RULE.on_fixed_set()
    error = over_items([[0.0, 1.0, 1.0, 0.0]])
    assert error == pytest.approx((1 / 3 / 4) ** 0.5)
    for times, decision in ((0.9, "drop"), (1.1, "keep")):
        effect = Effect(value=times * error, error=error, looks=1, against=1)
        assert rule.decide(effect, Noise()) == decision
    assert over_items([[1.0]]) == 0


def test_pairs_are_the_looks_of_one_number() -> None:
    assert pairs_of({3: 1.0, 1: 2.0}, {1: 5.0, 2: 6.0, 3: 7.0}) == [(2.0, 5.0), (1.0, 7.0)]


def test_deciding_takes_less_than_five_milliseconds() -> None:
    sets = [[float(at % 7), float(at % 5), float(at % 3)] for at in range(1000)]
    trials = [[(float(at % 3), float(at % 5)), (float(at % 4), 1.0)] for at in range(1000)]
    noise = measure_noise(sets, trials)
    candidate, incumbent = ({at: float(at) for at in range(number)} for number in (4, 8))
    begin = process_time()
    for _ in range(100):
        RULE.decide(effect_of(candidate, incumbent, noise), noise)
    assert (process_time() - begin) / 100 < 0.005


@given(st.floats(-1e6, 1e6), st.integers(2, 9), st.integers(1, 9))
def test_equal_values_have_no_spread_and_differ_by_nothing(
    value: float, looks: int, against: int
) -> None:
    candidate, incumbent = (dict.fromkeys(range(each), value) for each in (looks, against))
    noise = measure_noise(
        [list(candidate.values()), list(incumbent.values())], [[(value, value)] * looks]
    )
    assert (noise.spread, noise.correlation) == (0, 0)
    found = effect_of(candidate, incumbent, noise)
    assert (found.value, found.error) == (0, 0)


def test_where_items_are_drawn_equal_looks_do_not_decide_before_the_last() -> None:
    rule = KeepRule(drawn=True)
    for looks in (1, 2):
        ahead = Effect(value=0.4, error=0.0, looks=looks, against=3)
        assert rule.decide(ahead, Noise()) == "look"
    assert rule.decide(Effect(value=0.4, error=0.0, looks=3, against=3), Noise()) == "keep"
    assert rule.decide(Effect(value=-0.1, error=0.0, looks=1, against=3), Noise()) == "drop"
    assert rule.incumbent_needs(1, noisy=False) == rule.incumbent_needs(1)
