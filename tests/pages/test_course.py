"""The film shows what was known at a moment, and every sentence is traced to the text that has it first."""

from __future__ import annotations

import re
from itertools import pairwise

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
from autoreason.pages.course import draw, moments, trace
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


@cases("seed", SEEDS)
def test_a_sentence_is_born_in_a_text_that_has_it_and_in_no_earlier_one(seed: int) -> None:
    story = random_story(seed)
    if (river := trace(story)) is None:
        return
    texts = {0: [story.incumbents[0].text]}
    for one in story.passes:
        texts[one.number] = [each.text for each in one.candidates.values()]
    for sentence in river.result:
        birth = river.birth(sentence)
        assert any(sentence.text in text for text in texts[birth.number])
        earlier = (
            text for number, found in texts.items() if number < birth.number for text in found
        )
        assert not any(f"\n{sentence.text}\n" in f"\n{text}\n" for text in earlier)


@cases("seed", SEEDS)
def test_what_is_left_adds_up_and_what_went_is_gone(seed: int) -> None:
    if (river := trace(random_story(seed))) is None:
        return
    assert sum(left for _, _, left in river.sources) == len(river.result)
    assert all(0 <= left <= taken for _, taken, left in river.sources)
    gone = iter(river.gone)
    for before, after in pairwise(river.columns):
        left = [each.text for each in after.sentences]
        if {each.key for each in before.sentences} <= {each.key for each in after.sentences}:
            continue
        name, sentences = next(gone)
        assert name == after.name
        assert all(
            left.count(each) < sentences.count(each) + left.count(each) for each in sentences
        )
    drawn = draw(river)
    bars = "".join(re.findall(r'dasharray="\S+ \S+" d="(.*?)"', drawn))
    high = sum(map(int, re.findall(r"v(\d+)", bars)))
    assert high == sum(len(each.sentences) for each in river.columns)
    short = sum(map(int, re.findall(r"h1v(\d+)h-1z", drawn)))
    assert short == sum(len(went) for _, went in river.gone)


def test_what_a_review_gave_up_ends_there() -> None:
    river = trace(play_story(3, BACK, **BACK_SETTINGS))
    assert river is not None
    names = ["First draft", *(f"Round {number}" for number in range(1, 6)), "Back to round 3"]
    names += ["Round 6", "Round 7", "Back to round 3"]
    assert [each.name for each in river.columns] == names
    went = [sentences for name, sentences in river.gone if name == "Back to round 3"]
    assert went == [["Written in round 5."], ["Written in round 7."]]
    assert [each.text for each in river.result][-1] == "Written in round 3."
    assert [birth.number for birth, _, left in river.sources if left] == [0, 3]
    assert {birth.number for birth, *_ in river.sources if birth.lost} == {4, 5, 6, 7}
