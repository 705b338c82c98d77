"""Reviews rank the line from the first draft to the latest: the run goes on from the best, or ends."""

from __future__ import annotations

from collections import Counter
from random import Random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tournament.stage import UNSEEN, Played, critique, document, play, shown_texts, vote

from autoreason.contract import Contract
from autoreason.errors import PanelFailed
from autoreason.events import (
    CandidateDropped,
    CandidateReady,
    Incumbent,
    Recovery,
    ReviewDecided,
)
from autoreason.exchange import BudgetQuery, Request
from autoreason.settings import Models, make_settings
from autoreason.story import build_story
from autoreason.tournament.loop import likely_plan, max_plan, texts_per_ballot
from autoreason.tournament.panel import choose_finalists
from autoreason.tournament.voting import trend

NEWEST = [f"made in {number}" for number in range(12, 0, -1)]


async def reviewed(judge: Any, **changes: Any) -> Played:
    options: dict[str, Any] = {"passes": 6, "review_every": 2, "reviewers": 3}
    return await play({"judge": judge}, **UNSEEN | options | changes)


async def test_without_judges_revisions_of_models_by_turns_go_unseen_until_the_review() -> None:
    played = await reviewed(vote(*NEWEST))
    assert {each.outcome for each in played.decided} == {"unjudged"}
    assert [each.after for each in played.of(ReviewDecided)] == [2, 4, 6]
    # Three, five and seven texts, each review by three judges; the last one is not held twice.
    assert [len(each.texts) for each in played.of(ReviewDecided)] == [3, 5, 7]
    assert len(played.asked("judge")) == 9
    assert (played.delivered.status, played.delivered.ended_by) == ("capped", "passes")
    assert played.delivered.text == "Second text, made in 6."
    models = Models(
        author="a/x", critic="a/x", synthesizer="a/x", judges=("a/x",), revisers=("a/y", "a/z")
    )
    played = await reviewed(vote(*NEWEST), passes=3, models=models)
    assert [each.model for each in played.asked("reviser")] == ["a/y", "a/z", "a/y"]
    assert played.delivered.origin == "pass 3"


async def test_the_run_goes_on_from_the_text_put_first_now_or_last() -> None:
    played = await reviewed(vote("made in 1.", "First", "made in 3", "made in 2"), passes=4)
    first, second = played.of(ReviewDecided)
    assert (first.winner, first.back) == ("pass 1", True)
    # What came after it is given up: the next revision is of the text that was put first.
    assert "made in 1." in next(
        request.messages[-1].text
        for request in played.requests
        if request.key == "pass/3/critic/0/try/0"
    )
    assert [each.name for each in second.texts] == ["draft", "pass 1", "pass 3", "pass 4"]
    assert played.delivered.origin == "pass 1"
    story = build_story(played.events)
    assert [each.name for each in story.incumbents] == ["draft", "pass 1"]
    assert story.closing_review is story.reviews[-1].decided

    def later(request: Request) -> str:
        known = vote(*NEWEST)(request)
        return known if request.key.startswith("review/2/") else "I cannot say."

    played = await reviewed(later, passes=4)
    assert [(each.winner, each.back) for each in played.of(ReviewDecided)] == [
        ("pass 2", False),
        (None, True),
    ]
    assert played.delivered.origin == "pass 2"


async def test_contests_remember_what_was_put_first_over_a_review_that_cannot_be_read() -> None:
    def judge(request: Request) -> str:
        return "I cannot say." if request.key.startswith("review/4/") else vote(*NEWEST)(request)

    played = await reviewed(judge, judges=3, review_texts=3)
    first, unread, last = played.of(ReviewDecided)
    assert (first.winner, unread.winner, unread.back) == ("pass 2 B", None, False)
    assert [each.name for each in last.texts] == ["draft", "pass 2 B", "pass 6 B"]


async def test_more_texts_than_a_judge_ranks_are_reviewed_in_two_stages() -> None:
    options: dict[str, Any] = {"passes": 8, "review_every": 8, "ballot_texts": 5, "reviewers": 5}
    played = await reviewed(vote("made in 2", *NEWEST), **options)
    older, newer = (
        [shown_texts(each) for each in played.asked("judge") if ("older" in each.key) is is_older]
        for is_older in (True, False)
    )
    assert {len(each) for each in older} == {5} == {len(each) for each in newer}
    assert (len(older), len(newer)) == (3, 3)
    assert all("Second text, made in 2." in each.values() for each in (*older, *newer))
    (review,) = played.of(ReviewDecided)
    assert (len(review.texts), review.winner) == (9, "pass 2")


async def test_where_the_older_half_cannot_be_read_what_was_kept_meets_the_newer_texts() -> None:
    def judge(request: Request) -> str:
        known = vote("made in 2", *NEWEST)(request)
        return "I cannot say." if "/older/" in request.key else known

    def enough(query: BudgetQuery) -> str:
        # Two judges in each of two stages, and those of the confirmation, are set aside.
        assert query.after == 2 + 2 + 9
        return ""

    options: dict[str, Any] = {"review_every": 3, "ballot_texts": 4, "confirmation": 9}
    options |= {"passes": 6, "reviewers": 3}
    played = await play({"judge": judge, "budget_check": enough}, **UNSEEN | options)
    assert [each.winner for each in played.of(ReviewDecided)] == ["pass 2"] * 2
    last = [shown_texts(each) for each in played.asked("judge") if "review/6/judge" in each.key]
    newer = {f"Second text, made in {number}." for number in (2, 5, 6)}
    assert [{*each.values()} for each in last] == [newer] * 2


