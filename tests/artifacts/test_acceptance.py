"""What is kept, and what is claimed: the race's rule, the end test and the plan of evaluations."""

from __future__ import annotations

from math import inf, isclose

import pytest
import scipy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autoreason.artifacts.acceptance import (
    CorrectedEffects,
    Effect,
    KeepRule,
    Noise,
    correct_effects,
    effect_of,
    end_test,
    finalists,
    least_gain,
    measure_noise,
    over_items,
    plan_budget,
)
from autoreason.errors import InvalidInput
from autoreason.job_types import MIN_EVALUATIONS

equal_values = settings(derandomize=True, deadline=None)


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    result, start = [0.61, 0.64, 0.58, 0.66, 0.6, 0.63], [0.52, 0.57, 0.52, 0.53, 0.55, 0.54]
    found = end_test(result, start)
    theirs = scipy.stats.ttest_rel(result, start).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert found.gain == pytest.approx(0.49 / 6)
    assert (found.n, found.shown) == (6, True)
    assert not end_test(start, result).shown


def test_where_nothing_varies_the_difference_is_said_to_be_exact() -> None:
    found = end_test([0.3] * 6, [0.1 + 0.1] * 6)
    assert found.deterministic
    assert found.low == found.gain == found.high == pytest.approx(0.1)
    assert (found.shown, found.least) == (True, 0.0)
    same = end_test([0.3] * 6, [0.3] * 6)
    assert (same.deterministic, same.gain, same.shown) == (True, 0.0, False)


def test_coarse_numbers_that_agree_by_chance_are_not_called_exact() -> None:
    # Six of six solved against none of six, by a run whose evaluations are known to differ.
    found = end_test([1.0] * 6, [0.0] * 6, spread=0.5)
    assert not found.deterministic
    assert found.low < 1 < found.high
    # The same gain on every item, whatever its difficulty.
    shifted = end_test([1.0, 5.0, 9.0] * 2, [0.0, 4.0, 8.0] * 2)
    assert not shifted.deterministic
    assert shifted.low < 0 < 1 < shifted.high


@pytest.mark.parametrize("pairs", range(1, 6))
def test_fewer_than_six_pairs_show_nothing(pairs: int) -> None:
    for few in (
        end_test([2.0] * pairs, [1.0] * pairs),
        end_test([2.0 + each for each in range(pairs)], [1.0] * pairs, 0.1),
        end_test([2.0] * pairs, [1.0] * pairs, items=(3,) * pairs),
    ):
        assert (few.low, few.high, few.least) == (-inf, inf, inf)
        assert not few.shown
        assert not few.deterministic
        assert not few.worse
    assert end_test([1.0] * pairs, [2.0] * pairs).worse
    assert end_test([2.0] * 6, [1.0] * 6, items=(2, 2, 1, 1, 1, 1)).shown


@pytest.mark.parametrize(("pairs", "unseen"), [(6, 0.459), (8, 0.369), (72, 0.05)])
def test_what_a_test_need_not_see_is_what_all_its_pairs_miss_once_in_forty_times(
    pairs: int, unseen: float
) -> None:
    found = end_test([1.0] * pairs, [0.0] * pairs)
    assert found.unseen == pytest.approx(unseen, abs=0.001)
    assert (1 - found.unseen) ** pairs == pytest.approx(0.025)


def test_pairs_count_by_their_sealed_items() -> None:
    sizes = (2, 2, 1, 1, 1, 1)
    found = end_test([1.0, 0.5, 1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 1.0, 0.0, 0.0], items=sizes)
    assert found.gain == pytest.approx(2 / 8)
    assert found.low < 0 < 2 / 8 < found.high
    result, start = (0.7, 0.9, 0.8) * 2, (0.6, 0.5, 0.7) * 2
    assert end_test(result, start, items=(3,) * 6) == end_test(result, start)


@equal_values
@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=9))
def test_result_and_start_exchanged_change_the_sign(pairs: list[tuple[float, float]]) -> None:
    result, start = zip(*pairs, strict=True)
    one, other = end_test(result, start), end_test(start, result)
    assert one.low <= one.gain <= one.high
    assert (other.gain, other.low, other.high) == pytest.approx((-one.gain, -one.high, -one.low))
    assert not (one.shown and other.shown)


