"""One judge, a required lead, a plateau: what they change in a run, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tournament.stage import Played, document, play, vote

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, PassDecided
from autoreason.exchange import Request
from autoreason.settings import Models, make_settings
from autoreason.story import build_story
from autoreason.tournament import statements
from autoreason.tournament.loop import Tournament

QUIET: dict[str, Any] = {"extra_judges": 0, "playoff": 0, "confirmation": 0}


def decided(played: Played) -> list[PassDecided]:
    """How the passes ended."""
    return played.of(PassDecided)


def divided(request: Request) -> str:
    """Two judges of three prefer B to A, and one A to B: B has 8 points and A has 7."""
    first = "/judge/0/" in request.key
    best_first = ("First", "Second", "Third") if first else ("Second", "First", "Third")
    return vote(*best_first)(request)


async def test_one_judge_decides_where_one_is_asked_for_by_name() -> None:
    played = await play(k=1, playoff=0, confirmation=0, single_judge=True)
    (cast,) = played.of(BallotCast)
    (end,) = decided(played)
    assert (end.outcome, end.winner, cast.ranking) == ("decided", "A", ("A", "B", "AB"))
    assert end.survival_chance == pytest.approx(1 / 3)
    # One vote puts one text first whatever it says: no margin of it is worth anything.
    assert end.verdict is not None
    assert (end.verdict.chance, end.verdict.agreement) == (1.0, None)


async def test_of_one_vote_it_is_said_that_it_is_no_panel() -> None:
    for single in (True, False):
        changes: dict[str, Any] = {"single_judge": True} if single else {}
        played = await play(k=1, playoff=0, confirmation=0, **changes)
        assert played.delivered is not None
        story = build_story(played.events)
        story.settings = played.settings
        rows = dict(statements.evidence(played.delivered.evidence, story, ()))
        assert rows.get("Panel", "") == (statements.ONE_VOTE if single else "")
        assert "nothing can be claimed" in rows["Confirmation"]


async def test_an_unreadable_vote_of_a_single_judge_decides_nothing() -> None:
    played = await play({"judge": "?"}, single_judge=True, playoff=0, confirmation=0)
    assert {each.outcome for each in decided(played)} == {"inconclusive"}


@pytest.mark.parametrize(("lead", "winner"), [(1, "B"), (2, "A"), (9, "A")])
@pytest.mark.parametrize("early_stop", [True, False])
async def test_a_challenger_needs_the_lead_that_is_required(
    lead: int, winner: str, early_stop: bool
) -> None:
    changes = {**QUIET, "early_stop": early_stop, "passes": 1}
    played = await play({"judge": divided}, **changes, required_lead=lead)
    usual = await play({"judge": divided}, **changes)
    (end,), (before,) = decided(played), decided(usual)
    assert end.winner == winner
    assert end.verdict is not None
    assert before.verdict is not None
    assert end.verdict.required_lead == lead
    if not early_stop:
        assert end.verdict.scores == before.verdict.scores == {"A": 7, "B": 8, "AB": 3}
        assert played.requests == usual.requests


async def test_a_stays_behind_where_no_lead_is_large_enough_and_it_is_said() -> None:
    played = await play(
        {"judge": vote("Second", "First", "Third")}, **QUIET, passes=1, required_lead=4
    )
    (end,) = decided(played)
    assert end.verdict is not None
    assert (end.winner, end.streak, end.verdict.margin) == ("A", 0, -3)
    assert (end.verdict.chance, end.verdict.tied) == (1.0, False)
    sentence = statements.decided(end)
    assert sentence.startswith("A stays")
    assert "3 points behind, and a challenger needs a lead of 4" in sentence
    assert sentence.endswith("; that confirms nothing")


async def test_where_a_is_not_on_the_ballot_no_lead_is_required() -> None:
    script: dict[str, Any] = {
        "reviser": document("Second text."),
        "synthesizer": document("Third text."),
        "judge": vote("Second", "Third"),
    }
    played = await play(
        script,
        draft="First text is too long to be any good.",
        contract=Contract(max_words=3),
        required_lead=9,
        passes=1,
        **QUIET,
    )
    (end,) = decided(played)
    assert end.verdict is not None
    assert (end.winner, end.verdict.required_lead) == ("B", 1)


def rewritten(words: int) -> dict[str, Any]:
    """An author who changes so many of twenty words in every pass, and judges who like it."""

    def revise(request: Request) -> str:
        number = request.key.split("/")[1]
        return document(
            " ".join([*(f"new{number}x{n}" for n in range(words)), *["same"] * (20 - words)])
        )

    return {
        "reviser": revise,
        "synthesizer": document("A text that no one likes."),
        "judge": vote("new", "same"),
    }


DRAFT = " ".join(["same"] * 20)


@pytest.mark.parametrize(("plateau", "passes"), [(0, 5), (1, 1), (2, 2), (4, 4)])
async def test_passes_in_a_row_that_change_little_end_the_run(plateau: int, passes: int) -> None:
    played = await play(rewritten(2), draft=DRAFT, plateau=plateau, passes=5, **QUIET)
    assert len(decided(played)) == passes
    assert played.delivered is not None
    assert played.delivered.status == "capped"
    named = "a plateau: " in played.delivered.reason
    assert named == bool(plateau)
    if plateau > 1:
        row = f"each of the last {plateau} changes was at most 10 % of the words"
        assert row in played.delivered.reason


async def test_a_survival_is_no_change_and_is_left_to_k() -> None:
    played = await play({"judge": vote("First")}, plateau=1, **QUIET)
    assert played.delivered is not None
    assert played.delivered.status == "converged"


@pytest.mark.parametrize(("share", "passes"), [(0.1, 5), (0.15, 2)])
async def test_a_larger_change_is_no_plateau_unless_it_is_allowed(
    share: float, passes: int
) -> None:
    played = await play(
        rewritten(3), draft=DRAFT, plateau=2, plateau_change=share, passes=5, **QUIET
    )
    assert len(decided(played)) == passes


@pytest.mark.parametrize(
    ("lead", "most", "changes"),
    [
        (13, 12, {}),
        (7, 6, {"extra_judges": 0}),
        (4, 3, {"extra_judges": 0, "candidates": "B"}),
        (4, 3, {"extra_judges": 0, "voting": "majority"}),
        (5, 4, {"voting": "copeland"}),
    ],
)
def test_a_lead_that_none_can_have_is_refused(
    lead: int, most: int, changes: dict[str, Any]
) -> None:
    models = Models.everywhere("scripted/x")
    Tournament.check(make_settings(models, 1, required_lead=most, **changes))
    with pytest.raises(InvalidInput, match=f"none can lead by more than {most}; give {most} or"):
        Tournament.check(make_settings(models, 1, required_lead=lead, **changes))
