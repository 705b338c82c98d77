"""The test as a job: every pair in both orders, three times over, with the same seeds."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, JobFinished
from autoreason.jobs.context import use_in_order
from autoreason.jobs.job import Job, Plan
from autoreason.keys import PAIR, sub_key
from autoreason.knowledge_records import Knowledge, ShownOutcomes
from autoreason.settings import Settings
from autoreason.studies.knowledge_test.knowledge_report import knowledge_report, pair_stage
from autoreason.studies.knowledge_test.recorded_pairs import RecordedPair, RecordedPairs
from autoreason.task import Task
from autoreason.tournament.judges import JUDGE_PROMPTS, cast_ballot, seat_calls

ARMS = ("without", "with", "placebo")
_WIDTH = 16
"""Pairs under way at once."""


class KnowledgeTestJob(Job):
    """Judges decide recorded pairs blind: without records, with them, and with shuffled ones."""

    summary = "whether a folder of outcomes helps judges to see which of two texts does better"
    prompts = (*JUDGE_PROMPTS, "knowledge")

    async def run(self) -> JobFinished:
        """Every pair with every judge, in both orders, under each of the three conditions."""
        self._room = asyncio.Semaphore(_WIDTH)
        works = [
            self._ask(number, arm, pair)
            for number, pair in enumerate(pairs_of(self.context.task), 1)
            for arm in ARMS
        ]
        await use_in_order(works, self._emit_all)
        return self.finish(knowledge_report(self.story).conclusion)

    def _emit_all(self, ballots: list[BallotCast]) -> None:
        for each in ballots:
            self.emit(each)

    async def _ask(self, number: int, arm: str, pair: RecordedPair) -> list[BallotCast]:
        """One pair under one condition."""
        shown = {"with": pair.known, "placebo": pair.placebo}.get(arm, ShownOutcomes())
        question = pair_stage(number, arm)
        context = self.context.within(
            question,
            self.emit,
            task=Task(
                brief=self.context.task.brief,
                knowledge=Knowledge(source="", digest="", judges=shown) if shown.all else None,
            ),
            # The same labels and the same seeds under every condition: only what is shown differs.
            seed_name=sub_key(PAIR, number),
        )
        texts = {"better": pair.better, "worse": pair.worse}
        ballots = []
        async with self._room:
            for seat in range(2 * len(self.settings.models.judges)):
                # Which text is first in the first of two orders must not tell which is better.
                turned = (seat + number) % 2 == 0
                order = ("better", "worse") if turned else ("worse", "better")
                ballot = await cast_ballot(context, PAIR, seat, order, texts, judge=seat // 2)
                ballots.append(replace(ballot, stage=question))
        return ballots

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """Of one pair."""
        ballots = 2 * len(ARMS) * len(settings.models.judges)
        calls = seat_calls(settings)
        return {"judge": ballots}, {"judge": ballots * calls.usual}, {"judge": ballots * calls.most}

    @classmethod
    def plan_count(cls, task: Task) -> int:
        """Once for each pair."""
        return len(pairs_of(task))

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        """There must be pairs."""
        if not pairs_of(task):
            raise InvalidInput(f"{settings.job.label} has no pairs; give it a folder with outcomes")


def pairs_of(task: Task | None) -> tuple[RecordedPair, ...]:
    """The pairs of a task; none where it is about something else."""
    work = task.work if task else None
    return work.pairs if isinstance(work, RecordedPairs) else ()
