"""Rounds as people read them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.tournament.stage import UNSEEN, play, vote

from autoreason.events import (
    AnyEvent,
    BallotCast,
    CandidateDropped,
    CandidateReady,
    CritiqueProblem,
    CritiqueWritten,
    DraftReady,
    PassDecided,
    PassStarted,
    ReviewDecided,
    Slot,
)
from autoreason.exchange import Request
from autoreason.settings import Models, make_settings
from autoreason.story import RecordedPass, Story, build_story
from autoreason.tournament.panel import verdict_of
from autoreason.tournament.rounds import (
    Chapter,
    is_new_draft,
    short_name,
    tell,
    unblind,
)

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
    rounds = tell(story)
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
def test_the_last_text_so_far_is_delivered_unless_a_review_chose_another(
    winners: list[Slot | None], data: st.DataObject
) -> None:
    story = story_of(winners)
    texts = tuple(story.incumbents)
    chosen = data.draw(st.none() | st.sampled_from(texts))
    name = chosen.name if chosen else None
    story.apply(ReviewDecided(texts=texts, winner=name, verdict=None, preferred=None))
    assert story.text == (chosen or texts[-1]).text
    assert len(tell(story)) == len(winners) + 1


async def reviewed(*reviews: str) -> list[Chapter]:
    """Two rewrites, unseen, before each review: how its judges rank draft and rounds; 0 is not at all."""

    def judge(request: Request) -> str:
        _, after, _, seat, *_ = request.key.split("/")
        best = reviews[int(after) // 2 - 1].split(", ")[int(seat)].split()
        texts = [f"made in {each}." if each != "d" else "First" for each in best]
        return "I cannot say." if best == ["0"] else vote(*texts)(request)

    judges = len(reviews[0].split(", "))
    held = {"passes": 2 * len(reviews), "review_every": 2, "reviewers": judges}
    played = await play({"judge": judge}, **UNSEEN | held)
    story = build_story(played.events)
    story.settings = played.settings
    return tell(story)


async def test_a_review_says_which_text_is_put_first_and_where_it_goes_on() -> None:
    chapters = await reviewed("1, 1, d", "4, 4, d", "0, 0, 0", "d, d, d")
    assert [each.sentence for each in chapters if not each.is_review] == ["rewritten"] * 8
    reviews = [each for each in chapters if each.is_review]
    assert [f"{each.name}: {each.sentence}" for each in reviews] == [
        "review after round 2: the text of round 1 is put first by 2 of 3 judges: back to it",
        "review after round 4: the text of round 4 is put first by 2 of 3 judges",
        "review after round 6: too few rankings could be read: back to the text of round 4",
        "review after round 8: the first draft is put first by 3 of 3 judges: back to it",
    ]
    assert [each.left and each.left.since for each in reviews] == [1, 4, 4, 0]
    given_up = {each.number: each.note[-2:] for each in chapters if "Given up" in each.note}
    assert given_up == {1: "8.", 2: "2.", 3: "8.", 4: "8.", 5: "6.", 6: "6.", 7: "8.", 8: "8."}


@pytest.mark.parametrize(
    ("rankings", "sentence", "note"),
    [
        (
            "d 1 2, d 1 2, 1 2 d, 2 1 d",
            "the text of round 1 is put first on points: back to it",
            "It won on points, 9 to 8: every place counts, though more judges put the first draft first.",
        ),
        (
            "1 2 d, 2 1 d",
            "the text of round 2 is put first by 1 of 2 judges",
            "The text of round 1 came equal: a tie goes to the latest.",
        ),
        (
            "2 1 d, 2 1 d, 2 1 d, 1 2 d, 1 2 d, d 2 1, d 2 1",
            "the text of round 2 is put first on points",
            "",
        ),
    ],
)
async def test_a_review_says_how_a_text_is_first_where_most_judges_do_not_say_so(
    rankings: str, sentence: str, note: str
) -> None:
    *_, found = await reviewed(rankings)
    assert (found.outcome, found.note) == (sentence, note)


def test_a_round_under_way_is_not_over_and_a_new_draft_that_won_is_called_one() -> None:
    story = story_of(["A"])
    for event in one_pass(2, "B")[:-1]:
        story.apply(event)
    assert [each.left is not None for each in tell(story)] == [True, False]
    (found,) = tell(story_of(["B"], fresh=True))
    assert found.sentence == "a new draft won, 2 of 3 judges"
    assert found.reason is not None
    assert found.reason.words == "[The new draft] is clearer."


@pytest.mark.parametrize("faults", [0, 1])
@pytest.mark.parametrize("left_out", ["B AB B B", "B", "B1 B2 AB B"])
def test_of_texts_that_were_left_out_new_drafts_come_after_the_rewrites(
    faults: int, left_out: str
) -> None:
    problem = CritiqueProblem(severity="major", kind="missing", problem="No date.")
    one = RecordedPass(1, "The draft.")
    one.critiques = [CritiqueWritten(number=1, critic=0, problems=(problem,) * faults)]
    slots: Any = left_out.split()
    one.dropped = [CandidateDropped(number=1, slot=slot, reason="empty") for slot in slots]
    new = [at for at, slot in enumerate(slots) if slot == "B" and (at or not faults)]
    assert [at for at, each in enumerate(one.dropped) if is_new_draft(each, one)] == new


@pytest.mark.parametrize(
    ("wrote", "shown"),
    [
        ("KX says more than QZ.", "[The first draft] says more than [the rewrite]."),
        ("it is short. Text KX is not.", "it is short. [The first draft] is not."),
        ("I prefer **QZ**, not [KX].", "I prefer [the rewrite], not [the first draft]."),
        ("The version QZ's end [see KX]", "[The rewrite]'s end [see [the first draft]]"),
    ],
)
def test_a_judges_words_stay_but_for_names_of_texts_in_brackets(wrote: str, shown: str) -> None:
    (chapter,) = tell(story_of(["B"]))
    assert unblind(wrote, chapter.step.ballots[0], chapter.describe) == shown


@pytest.mark.parametrize(
    ("rule", "how"),
    [("borda", "on points, 9 to 8: every place counts"), ("copeland", "head to head")],
)
def test_how_a_text_won_is_said_where_another_has_more_first_places(rule: str, how: str) -> None:
    story = story_of(["B"])
    story.settings = make_settings(Models.everywhere("test/judge"), 1, voting=rule)
    (one,) = story.passes
    assert one.decided is not None
    one.ballots = [
        replace(one.ballots[0], seat=seat, ranking=tuple(each.split()))
        for seat, each in enumerate(["A B AB", "A B AB", "B AB A", "AB B A"])
    ]
    verdict = verdict_of(one.ballots, ("A", "B", "AB"), rule, 4)
    one.decided = replace(one.decided, verdict=verdict)
    (found,) = tell(story)
    assert found.outcome == f"the rewrite won {how.partition(',')[0]}"
    assert found.note == f"It won {how}, though more judges put the first draft first."
    one.ballots = one.ballots[1:]
    assert tell(story)[0].note.endswith("though as many judges put the first draft first.")
    split = "first places split 1 to 1 to 1"
    assert tell(story)[0].sentence == f"the rewrite won {how.partition(',')[0]}, {split}"
    one.ballots = [*one.ballots, replace(one.ballots[1], seat=9)]
    assert tell(story)[0].sentence == "the rewrite won, 2 of 4 judges"


def test_a_text_that_won_a_tie_says_so() -> None:
    story = story_of(["AB"])
    story.settings = make_settings(Models.everywhere("test/judge"), 1, voting="borda")
    (one,) = story.passes
    assert one.decided is not None
    verdict = replace(verdict_of(one.ballots, ("A", "AB"), "borda", 4), margin=0, tied=True)
    one.decided = replace(one.decided, verdict=verdict)
    assert tell(story)[0].outcome == "the merge won, equal on points and the smaller change"


@pytest.mark.parametrize(
    ("outcome", "margin", "says"),
    [
        ("unconfirmed", 0, "kept, does not count: no text was ahead on points"),
        ("decided", 0, "kept: equal on points, and a tie keeps the text so far"),
        ("decided", -1, "kept: no text led it by enough"),
        ("decided", 1, "kept"),
    ],
)
def test_a_text_that_is_kept_without_a_lead_says_why(outcome: Any, margin: int, says: str) -> None:
    story = story_of(["A"])
    story.settings = make_settings(Models.everywhere("test/judge"), 1, voting="borda")
    (one,) = story.passes
    assert one.decided is not None
    verdict = replace(verdict_of(one.ballots, ("A", "AB"), "borda", 4), margin=margin)
    one.decided = replace(one.decided, outcome=outcome, verdict=verdict)
    assert tell(story)[0].outcome == says


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