async def test_a_first_draft_that_fresh_judges_prefer_is_delivered_without_their_praise() -> None:
    def judge(request: Request) -> str:
        fresh = request.key.startswith("confirmation")
        return vote(*(["First"] if fresh else NEWEST))(request)

    played = await reviewed(judge, passes=2, confirmation=9)
    assert (played.delivered.origin, played.delivered.text) == ("draft", "First text.")
    assert played.delivered.evidence.preference is None
    story = build_story(played.events)
    assert story.is_draft_preferred


def until_round_2(request: Request) -> str:
    return critique(*["It is dull."] * (int(request.key.split("/")[1]) <= 2))


async def test_no_review_is_held_where_no_text_came_since_the_last() -> None:
    played = await play(
        {"judge": vote(*NEWEST), "critic": until_round_2},
        **UNSEEN | {"passes": 6, "k": 9, "review_every": 2, "reviewers": 3},
    )
    assert [each.after for each in played.of(ReviewDecided)] == [2]
    assert played.delivered.origin == "pass 2"
    assert build_story(played.events).closing_review is not None


@pytest.mark.parametrize(
    ("best", "said"),
    [
        ("made in 2", ""),
        ("made in 1", "; a review went back to the text of round 1"),
        ("First", "; a review went back to the first draft"),
    ],
)
async def test_where_critics_had_no_fault_in_a_text_that_was_given_up_the_end_says_so(
    best: str, said: str
) -> None:
    played = await play(
        {"judge": vote(best), "critic": until_round_2}, **UNSEEN | {"passes": 6, "k": 3}
    )
    assert best in played.delivered.text
    reason = played.delivered.reason
    assert reason == f"A survived 3 passes in a row, 3 of them unopposed{said}"


@pytest.mark.parametrize(
    ("best", "rounds"), [("First", 6), ("made in 2", 6), ("made in 5", 8), ("made in 12", 12)]
)
async def test_it_ends_where_later_texts_are_no_longer_ranked_above_it(
    best: str, rounds: int
) -> None:
    played = await reviewed(vote(best, *NEWEST), passes=12, min_reviews=3, review_texts=4)
    assert len(played.decided) == rounds
    assert best in played.delivered.text
    ended_by, reason = played.delivered.ended_by, played.delivered.reason
    if best != "made in 12":
        where = best.replace("made in", "that of round").replace("First", "the first draft")
        assert (ended_by, reason) == ("review", f"later texts no longer ranked above {where}")


async def test_a_text_written_again_is_what_it_was_and_one_given_up_not_reviewed_again() -> None:
    def again(request: Request) -> str:
        number = int(request.key.split("/")[1])
        return document(f"Second text, made in {number if number % 2 else 1}.")

    judge = vote("made in 1.", *NEWEST)
    options = {"passes": 12, "review_every": 2, "reviewers": 3, "min_reviews": 3}
    played = await play({"judge": judge, "reviser": again}, **UNSEEN | options)
    assert [each.winner for each in played.of(ReviewDecided)] == ["pass 1"] * 3
    assert (played.delivered.ended_by, played.delivered.origin) == ("review", "pass 1")
    script: dict[str, Any] = {"judge": vote("First"), "reviser": document("Second text.")}
    played = await play(script, **UNSEEN | {"passes": 9, "review_every": 2, "k": 3})
    assert {each.reason for each in played.of(CandidateDropped) if each.number > 2} == {"clone"}
    assert len(played.of(ReviewDecided)) == 1
    assert (played.delivered.ended_by, len(played.decided)) == ("survivals", 5)


async def test_two_reviews_in_a_row_that_cannot_be_read_pause_it() -> None:
    silent: dict[str, Any] = {"judge": "I cannot say."}
    played = await reviewed(**silent, passes=12)
    assert (type(played.interruption), len(played.decided)) == (PanelFailed, 4)
    # Where it goes on, two more may be held, and the last round has none.
    again = await reviewed(**silent, passes=12, recovery=Recovery(forgiven=4))
    assert (type(again.interruption), len(again.decided)) == (PanelFailed, 8)
    over = await reviewed(**silent, passes=4, recovery=Recovery(forgiven=4))
    assert (over.delivered.ended_by, over.delivered.origin) == ("passes", "draft")


