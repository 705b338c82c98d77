"""Simulated runs are runs of the tournament, and the report says what they show."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from paper.fast import play_fast
from tests.studies.simulate.scenes import SHARP, settings, world
from tests.tournament.stage import CONTESTS

from autoreason.errors import InvalidInput
from autoreason.settings import Protocol
from autoreason.studies.simulation import (
    NamedProtocol,
    Outcomes,
    SimulationPlan,
    SimulationReport,
    choose_protocols,
    named_protocol,
    play_all,
    run_study,
    summarise,
    tournament_of,
)
from autoreason.studies.world import RandomDraws, first_draft, revise, synthesize

QUIET = replace(world("run-dry"), critics=replace(world("run-dry").critics, silent=1.0, at=1e-9))


def test_the_same_seed_gives_the_same_runs() -> None:
    once, again = (play_all(world(), settings(), 3, seed=3) for _ in range(2))
    assert all(np.array_equal(one, other) for one, other in zip(once, again, strict=True))
    other = play_all(world(), settings(), 3, seed=4)
    assert not np.array_equal(once.quality, other.quality)


@pytest.mark.parametrize("name", ["help", "wander", "harm-new"])
def test_judges_who_see_the_truth_never_make_a_text_worse(name: str) -> None:
    came = play_all(replace(world(name), judges=SHARP), settings(**CONTESTS), 6, seed=1)
    assert came.worse.sum() == 0
    assert (came.quality >= 0).all()


def test_a_text_liked_for_being_new_displaces_a_better_one() -> None:
    came = play_all(world(newer=50.0, noise=0.1), settings("paper"), 5, seed=1)
    assert (came.displaced == settings("paper").passes).all()
    assert came.worse.sum() > 0


def test_reviews_go_back_and_deliver_better_texts_where_revisions_do_harm() -> None:
    without = play_all(world(), settings(reviewers=0, confirmation=0), 8, seed=1)
    with_them = play_all(world(), settings(confirmation=0), 8, seed=1)
    assert (without.displaced == settings().passes).all()
    assert with_them.displaced.max() < without.displaced.min()
    assert with_them.quality.mean() > without.quality.mean()


def test_critics_who_find_nothing_leave_a_text_unopposed_unless_they_write_prose() -> None:
    luck = RandomDraws(1, 10).cached()
    played = [tournament_of(QUIET, settings(k=2), luck, row) for row in range(10)]
    # The first draft has quality 0, where no critic falls silent; whatever is better ends the run.
    assert any(
        tournament.story.trajectory[-2:] == ("A", "A") and cast.calls.total() < 20
        for cast, tournament in played
    )
    came = play_all(QUIET, settings("paper"), 5, seed=1)
    assert (came.calls == 1 + 6 * came.passes).all()


def test_a_budget_includes_review_and_confirmation_and_leaves_room_for_one_pass() -> None:
    free = play_all(world(), settings(), 4, seed=2)
    for budget in (30, 80):
        within = play_all(world(), settings(), 4, seed=2, budget=budget)
        assert (within.calls <= budget).all()
        short = free.calls <= budget
        assert np.array_equal(within.quality[short], free.quality[short])
    assert (play_all(world(), settings(), 2, seed=2, budget=1).passes == 1).all()
    # A draft, five passes of two calls, and one review of seven before the confirmation of nine.
    five = play_all(world("help"), settings(), 2, seed=2, budget=1 + 10 + 7 + 9)
    assert (five.passes == 5).all()


def test_a_summary_says_nothing_of_displacements_where_there_were_none() -> None:
    ones = np.ones(4, dtype=np.int64)
    quality = np.array([0.0, 1.0, 2.0, 1.0])
    claimed = np.array([False, True, False, False])
    message = summarise(Outcomes(quality, ones, ones, 0 * ones, 0 * ones, claimed))
    assert message.worse is None
    assert message.claimed is not None
    assert message.claimed.value == 1 / 3
    assert message.claimed_wrongly is not None
    assert message.claimed_wrongly.value == 0
    assert message.quality.low < message.quality.value == 1.0 < message.quality.high


@pytest.mark.parametrize(("candidates", "calls"), [("B+AB", 6), ("B", 5), ("AB", 6)])
def test_a_protocol_may_do_without_the_revision_or_the_synthesis(
    candidates: str, calls: int
) -> None:
    chosen = settings("paper", candidates=candidates, passes=3)
    luck = RandomDraws(2, 4).cached()
    for row in range(4):
        cast, tournament = tournament_of(world("help"), chosen, luck, row)
        assert cast.calls.total() == 1 + calls * len(tournament.story.trajectory)
        assert set(tournament.story.trajectory) <= {"A", *candidates.split("+")}


@pytest.mark.parametrize("revisers", [2, 3])
def test_several_revisers_write_texts_of_their_own_that_compete(revisers: int) -> None:
    chosen = named_protocol("paper", {"revisers": revisers, "passes": 4}).settings
    luck, winners = RandomDraws(2, 6).cached(), set[str]()
    for row in range(6):
        cast, tournament = tournament_of(world("help"), chosen, luck, row)
        trajectory = tournament.story.trajectory
        assert cast.calls.total() == 1 + (5 + revisers) * len(trajectory)
        for one in tournament.story.passes:
            written = {cast.quality(each.text) for each in one.candidates.values()}
            assert len(written) == len(one.candidates) == revisers + 1
        winners |= {*trajectory}
    assert len(winners & {"B1", "B2", "B3"}) > 1


def test_a_plateau_ends_a_run_of_small_changes_only() -> None:
    capped = play_all(world(newer=50.0), settings("paper", passes=6), 4, seed=1)
    ends = {"passes": 6, "plateau": 2}
    small, none = (
        play_all(world(newer=50.0), settings("paper", plateau_change=share, **ends), 4, seed=1)
        for share in (1.0, 0.0)
    )
    assert (small.passes == 2).all(), "no change is larger than all words"
    assert np.array_equal(none.passes, capped.passes)


def test_a_synthesis_that_only_cuts_is_neither_better_than_both_nor_longer_than_either() -> None:
    luck = RandomDraws(1, 300).of_pass(1)
    place = replace(world("length"), synthesis=replace(world("length").synthesis, gain=1.0))
    one = first_draft(place, luck.taste[:, 0])
    other = revise(place, luck, 1, one)
    free, cut = (synthesize(place, luck, 1, one, other, subtractive=only) for only in (False, True))
    best = np.maximum(one.quality, other.quality)
    assert (cut.quality <= best).all()
    assert (cut.length <= np.minimum(one.length, other.length)).all()
    within = free.quality <= best
    assert 0 < within.sum() < 300
    assert np.array_equal(cut.quality[within], free.quality[within])


def test_a_blind_revision_owes_nothing_to_the_text_it_does_not_see() -> None:
    luck, place = RandomDraws(1, 20).of_pass(1), world("length")
    low = first_draft(place, luck.taste[:, 0])
    high = low._replace(quality=low.quality + 9, length=low.length + 9)
    for_low, for_high = (revise(place, luck, 1, text, blind=True) for text in (low, high))
    assert np.array_equal(for_low.quality, for_high.quality)
    assert np.array_equal(for_low.length, for_high.length)
    assert not np.array_equal(revise(place, luck, 1, high).quality, for_high.quality)


def test_two_processes_fill_the_table_as_one_would() -> None:
    worlds = [world("help"), world("harm-new")]
    protocols = [named_protocol("paper"), named_protocol("robust")]
    heard: list[tuple[int, int]] = []
    on_progress = lambda done, total: heard.append((done, total))  # noqa: E731
    plan = SimulationPlan(runs=30, seed=3)
    cells = run_study(worlds, protocols, plan, on_progress, play=play_fast).cells
    assert heard == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert [(cell.world, cell.protocol) for cell in cells] == [
        ("help", "paper"),
        ("help", "robust"),
        ("harm-new", "paper"),
        ("harm-new", "robust"),
    ]
    assert cells[-1:] == run_study(worlds[1:], protocols[1:], plan, play=play_fast).cells


def study(*protocols: Protocol, runs: int = 20) -> SimulationReport:
    named = [named_protocol(name) for name in protocols]
    return run_study(
        [world("help"), world("harm-new")], named, SimulationPlan(runs, 1), play=play_fast
    )


def test_a_study_concludes_which_protocol_delivers_the_best_text() -> None:
    report = study("paper", "robust", runs=2000)
    assert "of 2 worlds, beyond chance; calls on average: paper " in report.conclusion
    assert "robust delivers the best text in" in report.conclusion
    few = study("paper", "robust", runs=2)
    assert few.conclusion.startswith("no protocol delivers a better text")
    alone = study("paper")
    assert alone.conclusion.startswith("paper delivers quality ")
    assert list(alone.to_dict()) == ["conclusion", "summary", "plan", "worlds", "cells"]
    assert "the first draft has quality 0" in alone.to_text()


def changed_by(*given: str) -> NamedProtocol:
    """Our protocol with changes as they are typed."""
    return choose_protocols(["robust"], given)[-1]


def test_a_changed_protocol_is_named_after_its_changes() -> None:
    changed = changed_by("k=3", "tie_order = a > b > ab", "balanced_orders=false")
    assert changed.name == "robust k=3 tie_order=A>B>AB balanced_orders=False"
    assert (changed.settings.k, changed.settings.balanced_orders) == (3, False)
    assert changed.settings.tie_order == ("A", "B", "AB")
    assert named_protocol("paper").name == "paper"
    assert named_protocol("paper").settings.reviewers == 0


@pytest.mark.parametrize("given", ["k", "k=", "=3", ""])
def test_a_change_without_a_name_or_a_value_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="write it like k=3"):
        changed_by(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("speed=9", "unknown setting `speed`; known are drafts, k, passes"),
        ("seed=9", "unknown setting `seed`"),
        ("revisers=4", "`revisers` is 4; give how many there are, from 1 to 3"),
        ("plateau=-1", "plateau"),
        ("k=0", "`k` is 0; give a number from 1"),
        ("k=many", "k"),
        ("tie_order=B>A>AB", "`tie_order` is not A>AB>B or A>B>AB"),
    ],
)
def test_a_change_that_cannot_be_is_refused(given: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        changed_by(given)
