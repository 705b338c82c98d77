"""What advice measures: the judge, and pilots."""

from __future__ import annotations

from itertools import product
from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tournament.stage import USUAL, document, play, vote

from autoreason.contract import Contract
from autoreason.job_types import Advise
from autoreason.settings import Models, make_settings
from autoreason.story import build_story
from autoreason.studies.advice_measures import (
    LEAST_QUESTIONS,
    MAX_PILOTS,
    PAIRS,
    Pilot,
    PilotRun,
    Right,
    chance_of_votes,
    chance_to_fail,
    check_questions,
    describe_pilots,
    find_fault,
    judge_findings,
    likelihood_ratio,
    may_fail,
    operating_line,
    pilot_settings,
    read_pilot,
)
from autoreason.studies.certificate import DEFECTS, measure
from autoreason.studies.certificate_questions import KINDS, pairs

PAIR = st.tuples(st.booleans(), st.booleans())
SEEN, MISSED, TURNED = (True, True), (False, False), (True, False)


def test_a_fault_is_what_the_certificate_calls_failed_and_a_judge_must_be_read() -> None:
    right: Right = (SEEN, *[MISSED] * 8)
    (defects, *_) = judge_findings(right, ())
    assert defects == measure(DEFECTS, right, "seen in 2 of 18 questions")
    assert find_fault(judge_findings(right, ())) == (
        "the judge failed planted defects (seen in 2 of 18 questions)"
    )
    assert "swapped order (0 of 9" in find_fault(judge_findings((TURNED,) * 9, ()))
    assert find_fault(judge_findings((TURNED,) * 5 + (SEEN,) * 4, ())) == ""
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


SHARES = st.floats(0.02, 0.98)


def pilots(*votes: int) -> list[Pilot]:
    return [Pilot(name=f"pilot {at}", judges=2, prefer=each) for at, each in enumerate(votes, 1)]


@given(st.lists(st.integers(0, 2), min_size=2, max_size=6))
def test_one_more_vote_for_the_result_never_speaks_against_it(votes: list[int]) -> None:
    more = [min(2, votes[0] + 1), *votes[1:]]
    assert likelihood_ratio(pilots(*more)) >= likelihood_ratio(pilots(*votes))


@given(st.integers(1, 20), SHARES)
def test_votes_of_a_panel_have_chances_that_add_up(judges: int, share: float) -> None:
    votes = [chance_of_votes(judges, prefer, share) for prefer in range(judges + 1)]
    assert isclose(sum(votes), 1, rel_tol=1e-9)
    assert isclose(sum(at * each for at, each in enumerate(votes)), judges * share, rel_tol=1e-6)


@settings(max_examples=25)
@given(SHARES, st.integers(0, MAX_PILOTS))
def test_endings_have_chances_that_add_up(share: float, number: int) -> None:
    found = operating_line(share, (2,) * number)
    assert isclose(found.run_it + found.do_not + found.undecided, 1, rel_tol=1e-9)


def test_the_rule_has_the_operating_points_it_was_chosen_for_also_with_many_records() -> None:
    measured = {0.5: 0.12, 0.6: 0.25, 0.7: 0.46, 0.8: 0.70, 0.9: 0.92}
    for share, gain in measured.items():
        assert operating_line(share, (2,) * 5).run_it == pytest.approx(gain, abs=0.01)
    few, many = operating_line(0.7, (7,) * 6, 6), operating_line(0.7, (7,) * 7, 7)
    assert few.run_it < many.run_it < few.run_it + 0.1


def test_a_pilot_is_one_revision_before_two_fresh_judges() -> None:
    chosen = pilot_settings(make_settings(Models.everywhere("a/b"), 1, job=Advise()))
    assert (chosen.job.name, chosen.passes, chosen.confirmation) == ("critique_revise", 1, 2)
    assert PilotRun.plans(chosen)[1] == {"author": 1, "critic": 1, "reviser": 1, "judge": 2}


async def read(script: dict[str, object], **options: object) -> Pilot:
    """What a tournament played with these answers says."""
    played = await play({**USUAL, **script}, confirmation=7, passes=2, **options)  # type: ignore[arg-type,dict-item]
    return read_pilot("pilot 1", build_story(played.events))


async def test_a_pilot_counts_its_confirmation_or_its_draft_against_the_run() -> None:
    found = await read({"judge": vote("Third", "Second", "First")})
    assert (found.judges, found.prefer, found.note) == (7, 7, "")
    found = await read({})
    assert (found.judges, found.prefer) == (2, 1)
    assert found.note == "the result is the draft, which counts as 1 of 2"


def test_pilots_that_no_judge_compared_are_not_called_judged() -> None:
    judged = Pilot(name="pilot 1", judges=2, prefer=2)
    kept = Pilot(name="pilot 2", judges=2, prefer=1, note="the result is the draft")
    both = describe_pilots([judged, kept])
    assert both.startswith("in 1 pilot 2 of 2 fresh judges prefer the result to the draft; ")
    assert both.endswith("1 pilot counts without fresh judges")
    assert "judges prefer" not in describe_pilots([kept])


async def test_a_pilot_that_puts_the_contract_right_needs_no_judges() -> None:
    found = await read(
        {role: document("Two words.") for role in ("reviser", "synthesizer")},
        contract=Contract(max_words=4),
        draft="One two three four five.",
    )
    assert (found.judges, found.prefer) == (2, 2)
    assert "the result keeps it" in found.note


async def test_a_pilot_without_a_readable_confirmation_says_nothing() -> None:
    def mumbles(request: object) -> str:
        key = getattr(request, "key", "")
        if key.startswith("confirmation"):
            return "Both have their merits."
        return vote("Third", "Second", "First")(request)  # type: ignore[arg-type]

    found = await read({"judge": mumbles})
    assert found.judges == 0
    assert "too few valid ballots" in found.note
    assert likelihood_ratio([found]) == 1
