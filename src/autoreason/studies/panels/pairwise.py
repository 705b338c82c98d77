"""A panel that takes finished texts two at a time, in both orders; a judge who flips with the order abstains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from autoreason.errors import PanelFailed
from autoreason.events import BallotCast, JobFinished, PanelDecided, Verdict
from autoreason.jobs.context import use_in_order
from autoreason.jobs.job import panel_attempts
from autoreason.keys import PAIR, Key, attempt_stage, sub_key
from autoreason.report.numbers import describe_tie
from autoreason.story import RecordedPanel
from autoreason.studies.panels.panel_job import PanelJob
from autoreason.task import Task
from autoreason.tournament.evidence import chance_of_margin
from autoreason.tournament.judges import cast_ballot
from autoreason.tournament.voting import VoteResult, from_scores, quorum


class PairVote(NamedTuple):
    """One judge's vote on a pair, seen both ways round."""

    judge: int
    winner: str | None
    """None where the judge flipped with the order, or gave no valid ballot."""
    flipped: bool


class PairwisePanel(PanelJob):
    """All pairs, each judge twice: which text comes first must not decide."""

    summary = "a blind panel over finished texts, two at a time, in both orders"
    ballots_per_judge = 2

    async def run(self) -> JobFinished:
        """Run every duel and choose the text that wins the most votes."""
        texts = {entry.name: entry.text for entry in self.context.task.entries}
        for attempt in panel_attempts(self.context):
            await self._run_duels(texts, attempt)
            duels = votes_by_pair(self.story.panels)
            points = points_won(texts, duels)
            all_votes = [vote for each in duels.values() for vote in each]
            valid = sum(vote.winner is not None or vote.flipped for vote in all_votes)
            if valid >= quorum(len(all_votes)) and any(points.values()):
                result = from_scores(points, list(points))
                reason = _describe_result(result)
                return self.finish(reason, texts[result.winner], result.winner)
        if valid < quorum(len(all_votes)):
            raise PanelFailed(
                f"{valid} of {len(all_votes)} judges gave valid ballots both ways round, too few to decide"
            )
        raise PanelFailed("no judge kept to a choice when the order was reversed")

    @classmethod
    def plan_count(cls, task: Task) -> int:
        """Once for each pair."""
        return comb(len(task.entries), 2)

    async def _run_duels(self, texts: Mapping[str, str], attempt: int) -> None:
        """All pairs, all judges, at once."""
        stages = {
            attempt_stage(sub_key(PAIR, at), attempt): pair
            for at, pair in enumerate(combinations(texts, 2), 1)
        }
        seats = [
            cast_ballot(
                self.context,
                stage,
                seat,
                order,
                {name: texts[name] for name in pair},
                judge=seat // 2,
            )
            for stage, pair in stages.items()
            for seat, order in enumerate(_orders(pair, self.settings.judges))
        ]
        await use_in_order(seats, self.emit)
        for stage in stages:
            pair_votes = votes(self.story.panels[stage].ballots)
            self.emit(PanelDecided(stage=stage, verdict=pair_verdict(pair_votes)))


def _describe_result(result: VoteResult) -> str:
    """The result of all duels in a sentence, for the record."""
    votes_won = (
        f"{result.scores[result.winner]} of {sum(result.scores.values())} votes over all pairs"
    )
    if not result.tied:
        return f"{result.winner} has {votes_won}"
    return f"{describe_tie(result.scores, result.winner)}; each has {votes_won}"


def _orders(pair: tuple[str, str], judges: int) -> list[tuple[str, str]]:
    """Judge by judge both ways round; every other judge begins with the second text."""
    back = (pair[1], pair[0])
    return [order for judge in range(judges) for order in ((pair, back), (back, pair))[judge % 2]]


def votes_by_pair(panels: Mapping[str, RecordedPanel]) -> dict[tuple[str, str], list[PairVote]]:
    """The votes of every duel, by the two names in the order in which they were given."""
    return {
        (panel.ballots[0].order[0], panel.ballots[0].order[1]): votes(panel.ballots)
        for panel in duels_of(panels)
    }


def duels_of(panels: Mapping[str, RecordedPanel]) -> list[RecordedPanel]:
    """The last duel of every pair."""
    duels = [
        panel for panel in panels.values() if Key.parse(panel.stage).head == PAIR and panel.ballots
    ]
    return list({frozenset(panel.ballots[0].order): panel for panel in duels}.values())


def votes(ballots: Sequence[BallotCast]) -> list[PairVote]:
    """Two ballots of a judge are one vote, if they agree."""
    pair_votes = []
    for judge in range(len(ballots) // 2):
        firsts = [b.ranking[0] if b.ranking else None for b in ballots[2 * judge : 2 * judge + 2]]
        valid = None not in firsts
        agreed = valid and firsts[0] == firsts[1]
        pair_votes.append(PairVote(judge, firsts[0] if agreed else None, valid and not agreed))
    return pair_votes


def pair_verdict(pair_votes: Sequence[PairVote]) -> Verdict | None:
    """The verdict on a pair; None where no judge has a preference."""
    winners = [vote.winner for vote in pair_votes if vote.winner]
    if not winners:
        return None
    scores = {name: winners.count(name) for name in sorted(set(winners))}
    winner = max(scores, key=lambda name: scores[name])
    margin = 2 * scores[winner] - len(winners)
    return Verdict(
        winner=winner,
        scores=scores,
        margin=margin,
        chance=chance_of_margin(len(winners), margin, candidates=2),
        tied=margin == 0,
        ballots=len(winners),
        invalid=sum(vote.winner is None for vote in pair_votes),
        agreement=None,
    )


def points_won(
    names: Mapping[str, str], duels: Mapping[tuple[str, str], list[PairVote]]
) -> dict[str, int]:
    """Votes of each text over all its duels."""
    winners = [vote.winner for pair_votes in duels.values() for vote in pair_votes]
    return {name: winners.count(name) for name in names}