@given(st.integers(1, 30), st.data())
def test_a_review_has_the_first_draft_the_text_it_keeps_and_the_latest(
    number: int, data: st.DataObject
) -> None:
    line = [
        Incumbent(name=str(at), since=at, text=f"t{at}", keeps_contract=True)
        for at in range(number)
    ]
    kept, most = data.draw(st.sampled_from(line)), data.draw(st.integers(3, 10))
    found = choose_finalists(line, most, kept)
    assert len(found) == min(number, most)
    assert {"0", kept.name, line[-1].name} <= {each.name for each in found}
    assert [each.since for each in found] == sorted({each.since for each in found})
    since = line[kept.since + 1 :]
    assert len(since) > most - 2 or all(each in found for each in since)


async def test_a_revision_that_grew_too_much_is_left_out_unless_something_was_missing() -> None:
    much = {"reviser": document("Second text that is a good deal longer than it was.")}
    dull = '{"problems": [{"severity": "major", "kind": "quote", "quote": "First text", "problem": "dull"}]}'
    options = {**UNSEEN, "passes": 5, "review_every": 2, "max_growth": 0.5}
    barred = await play({**much, "critic": dull}, **options)
    assert {each.reason for each in barred.of(CandidateDropped)} == {"longer"}
    # That says nothing about A, so it is not a survival either.
    assert (barred.delivered.ended_by, barred.delivered.text) == ("passes", "First text.")
    asked_for = await play({**much, "critic": critique("It lacks an example.")}, **options)
    assert asked_for.of(CandidateReady)
    assert "longer" not in {each.reason for each in asked_for.of(CandidateDropped)}


@given(st.permutations("abcdef"), st.integers(1, 5))
def test_the_trend_is_one_where_the_younger_come_first_and_turns_with_the_ranking(
    ranking: list[str], judges: int
) -> None:
    names = "abcdef"
    assert trend([names[::-1]] * judges, names) == pytest.approx(1)
    found = trend([ranking] * judges, names)
    assert -1 <= found <= 1
    assert trend([ranking[::-1]], names) == pytest.approx(-found)
    assert trend([ranking, ranking[::-1]], names) == pytest.approx(0)


async def test_one_judge_a_round_sees_both_texts_first_equally_often() -> None:
    options: dict[str, Any] = {"judges": 1, "candidates": "B", "passes": 8, "k": 9}
    played = await play({"judge": vote("First")}, reviewers=0, confirmation=0, **options)
    firsts = [next(iter(shown_texts(each).values())) for each in played.asked("judge")]
    pairs = [firsts[at : at + 2] for at in range(0, len(firsts), 2)]
    assert all(sum(text == "First text." for text in pair) == 1 for pair in pairs)


@settings(max_examples=40, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "passes": st.integers(1, 9),
            "k": st.integers(1, 3),
            "judges": st.sampled_from([0, 0, 2, 3]),
            "reviewers": st.sampled_from([0, 2, 3]),
            "review_every": st.integers(0, 4),
            "review_texts": st.integers(3, 6),
            "ballot_texts": st.integers(3, 6),
            "min_reviews": st.integers(2, 3),
            "confirmation": st.sampled_from([0, 3]),
            "drafts": st.integers(1, 2),
            "max_drafts": st.integers(2, 3),
            "style": st.sampled_from(["reasoned", "verified"]),
        }
    ),
    st.integers(0, 5),
    st.randoms(use_true_random=False),
)
async def test_however_badly_models_answer_no_run_takes_more_calls_than_were_announced(
    changes: dict[str, Any], faults: int, luck: Random
) -> None:
    def badly(well: Any, *bad: str) -> Any:
        def answer(request: Request) -> Any:
            if luck.randrange(6) < faults:
                return luck.choice(bad)
            return well(request) if callable(well) else well

        return answer

    leak = "As requested, here is the revised version of the text:\n\nSummary of changes: none."
    too_long = document("One word more than there may be in a text like this.")
    script = {
        "author": badly(lambda each: document(f"First text, {each.key}."), leak, too_long, ""),
        "reviser": badly(lambda each: document(f"Second text, {each.key}."), leak, too_long, ""),
        "critic": badly(critique("It lacks an example."), "?", '{"problems": []}'),
        "judge": badly(lambda each: vote(*luck.sample(NEWEST, 12))(each), "I cannot say."),
    }
    played = await play(script, contract=Contract(max_words=8), **{"candidates": "B", **changes})
    most = max_plan(make_settings(Models.everywhere("x/y"), 1, candidates="B", **changes))
    asked = Counter(each.role for each in played.requests)
    assert all(number <= most[role] for role, number in asked.items())


async def test_a_run_takes_the_calls_that_are_likely_where_all_goes_well() -> None:
    every: dict[str, Any] = {"passes": 8, "review_every": 3, "reviewers": 3}
    every |= {"review_texts": 6, "min_reviews": 9}
    for changes in (every, {**every, "ballot_texts": 4}, {**every, "review_every": 0}):
        played = await play({"judge": vote(*NEWEST)}, **UNSEEN | changes | {"confirmation": 5})
        chosen = make_settings(Models.everywhere("x/y"), 1, **changes, confirmation=5)
        assert +Counter(likely_plan(chosen)) == Counter(each.role for each in played.requests)
        judged = [len(shown_texts(each)) for each in played.asked("judge")]
        assert texts_per_ballot(chosen) == pytest.approx(fmean(judged), abs=0.3)
