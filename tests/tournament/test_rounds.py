"""Rounds as people read them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.events import (
    AnyEvent,
    BallotCast,
    CandidateReady,
    DraftReady,
    PassDecided,
    PassStarted,
    PlayoffDecided,
    Slot,
)
from autoreason.story import Story, build_story
from autoreason.tournament.rounds import rounds_of, short_name

WINNERS: list[Slot | None] = ["A", "B", "AB", "B2", None]
SAYS = {"A": "kept", "B": "the rewrite won", "AB": "the merge won", "B2": "the rewrite won"}


def one_pass(number: int, winner: Slot | None, *, fresh: bool = False) -> list[AnyEvent]:
    """A pass in which A, the winner and a merge were compared, and two of three judges put the winner first."""
    slots: list[Slot] = [*dict.fromkeys(("A", winner or "B", "AB"))]
    ready = [
        CandidateReady(number=number, slot=slot, text=f"{slot} {number}", words=2, fresh=fresh)
        for slot in slots[1:]
    ]
    ranking = (winner, *(slot for slot in slots if slot != winner)) if winner else None
    labels = ("KX", "QZ", "VN")[: len(slots)]
    said = f"{labels[slots.index(winner)]} is clearer." if winner else ""
    cast: dict[str, Any] = {"stage": f"pass/{number}", "model": "test/judge", "reasoning": said}
    cast |= {"order": tuple(slots), "labels": labels}
    return [
        PassStarted(number=number, words=2),
        *ready,
        BallotCast(seat=0, ranking=ranking, **cast),
        BallotCast(seat=1, ranking=ranking, **cast),
        BallotCast(seat=2, ranking=ranking and ranking[::-1], **cast),
        PassDecided(
            number=number,
            outcome="decided" if winner else "inconclusive",
            winner=winner,
            streak=int(winner == "A"),
            words=2,
        ),
    ]


def story_of(winners: list[Slot | None], *, fresh: bool = False) -> Story:
    passes = [one_pass(number, winner, fresh=fresh) for number, winner in enumerate(winners, 1)]
    draft = DraftReady(text="The draft.", words=2, given=False)
    return build_story([draft, *(event for events in passes for event in events)])


@given(st.lists(st.sampled_from(WINNERS), max_size=12))
def test_every_round_appears_once_in_order_with_the_winner_that_is_recorded(
    winners: list[Slot | None],
) -> None:
    story = story_of(winners)
    rounds = rounds_of(story)
    assert [each.number for each in rounds] == [*range(1, len(winners) + 1)]
    for each, winner in zip(rounds, winners, strict=True):
        assert each.outcome.startswith(SAYS[winner] if winner else "undecided: ")
        assert each.votes == ("2 of 3 judges" if winner else "")
    assert story.text == next(
        (
            f"{each} {at}"
            for at, each in reversed([*enumerate(winners, 1)])
            if each not in (None, "A")
        ),
        "The draft.",
    )


@given(st.lists(st.sampled_from(WINNERS), max_size=12), st.data())
def test_the_last_text_so_far_is_delivered_unless_a_playoff_chose_another(
    winners: list[Slot | None], data: st.DataObject
) -> None:
    story = story_of(winners)
    texts = tuple(story.incumbents)
    chosen = data.draw(st.none() | st.sampled_from(texts))
    name = chosen.name if chosen else None
    story.apply(PlayoffDecided(texts=texts, winner=name, verdict=None, preferred=None))
    assert story.text == (chosen or texts[-1]).text
    assert len(rounds_of(story)) == len(winners)


def test_a_round_that_is_under_way_is_not_over() -> None:
    story = story_of(["A"])
    for event in one_pass(2, "B")[:-1]:
        story.apply(event)
    assert [each.number for each in rounds_of(story)] == [1]


def test_a_new_draft_that_took_the_place_of_a_rewrite_is_called_one() -> None:
    (found,) = rounds_of(story_of(["B"], fresh=True))
    assert found.sentence == "a new draft won, 2 of 3 judges"
    assert found.reason is not None
    assert found.reason.words == "The new draft is clearer."


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("anthropic/claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("local//home/ada/models/tern.gguf", "tern"),
        ("/home/ada/mine.py:Patient/x", "mine.py:Patient/x"),
        ("odd/", "odd"),
    ],
)
def test_a_model_is_named_without_where_it_lies(address: str, name: str) -> None:
    assert short_name(address) == name
