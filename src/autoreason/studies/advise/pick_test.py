"""The pick test: one panel picks a draft, and fresh judges compare it with another of the drafts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from autoreason.parsing.documents import share_changed
from autoreason.report.numbers import count, percent
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.studies.advise.pilots import JUDGES, chance_of_votes
from autoreason.studies.panels.ranked import STAGE

DRAFTS = 4
WORKS = 0.65
"""More of the second panel must prefer the pick for best of n to be worth anything."""
ALIKE = 0.25
"""Texts that differ in a smaller share of their words are alike."""
PICK, OTHER = "pick", "other"


class PickTest(Struct, frozen=True, kw_only=True):
    """How fresh judges compare the pick with another draft."""

    drafts: int
    """Different ones that keep the contract."""
    distance: float | None
    """The share of words in which two drafts differ, on average; None with one draft."""
    judges: int
    """Valid ballots; 0 where there was nothing to compare."""
    prefer: int

    @property
    def works(self) -> bool:
        """Whether the second panel confirms the pick."""
        return is_confirmed(self.judges, self.prefer)

    @property
    def alike(self) -> bool:
        """Whether the drafts hardly differ."""
        return self.distance is None or self.distance < ALIKE

    def describe(self) -> str:
        """The result in a sentence."""
        if self.distance is None:
            return "the author wrote one text again and again, so there was nothing to pick"
        differ = f"{count(self.drafts, 'draft')} differ in {percent(self.distance)} of their words"
        if not self.judges:
            return f"{differ}; too few ballots were valid to compare them"
        return f"{differ}; {self.prefer} of {self.judges} fresh judges prefer the pick to another draft"


def is_confirmed(judges: int, prefer: int) -> bool:
    """Whether so many of a panel are more than could be an even split."""
    return judges > 0 and prefer / judges > WORKS


def chance_confirmed(share: float, judges: int = JUDGES) -> float:
    """How often the second panel confirms the pick if this share of all judges prefers it."""
    sizes = (k for k in range(judges + 1) if is_confirmed(judges, k))
    return sum(chance_of_votes(judges, prefer, share) for prefer in sizes)


def pick_settings(settings: Settings) -> Settings:
    """Those of the part that writes drafts and picks one."""
    return replace(
        settings,
        strategy="best_of_n",
        strategy_options={"n": DRAFTS},
        playoff=JUDGES,
        confirmation=0,
    )


def panel_settings(settings: Settings) -> Settings:
    """Those of the second panel."""
    return replace(
        settings,
        strategy="judge",
        strategy_options={},
        judges=JUDGES,
        max_judges=max(JUDGES, settings.max_judges),
    )


def read_pick(drafts: Story, panel: Story | None) -> PickTest:
    """The pick test from the stories of its two parts."""
    texts = [each.text for each in drafts.playoff.texts] if drafts.playoff else []
    ballots = panel.panels[STAGE].ballots if panel and STAGE in panel.panels else []
    decided = bool(panel and panel.panels.get(STAGE) and panel.panels[STAGE].verdict)
    firsts = [ballot.ranking[0] for ballot in ballots if ballot.ranking] if decided else []
    return PickTest(
        drafts=max(1, len(texts)),
        distance=mean_distance(texts),
        judges=len(firsts),
        prefer=firsts.count(PICK),
    )


def mean_distance(texts: Sequence[str]) -> float | None:
    """The distance between two of the texts, on average; None where there are not two."""
    pairs = [share_changed(one, other) for one, other in combinations(texts, 2)]
    return fmean(pairs) if pairs else None