@pytest.mark.parametrize("pairs", [6, 8, 30])
def test_the_smallest_gain_is_shown_four_times_in_five(pairs: int) -> None:
    gain = least_gain(pairs, 2.0)
    bound = scipy.stats.t.isf(0.025, pairs - 1)
    assert scipy.stats.nct.sf(bound, pairs - 1, gain / 2.0 * pairs**0.5) == pytest.approx(
        0.8, abs=0.03
    )
    assert least_gain(5, 2.0) == inf


@pytest.mark.parametrize(
    ("evaluations", "parts"), [(60, (3, 0, 6)), (99, (3, 0, 6)), (100, (5, 0, 8)), (200, (5, 4, 8))]
)
def test_small_budgets_have_a_smaller_apparatus(evaluations: int, parts: tuple[int, ...]) -> None:
    plan = plan_budget(evaluations)
    assert (plan.floor, plan.playoff, plan.end) == parts
    assert plan.search + plan.reserved + plan.floor == evaluations
    assert plan.warning() == ""


def test_a_budget_that_shows_little_says_so_and_one_that_shows_nothing_is_refused() -> None:
    assert plan_budget(200).least_gain(1.0) == pytest.approx(1.63, abs=0.01)
    assert plan_budget(MIN_EVALUATIONS).search == 1
    assert plan_budget(30).warning() == (
        "30 evaluations leave 15 for proposals, and under noise the end test can only show gains from 2.0 times the "
        "spread of one evaluation on; give 40 or more"
    )
    with pytest.raises(InvalidInput, match="give 16 or more"):
        plan_budget(MIN_EVALUATIONS - 1)


def test_finalists_are_the_start_the_last_keep_and_two_in_between() -> None:
    assert finalists([]) == (0,)
    assert finalists([5]) == (0, 5)
    assert finalists([3, 8]) == (0, 3, 8)
    assert finalists([3, 8, 9, 20, 31, 40]) == (0, 8, 20, 40)


def kept(value: float, error: float) -> Effect:
    """A keep of the loop."""
    return Effect(value=value, error=error, evaluations=2, against=3)


def test_kept_changes_are_worth_together_what_the_end_test_shows_or_they_do() -> None:
    keeps = [kept(1.0, 0.5), kept(3.0, 0.5), kept(2.0, 1.0)]
    corrected = correct_effects(keeps, 4.0)
    assert corrected.effects == pytest.approx((0.5, 2.5, 1.0))
    assert corrected.idle == 0
    # An end test that shows more than the loop saw makes no keep larger.
    assert correct_effects(keeps, 9.0).effects == (1.0, 3.0, 2.0)
    assert correct_effects(keeps, -9.0).idle == 3
    assert correct_effects([kept(1.0, 0.0)], 1.0) == CorrectedEffects(effects=(1.0,), idle=0)
    assert correct_effects([], 0.0) == CorrectedEffects(effects=(), idle=0)


steady = settings(derandomize=True, deadline=None)
RULE = KeepRule()
values = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))
evaluations = st.dictionaries(st.integers(0, 9), values, min_size=1, max_size=8)
noises = st.builds(Noise, spread=st.floats(0.01, 10), correlation=st.floats(0, 0.95))


def ordered(decision: str) -> int:
    """Drop, evaluation, keep."""
    return ("drop", "again", "keep").index(decision)


@steady
@given(
    evaluations,
    evaluations,
    noises,
    st.sampled_from([0.125, 0.5, 4.0, 64.0]),
    st.integers(-1000, 1000),
)
def test_decisions_do_not_depend_on_the_scale_or_the_zero_of_the_metric(
    candidate: dict[int, float], incumbent: dict[int, float], noise: Noise, scale: float, shift: int
) -> None:
    def moved(evaluations: dict[int, float]) -> dict[int, float]:
        return {number: scale * value + shift for number, value in evaluations.items()}

    effect = effect_of(candidate, incumbent, noise)
    other_noise = Noise(spread=scale * noise.spread, correlation=noise.correlation)
    other = effect_of(moved(candidate), moved(incumbent), other_noise)
    assert isclose(other.error, scale * effect.error, rel_tol=1e-9)
    assert isclose(other.value, scale * effect.value, abs_tol=1e-9 * scale * 2000)
    # Away from the thresholds, which rounding may cross.
    z = effect.value / effect.error
    bounds = (RULE.drop, RULE.keep_first, RULE.keep_later, RULE.keep_last)
    assume(all(abs(z - bound) > 1e-6 for bound in bounds))
    assert RULE.decide(effect, noise) == RULE.decide(other, other_noise)


