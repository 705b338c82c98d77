"""A short certificate turns away judges who see too little or go by position."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoreason.settings import Models, make_settings
from autoreason.studies.advise.judge_check import (
    JudgeScore,
    chance_to_pass,
    check_questions,
)
from autoreason.studies.certify.suite import KINDS, pairs


def score(right: int, first: int, valid: int = 20) -> JudgeScore:
    """So many right answers, and so many for the text shown first."""
    return JudgeScore(valid=valid, right=right, first=first)


def test_thirteen_of_twenty_are_enough_and_twelve_are_not() -> None:
    assert score(13, 10).fault == ""
    assert score(12, 10).fault == "the judge sees planted defects in 12 of 20 questions"


def test_a_text_may_win_by_its_place_up_to_a_quarter_more_often() -> None:
    assert score(15, 12).fault == ""
    assert score(15, 8).fault == ""
    assert "shown first wins by 30 points" in score(15, 13).fault
    assert "shown second wins by 30 points" in score(15, 7).fault


def test_a_judge_must_be_read() -> None:
    assert score(14, 7, 14).fault == ""
    assert "only 12 of 20 ballots can be read" in score(12, 6, 12).fault
    assert "only 0 of 20" in score(0, 0, 0).describe()


@given(st.integers(0, 2**32))
def test_every_kind_of_defect_is_asked_about_in_both_orders(seed: int) -> None:
    questions = check_questions(make_settings(Models.judging("a/b"), seed))
    kinds = {pair.name: pair.kind for pair in pairs()}
    asked = [kinds[question.stage.split("/")[-1]] for question in questions]
    assert set(asked) == set(KINDS)
    assert {asked.count(kind) for kind in KINDS} == {4, 6}
    assert [question.seat for question in questions] == [0, 1] * 10


@given(st.floats(0.5, 0.95), st.floats(0, 0.1))
def test_a_judge_who_sees_more_passes_more_often(share: float, more: float) -> None:
    assert chance_to_pass(min(1, share + more)) >= chance_to_pass(share) - 1e-9
