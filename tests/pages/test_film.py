"""The film shows what was known at a moment, and never what came later."""

from __future__ import annotations

import pytest
from tests.cases import cases
from tests.pages.plays import (
    BACK,
    BACK_SETTINGS,
    SEEDS,
    WITHOUT_REWRITES,
    play_story,
    random_events,
    random_story,
)
from tests.tournament.stage import document, vote

from autoreason.exchange import Request
from autoreason.pages.course import moments
from autoreason.story import build_story
from autoreason.tournament.rounds import name_compared


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_that_goes_on_adds_moments_and_changes_none(seed: int) -> None:
    events = random_events(seed)
    whole = moments(build_story(events))
    for until in range(1, len(events)):
        so_far = moments(build_story(events[:until]))
        assert so_far == whole[: len(so_far)]


@cases("seed", SEEDS)
def test_every_vote_is_a_moment_and_the_last_is_the_result(seed: int) -> None:
    story = random_story(seed)
    film = moments(story)
    for one in story.passes:
        in_round = [each for each in film if each.round == one.number]
        assert sum(each.is_cast for each in in_round) == len(one.ballots)
    for review in story.reviews:
        held = [each.is_cast for each in film if each.place == f"review{review.number}"]
        assert held == [True] * len(review.ballots) + [False]
    if story.delivered:
        assert film[-1].text == story.delivered.text


def test_only_the_first_draft_is_called_so_and_a_new_draft_is_no_rewrite() -> None:
    story = play_story(1, WITHOUT_REWRITES, protocol="robust", drafts=3, passes=2, k=2)
    film = moments(story)
    assert story.draft is not None
    drafts = [each.text for each in film if each.caption.startswith("First draft")]
    assert {*drafts} == {story.draft.text}
    assert [each.caption for each in film[:3]] == ["Draft 1", "Draft 2", "Draft 3"]
    assert [each.sentence for each in film if each.round == 1][1:4] == [
        "A rewrite is left out: it is the same as another text.",
        "A new draft is left out: the reply was empty (no text came back).",
        "A new draft is written: 8 words.",
    ]
    assert "New draft, round 1" in [each.caption for each in film]


def test_a_review_that_goes_back_shows_the_text_it_goes_back_to() -> None:
    film = moments(play_story(3, BACK, **BACK_SETTINGS))
    last = [each for each in film if each.place == "review5"][-2:]
    assert [each.sentence for each in last] == [
        "In the review, lark puts the text of round 3 first.",
        "The text of round 3 is put first by 7 of 7 judges: back to it.",
    ]
    assert "round 5" in (last[1].before or "")
    assert "round 3" in last[1].text
    # The next round begins with it.
    assert next(each.text for each in film if each.round == 6) == last[1].text


@pytest.mark.parametrize(
    ("liked", "prefers", "end", "name"),
    [
        ("At first", "the first draft", "The first draft is delivered.", "the text it had become"),
        ("Written", "the text it had become", "This is the result.", "the result"),
    ],
)
def test_a_text_is_called_the_result_only_where_it_is(
    liked: str, prefers: str, end: str, name: str
) -> None:
    def judge(request: Request) -> str:
        return vote(liked if request.key.startswith("confirmation") else " 3.")(request)

    played = BACK | {"author": document("At first."), "judge": judge}
    story = play_story(3, played, **BACK_SETTINGS)
    vote_of_one = f"lark, asked for the first time, prefers {prefers}."
    assert [each.sentence for each in moments(story)][-10:] == [*[vote_of_one] * 9, end]
    assert name_compared("pass 3", story) == name