@steady
@given(evaluations, evaluations, noises, st.integers(0, 7), st.floats(0, 50), st.floats(0, 5))
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
@given(values, st.floats(0, 10), st.integers(1, 9), st.floats(0, 100))
def test_nothing_at_or_below_the_floor_is_kept(
    value: float, error: float, number: int, floor: float
) -> None:
    effect = Effect(value=min(value, floor), error=error, evaluations=number, against=4)
    assert RULE.decide(effect, Noise(spread=error), floor) != "keep"


@steady
@given(values, st.floats(0.01, 10), st.integers(4, 9))
def test_the_last_evaluation_decides(value: float, error: float, number: int) -> None:
    effect = Effect(value=value, error=error, evaluations=number, against=8)
    assert RULE.decide(effect, Noise(spread=error)) in ("keep", "drop")


@steady
@given(values, values)
def test_without_noise_one_evaluation_decides(candidate: float, incumbent: float) -> None:
    effect = effect_of({0: candidate}, {0: incumbent}, Noise())
    assert RULE.decide(effect, Noise()) == ("keep" if candidate > incumbent else "drop")
    assert RULE.decide(effect, Noise(), floor=candidate - incumbent) == "drop"


def test_evaluations_that_share_seeds_are_worth_more_the_more_alike_they_are() -> None:
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
    assert effect_of(candidate, incumbent, Noise(spread=1)).value == pytest.approx(0.25)


def test_noise_is_pooled_over_artifacts_and_correlation_believed_as_pairs_show_it() -> None:
    noise = measure_noise([[1.0, 3.0], [10.0], [5.0, 5.0, 5.0]])
    assert noise.spread == pytest.approx((2 / 3) ** 0.5)
    assert measure_noise([[1.0]]) == Noise()
    trial = [(0.0, 0.1), (1.0, 1.1)]
    few, many = (measure_noise([], [trial] * number).correlation for number in (1, 30))
    assert 0 < few < 0.2 < 0.8 < many < 1
    assert measure_noise([], [[(0.0, 1.0), (1.0, 0.0)]] * 9).correlation == 0
    assert measure_noise([], [[(0.0, 1.0)]]).correlation == 0


def test_an_incumbent_is_measured_as_its_candidates_are_but_not_for_ever() -> None:
    needs = [RULE.incumbent_needs(number) for number in range(1, 20)]
    assert needs == sorted(needs)
    assert needs[0] == RULE.incumbent_least
    assert needs[-1] == RULE.incumbent_most
    stays = [RULE.incumbent_needs(1, trials) for trials in range(100)]
    assert (
        stays[: 2 * RULE.incumbent_every] == [3] * RULE.incumbent_every + [4] * RULE.incumbent_every
    )
    assert stays[-1] == RULE.incumbent_most


def test_on_a_fixed_set_a_gain_must_exceed_one_standard_error_over_its_items() -> None:
    rule = RULE.on_fixed_set()
    error = over_items([[0.0, 1.0, 1.0, 0.0]])
    assert error == pytest.approx((1 / 3 / 4) ** 0.5)
    for times, decision in ((0.9, "drop"), (1.1, "keep")):
        effect = Effect(value=times * error, error=error, evaluations=1, against=1)
        assert rule.decide(effect, Noise()) == decision
    assert over_items([[1.0]]) == 0


@given(st.floats(-1e6, 1e6), st.integers(2, 9), st.integers(1, 9))
def test_equal_values_have_no_spread_and_differ_by_nothing(
    value: float, evaluations: int, against: int
) -> None:
    candidate, incumbent = (dict.fromkeys(range(each), value) for each in (evaluations, against))
    noise = measure_noise(
        [list(candidate.values()), list(incumbent.values())], [[(value, value)] * evaluations]
    )
    assert (noise.spread, noise.correlation) == (0, 0)
    found = effect_of(candidate, incumbent, noise)
    assert (found.value, found.error) == (0, 0)


def test_where_items_are_drawn_equal_evaluations_do_not_decide_before_the_last() -> None:
    rule = KeepRule(drawn=True)
    for evaluations in (1, 2):
        ahead = Effect(value=0.4, error=0.0, evaluations=evaluations, against=3)
        assert rule.decide(ahead, Noise()) == "again"
    assert rule.decide(Effect(value=0.4, error=0.0, evaluations=3, against=3), Noise()) == "keep"
    assert rule.decide(Effect(value=-0.1, error=0.0, evaluations=1, against=3), Noise()) == "drop"
    assert rule.incumbent_needs(1, noisy=False) == rule.incumbent_needs(1)
