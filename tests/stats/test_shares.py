"""Shares, their intervals, and the exact tests on counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stats.intervals import ends

from autoreason.stats.shares import (
    clustered_share,
    cohens_h,
    even_share_test,
    exact_share,
    holm,
    longer_preferred,
    share,
    sign_test,
    student_t,
)

steady = settings(derandomize=True)
counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
splits = st.tuples(st.integers(0, 60), st.integers(0, 60)).filter(any)
chances = st.floats(0, 1)

# ---- intervals ---------------------------------------------------------------------------------


@given(counts)
@steady
def test_wilson_holds_the_share_inside_zero_and_one(counts: tuple[int, int]) -> None:
    successes, trials = counts
    low, high = ends(share(successes, trials))
    assert 0 <= low <= successes / trials <= high <= 1
    wider = ends(share(successes, trials, confidence=0.99))
    assert wider[0] <= low <= high <= wider[1]


@given(counts, st.floats(0.5, 0.999))
@steady
def test_an_exact_share_has_the_interval_of_scipy(counts: tuple[int, int], level: float) -> None:
    found = exact_share(*counts, confidence=level)
    theirs = scipy.stats.binomtest(*counts).proportion_ci(level, method="exact")
    assert ends(found) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert (found.value, found.n) == (counts[0] / counts[1], counts[1])


@given(counts)
@steady
def test_an_exact_share_leaves_one_half_out_just_where_the_sign_test_does(
    counts: tuple[int, int],
) -> None:
    successes, trials = counts
    low, high = ends(exact_share(successes, trials))
    p = sign_test(successes, trials - successes).p_value
    assert p is not None
    assert (not low <= 0.5 <= high) == (p < 0.05)


@given(counts)
@steady
def test_a_share_has_the_interval_of_statsmodels(counts: tuple[int, int]) -> None:
    from statsmodels.stats.proportion import proportion_confint

    found = share(*counts)
    assert ends(found) == pytest.approx(proportion_confint(*counts, method="wilson"), abs=1e-9)
    assert found.n == counts[1]


@given(counts)
@steady
def test_one_try_a_task_is_a_plain_share(counts: tuple[int, int]) -> None:
    successes, trials = counts
    found = clustered_share([[at < successes] for at in range(trials)])
    plain = exact_share(*counts)
    assert (found.value, found.low, found.high) == pytest.approx(
        (plain.value, plain.low, plain.high), abs=1e-9
    )
    assert found.n == trials


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=40))
@steady
def test_tries_of_a_task_are_never_worth_more_than_as_many_tasks(tasks: list[list[bool]]) -> None:
    found = clustered_share(tasks)
    tries, successes = sum(map(len, tasks)), sum(map(sum, tasks))
    assert found.value == pytest.approx(successes / tries)
    (low, high), (least, most) = ends(found), ends(exact_share(successes, tries))
    assert low <= least + 1e-9
    assert high >= most - 1e-9


def test_tries_are_worth_more_than_their_tasks_only_where_they_do_not_hang_together() -> None:
    agreeing = clustered_share([[at < 6] * 3 for at in range(10)])
    assert ends(agreeing) == pytest.approx(ends(exact_share(6, 10)))
    many = ends(clustered_share([(True, False, at % 2) for at in range(200)]))[1]
    all_tries, tasks = ends(exact_share(300, 600))[1], ends(exact_share(100, 200))[1]
    assert many - all_tries < (tasks - all_tries) / 20
    # So few tasks show nothing of how their tries hang together.
    assert ends(clustered_share([[1.0] * 9 + [0.0]] * 2 + [[1.0] * 10] * 3))[0] < 0.5
    # One that was tried far more often than the others is hardly more than one.
    assert ends(clustered_share([[1.0] * 1000, *([[0.0, 1.0]] * 9)]))[0] < 0.1


@given(st.integers(1, 300), st.floats(0.0005, 0.4))
@steady
def test_students_quantiles_are_those_of_scipy(freedom: int, tail: float) -> None:
    assert student_t(freedom, tail) == pytest.approx(scipy.stats.t.isf(tail, freedom), rel=1e-5)


# ---- effect size -------------------------------------------------------------------------------


@given(chances, chances)
@steady
def test_cohens_h_is_that_of_statsmodels_and_changes_sign_with_the_sides(
    one: float, other: float
) -> None:
    from statsmodels.stats.proportion import proportion_effectsize

    assert cohens_h(one, other) == pytest.approx(proportion_effectsize(one, other))
    assert cohens_h(one, other) == -cohens_h(other, one)


# ---- exact tests -------------------------------------------------------------------------------


@given(splits)
@steady
def test_the_sign_test_is_the_binomial_test_and_does_not_care_for_sides(
    split: tuple[int, int],
) -> None:
    wins, losses = split
    found = sign_test(wins, losses)
    assert found.p_value == pytest.approx(scipy.stats.binomtest(wins, wins + losses).pvalue)
    assert found.p_value == sign_test(losses, wins).p_value
    assert found.n == wins + losses


# ---- several tests -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "p_values", [[0.3], [0.04, 0.01, 0.03, 0.005], [0.9, 0.6, 1.0, 0.2], [0.02, 0.02, 0.0]]
)
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    theirs = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(list(theirs))


@given(st.lists(chances, max_size=12))
@steady
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values: list[float]) -> None:
    adjusted = [p for p in holm(p_values) if p is not None]
    assert all(p <= after <= 1 for p, after in zip(p_values, adjusted, strict=True))
    pairs = sorted(zip(p_values, adjusted, strict=True))
    assert [after for _, after in pairs] == sorted(adjusted)


def test_unknown_p_values_pass_through_and_do_not_count() -> None:
    assert holm([0.02, None, 0.04]) == [0.04, None, 0.04]
    assert holm([None]) == [None]
    assert holm([]) == []


@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize(
    "tasks",
    [
        [[1.0] * 7] * 7,
        [[1.0] * 5 + [0.0] * 2] * 6 + [[1.0] * 3 + [0.0] * 4],
        [[1.0] * 6 + [0.0]] * 4 + [[1.0] * 4 + [0.0] * 3] * 3,
        [[1.0, 0.0]] * 9,
    ],
)
def test_an_even_share_is_rejected_exactly_where_its_interval_leaves_it_out(
    tasks: list[list[float]], level: float
) -> None:
    p = even_share_test(tasks, level).p_value
    assert p is not None
    low, high = ends(clustered_share(tasks, 1 - level))
    assert (p <= level) == (not low <= 0.5 <= high)
    assert ends(clustered_share(tasks, 1 - p / 1.03))[0] <= 0.5
    assert p == 1 or (clustered_share(tasks, 1 - p).low or 0) > 0.5


def test_the_longer_text_is_counted_from_either_side_and_a_ballot_once() -> None:
    games = [(1, 10), (0, -10), (0, 10), (1, -10), (0.5, 10), (1, 0)]
    found = longer_preferred((at, *each) for at, each in enumerate(games))
    assert (found.value, found.n) == (0.5, 4)
    found = longer_preferred([("one", 1, 5)] * 3 + [("other", 0, 5)])
    assert (found.value, found.n) == (0.75, 2)


def test_of_nothing_nothing_is_known() -> None:
    assert share(0, 0).reason == "there was nothing to count"
    for found in (
        *(share(0, 0), exact_share(0, 0), clustered_share([])),
        *(clustered_share([[], []]), longer_preferred([])),
    ):
        assert found.value is None
    for test in (sign_test(0, 0), even_share_test([[]], 0.05)):
        assert test.p_value is None
    assert even_share_test([[1.0] * 9], 0.05).p_value == 1


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: share(-1, 3), "counts are 0 or more"),
        (lambda: share(4, 3), "counts are 0 or more"),
        (lambda: cohens_h(62, 43), "between 0 and 1"),
    ],
)
def test_what_cannot_be_is_refused(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()
