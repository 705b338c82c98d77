"""What the first line of an ending says where fresh judges toss coins: every outcome is counted."""

from __future__ import annotations

from math import comb

from msgspec.structs import replace
from tests.cases import cases
from tests.cli import made_up

from autoreason.events import Preference
from autoreason.stats.shares import exact_share
from autoreason.story import build_story
from autoreason.tournament.endings import preference


@cases("judges", range(1, 32))
def test_judges_who_toss_coins_are_said_to_prefer_either_text_once_in_forty_times_at_most(
    judges: int,
) -> None:
    story = build_story(made_up.whole_run())
    assert story.draft is not None
    story.draft = replace(story.draft, given=False)
    result = draft = 0.0
    for prefer in range(judges + 1):
        share = exact_share(prefer, judges)
        assert share.low is not None
        assert share.high is not None
        found = Preference(judges=judges, prefer=prefer, low=share.low, high=share.high)
        line, chance = preference(story, found), comb(judges, prefer) / 2**judges
        claims = not line.startswith(("Too close to call", "Too few to tell"))
        assert line.startswith("Too few") == (not claims and prefer in (0, judges))
        result += chance * (claims and line.endswith("prefer it to the first draft."))
        draft += chance * (claims and line.endswith("prefer the first draft to it."))
        assert claims == (line[0].isdigit())
    assert max(result, draft) <= 1 / 40
    assert (result > 0) == (judges > 5)
