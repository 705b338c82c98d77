"""Judges' weights in the playoff: what they decide, what they leave alone, and what chance gives with them."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli import made_up
from tests.tournament.stage import Played, play, vote

from autoreason.cli.views import plain
from autoreason.events import BallotCast, CodeBallot, PanelDecided, PlayoffDecided
from autoreason.exchange import Request
from autoreason.knowledge_records import Knowledge
from autoreason.settings import Models
from autoreason.tournament import statements
from autoreason.tournament.evidence import chance_of_margin
from autoreason.tournament.panel import verdict_of
from autoreason.tournament.voting import QUARTERS, PanelSize, count_votes

GOOD, POOR = "scripted/good", "scripted/poor"
NAMES = ("x", "y", "z")


def judge(request: Request) -> str:
    """In the playoff, the good judge alone prefers the first text."""
    newest = ("made in 2", "made in 1", "First")
    first = request.key.startswith("playoff") and request.model == GOOD
    return vote(*(reversed(newest) if first else newest))(request)


async def panel_of(*judges: str, **weights: float) -> Played:
    """A run over two passes with these judges by turns."""
    models = Models(author=GOOD, critic=GOOD, synthesizer=GOOD, judges=judges)
    tested = {f"scripted/{name}": weight for name, weight in weights.items()}
    known = Knowledge(source="kb/", digest="", weights=tested)
    return await play({"judge": judge}, models=models, knowledge=known, passes=2, playoff=5)


def final(played: Played) -> PlayoffDecided:
    (event,) = played.of(PlayoffDecided)
    return event


async def test_a_judge_that_was_right_more_often_outvotes_more_judges() -> None:
    # Seats are taken in turn: poor, good, poor, good, poor.
    plain_vote, weighted = await panel_of(POOR, GOOD), await panel_of(POOR, GOOD, poor=0.5, good=2)
    assert final(plain_vote).winner != "draft"
    assert final(plain_vote).weights == {}
    assert final(weighted).winner == "draft"
    assert final(weighted).weights == {POOR: 0.5, GOOD: 2}
    said = "weighted by how often judges were right about your records (scripted/poor 0.5 and scripted/good 2)"
    assert said in statements.playoff(final(weighted))
    assert said in plain.playoff(final(weighted))
    assert "weighted" not in statements.playoff(final(plain_vote))


@pytest.mark.parametrize(
    ("judges", "weights"),
    [
        ((GOOD,), {"good": 2.0}),
        ((GOOD, POOR), {"good": 2.0}),
        ((GOOD, POOR), {"good": 2.0, "poor": 2.0}),
        ((GOOD, GOOD), {"good": 2.0, "poor": 0.5}),
    ],
)
async def test_weights_change_nothing_unless_every_judge_was_tested_and_they_differ(
    judges: tuple[str, ...], weights: dict[str, float]
) -> None:
    assert final(await panel_of(*judges, **weights)) == final(await panel_of(*judges))


async def test_weights_are_used_in_the_playoff_alone() -> None:
    one, other = await panel_of(POOR, GOOD), await panel_of(POOR, GOOD, poor=0.75, good=1)
    assert final(one).winner == final(other).winner
    assert [e for e in one.events if not isinstance(e, PlayoffDecided)] == [
        e for e in other.events if not isinstance(e, PlayoffDecided)
    ]
    assert other.of(PanelDecided)


# Few sizes, because what chance gives is drawn anew for each.
ballots = st.lists(st.permutations(NAMES), min_size=2, max_size=4)


def cast(rankings: list[list[str]]) -> list[BallotCast]:
    return [
        BallotCast(
            stage="playoff", seat=at, model="m", order=NAMES, labels=NAMES, ranking=tuple(one)
        )
        for at, one in enumerate(rankings)
    ]


@given(ballots, st.sampled_from(["borda", "majority", "copeland"]), st.sampled_from([1, 7]))
def test_equal_weights_decide_as_no_weights_do(
    rankings: list[list[str]], rule: str, weight: int
) -> None:
    size = len(rankings)
    without = verdict_of(cast(rankings), NAMES, rule, PanelSize(size))
    weighted = verdict_of(cast(rankings), NAMES, rule, PanelSize(size, weights=(weight,)))
    assert (weighted.winner, weighted.tied) == (without.winner, without.tied)
    assert (weighted.ballots, weighted.agreement) == (without.ballots, without.agreement)
    assert weighted.chance == pytest.approx(without.chance, abs=0.05)


@given(ballots, st.sampled_from([[1, 6], [2, 12, 3]]))
def test_a_ballot_of_weight_three_counts_as_three(
    rankings: list[list[str]], weights: list[int]
) -> None:
    found = verdict_of(
        cast(rankings), NAMES, "borda", PanelSize(len(rankings), weights=tuple(weights))
    )
    repeated = [one for at, one in enumerate(rankings) for _ in range(weights[at % len(weights)])]
    assert found.scores == count_votes("borda", repeated, NAMES).scores


def test_the_chance_of_a_margin_with_weights_is_that_of_all_panels() -> None:
    weights = (1, 6, 1)
    margins = [
        count_votes("borda", [one, *[two] * 6, three], NAMES).margin
        for one, two, three in product(permutations(NAMES), repeat=3)
    ]
    size = PanelSize(3, weights=weights)
    for margin in sorted(set(margins)):
        exact = sum(each >= margin for each in margins) / len(margins)
        assert chance_of_margin(size, margin) == pytest.approx(exact, abs=0.04)
    assert chance_of_margin(PanelSize(3, weights=weights), 99) > 0


def test_a_seat_without_a_ballot_has_no_part_in_the_chance() -> None:
    size = PanelSize(3, weights=(1, 6, 1))
    # Of two ballots that count once each, either all or nothing can be between the first and the next.
    assert chance_of_margin(size, 3, invalid=(1,)) < chance_of_margin(size, 3)


def test_a_metric_counts_as_a_judge_of_whom_nothing_is_known() -> None:
    metric = CodeBallot(ranking=("z", "y", "x"), values={"x": 0.0, "y": 1.0, "z": 2.0})
    size = PanelSize(2, weights=(1, 6)).with_code([metric], NAMES)
    found = verdict_of(cast([list(NAMES)] * 2), NAMES, "borda", size, code={"metric": metric})
    votes = [*[("z", "y", "x")] * QUARTERS, *[NAMES] * 7]
    assert found.scores == count_votes("borda", votes, NAMES).scores
    margins = [
        count_votes("borda", [*votes[:QUARTERS], one, *[two] * 6], NAMES).margin
        for one, two in product(permutations(NAMES), repeat=2)
    ]
    exact = sum(each >= found.margin for each in margins) / len(margins)
    assert found.chance == pytest.approx(exact, abs=0.04)


def test_a_playoff_of_an_older_record_has_no_weights() -> None:
    decided = next(e for e in made_up.playoff() if isinstance(e, PlayoffDecided))
    assert statements.weights(decided) == ""
