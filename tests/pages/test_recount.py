"""What if: recorded votes counted again say what the record says, and nothing beyond the first difference."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.pages.plays import SEEDS, random_story

from autoreason.pages.recount import Choice, judge_of, recount_all
from autoreason.settings import Settings
from autoreason.story import RecordedPass
from autoreason.tournament.voting import count_votes, in_tie_order, pass_size


@pytest.mark.parametrize("seed", SEEDS)
def test_the_recorded_rules_change_nothing(seed: int) -> None:
    story = random_story(seed)
    if found := recount_all(story):
        recount = found.recounts[found.recorded]
        assert recount.sentence.startswith("Nothing changes")
        assert recount.until == len(story.trajectory)
        assert not recount.more + recount.fewer


def winner(one: RecordedPass, choice: Choice, settings: Settings, models: int) -> str:
    """Who wins a round by a choice; A where too few votes are left."""
    if one.verdict is None:
        return (one.decided.winner if one.decided else None) or "A"
    cast = [ballot for ballot in one.ballots if judge_of(ballot, models) != choice.without]
    rankings = [ballot.ranking for ballot in cast if ballot.ranking]
    size = pass_size(settings, one.verdict.scores)
    if len(rankings) < size.quorum(len(cast)):
        return "A"
    order, lead = in_tie_order(one.verdict.scores, settings), size.required_lead
    if choice.ties == "goes to the challenger":
        order, lead = [*(name for name in order if name != "A"), "A"], 1
    return count_votes(choice.rule, rankings, order, lead).winner


@pytest.mark.parametrize("seed", SEEDS)
def test_a_choice_parts_where_its_own_count_first_gives_another_text(seed: int) -> None:
    story = random_story(seed)
    if (found := recount_all(story)) is None or story.settings is None:
        return
    models = len({ballot.model for one in story.passes for ballot in one.ballots})
    for choice, recount in found.recounts.items():
        differs = [
            one.number
            for one in story.passes
            if one.decided
            and winner(one, choice, story.settings, models) != (one.decided.winner or "A")
        ]
        if recount.parted:
            assert recount.until + 1 == differs[0]
        else:
            assert not differs or differs[0] > recount.until


@pytest.mark.parametrize("seed", SEEDS)
def test_more_in_a_row_never_stops_sooner(seed: int) -> None:
    found = recount_all(random_story(seed))
    for choice in found.recounts if found else ():
        assert found is not None
        row = [found.recounts[Choice(*choice[:3], k)].until for k in found.ks]
        assert all(fewer <= more for fewer, more in pairwise(row))
