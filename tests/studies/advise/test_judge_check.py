"""A short certificate turns away judges who are shown to see too little, or to go by position."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.settings import Models, make_settings
from autoreason.studies.advise.judge_check import (
    LEAST_QUESTIONS,
    PAIRS,
    Right,
    chance_to_fail,
    check_questions,
    find_fault,
    judge_findings,
    may_fail,
)
from autoreason.studies.certify.properties import DEFECTS, FLOOR, at_least
from autoreason.studies.certify.suite import KINDS, pairs

PAIR = st.tuples(st.booleans(), st.booleans())
SEEN, MISSED, TURNED = (True, True), (False, False), (True, False)


def test_a_fault_is_what_the_certificate_calls_failed() -> None:
    right: Right = (SEEN, *[MISSED] * 8)
    (defects, *_) = judge_findings(right, ())
    assert defects == at_least(DEFECTS, right, FLOOR, "seen in 2 of 18 questions")
    assert find_fault(judge_findings(right, ())) == (
        "the judge failed planted defects (seen in 2 of 18 questions)"
    )


def test_a_judge_who_goes_by_position_is_told_by_its_swapped_answers() -> None:
    assert "swapped order (0 of 9" in find_fault(judge_findings((TURNED,) * 9, ()))
    assert find_fault(judge_findings((TURNED,) * 5 + (SEEN,) * 4, ())) == ""


def test_a_judge_must_be_read() -> None:
    assert "valid ballots (0 of 4 ballots" in find_fault(judge_findings((), (False,) * 4))
    assert not may_fail((), (False,) * 4, 7), "nothing more is asked"
    assert may_fail((), (True, False), 8)


@given(st.lists(PAIR, min_size=PAIRS, max_size=PAIRS))
def test_questions_are_left_out_only_where_they_cannot_change_the_verdict(
    whole: list[tuple[bool, bool]],
) -> None:
    asked: Right = ()
    while len(asked) < PAIRS and may_fail(asked, (), PAIRS - len(asked)):
        asked = (*asked, whole[len(asked)])
    curtailed, full = (find_fault(judge_findings(each, ())) for each in (asked, tuple(whole)))
    assert bool(curtailed) == bool(full)


def test_no_fault_is_ruled_out_before_the_least_number_of_questions() -> None:
    fewest = min(
        asked
        for asked in range(PAIRS + 1)
        for right in product((SEEN, MISSED, TURNED), repeat=min(asked, 3))
        if not may_fail(right, (), PAIRS - asked)
    )
    assert 2 * fewest == LEAST_QUESTIONS


@given(st.integers(0, 2**32))
def test_every_kind_of_defect_is_asked_about_in_both_orders(seed: int) -> None:
    questions = check_questions(make_settings(Models.judging("a/b"), seed))
    kinds = {pair.name: pair.kind for pair in pairs()}
    asked = [kinds[question.stage.split("/")[-1]] for question in questions]
    assert set(asked[: 2 * len(KINDS)]) == set(KINDS)
    assert [question.seat for question in questions] == [0, 1] * PAIRS
    stages = [question.stage for question in questions]
    assert stages[::2] == stages[1::2]


@pytest.mark.parametrize("lean", [0.0, 0.3])
def test_a_judge_who_sees_more_fails_less_often(lean: float) -> None:
    chances = [chance_to_fail(share / 10, lean) for share in range(3, 10)]
    assert chances == sorted(chances, reverse=True)
