"""From the story of a panel to its report."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from autoreason.contract import count_words
from autoreason.job_types import Judge
from autoreason.jobs.job import last_panel
from autoreason.story import Story
from autoreason.studies.panels.pairwise import duels_of, votes_by_pair
from autoreason.studies.panels.panel_report import CountedBallot, PanelReport, report
from autoreason.studies.panels.ranked import STAGE
from autoreason.task import Entry
from autoreason.tournament.evidence import chance_of_win


def panel_report(story: Story) -> PanelReport:
    """The report of a finished panel, ranked or in pairs."""
    assert story.task is not None
    rules = story.task.contract.violations
    broken = {e.name: tuple(v.message for v in rules(e.text)) for e in story.task.entries}
    cut_from = story.job.cut_from if isinstance(story.job, Judge) else {}
    return replace(
        _fold(story, words_of(story.task.entries)),
        violations=broken,
        # A suite records the lengths of all arms, also of one whose text is judged under another's name.
        words_before_cut={name: cut_from[name] for name in broken if name in cut_from},
    )


def _fold(story: Story, words: Mapping[str, int]) -> PanelReport:
    panel = last_panel(story.panels, STAGE)
    if panel is None:
        return _fold_pairs(story, words)
    judged = [
        CountedBallot(ranking=tuple((name,) for name in ballot.ranking), cluster=0)
        for ballot in panel.ballots
        if ballot.ranking
    ]
    if panel.verdict is None or story.settings is None:
        return report(judged, words, panel.ballots)
    by_chance = chance_of_win(len(judged), len(words), story.settings.voting)
    chance = panel.verdict.chance
    return report(judged, words, panel.ballots, chance=chance, wins_by_chance=by_chance)


def _fold_pairs(story: Story, words: Mapping[str, int]) -> PanelReport:
    duels = votes_by_pair(story.panels)
    judged = [
        CountedBallot(ranking=((vote.winner,), (other if vote.winner == one else one,)), cluster=0)
        for (one, other), pair_votes in duels.items()
        for vote in pair_votes
        if vote.winner
    ]
    ballots = [ballot for panel in duels_of(story.panels) for ballot in panel.ballots]
    flipped = sum(vote.flipped for pair_votes in duels.values() for vote in pair_votes)
    return report(judged, words, ballots, abstained=flipped, pairwise=True)


def words_of(entries: tuple[Entry, ...]) -> dict[str, int]:
    """Names and lengths, in the order in which the texts were given."""
    return {entry.name: count_words(entry.text) for entry in entries}
