"""The test as a job: every pair in both orders, three times over, with the same seeds."""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent, JobFinished
from autoreason.jobs.job import Job, Plan
from autoreason.jobs.parts import part_context, run_in_windows
from autoreason.keys import PAIR, PartName
from autoreason.knowledge_records import Knowledge, ShownOutcomes
from autoreason.settings import Settings
from autoreason.studies.knowledge_test.knowledge_report import knowledge_report
from autoreason.studies.knowledge_test.recorded_pairs import RecordedPair, RecordedPairs
from autoreason.task import Task
from autoreason.tournament.judges import JUDGE_PROMPTS, cast_ballot, seat_calls

ARMS = ("without", "with", "placebo")
_WIDTH = 16
"""Pairs under way at once."""


class KnowledgeTestOptions(Struct, frozen=True, kw_only=True):
    """What was tested."""

    folder: str
    """Where it is, for the verdict to be recorded there."""


class KnowledgeTest(Job):
    """Judges decide recorded pairs blind: without records, with them, and with shuffled ones."""

    summary = "whether a folder of outcomes helps judges to see which of two texts does better"
    prompts = (*JUDGE_PROMPTS, "knowledge")
    options_type = KnowledgeTestOptions

    async def run(self) -> JobFinished:
        """Every pair with every judge, in both orders, under each of the three conditions."""
        pairs = pairs_of(self.context.task)
        await run_in_windows(
            (
                partial(self._ask, number, arm, pair)
                for number, pair in enumerate(pairs, 1)
                for arm in ARMS
            ),
            _WIDTH,
            2 * _WIDTH,
        )
        return self.finish(knowledge_report(self.story).conclusion)

    async def _ask(self, number: int, arm: str, pair: RecordedPair) -> None:
        """One pair under one condition; its keys and events are those of a part."""
        shown = {"with": pair.known, "placebo": pair.placebo}.get(arm, ShownOutcomes())
        task = Task(
            brief=self.context.task.brief,
            knowledge=Knowledge(source="", digest="", judges=shown) if shown.all else None,
        )
        ballots: list[AnyEvent] = []
        context = part_context(
            self.context,
            str(PartName(arm, 1, number)),
            ballots.append,
            task,
            self.settings,
            # The same labels and the same seeds under every condition: only what is shown differs.
            seed_name=f"{PAIR}/{number}",
        )
        texts = {"better": pair.better, "worse": pair.worse}
        for seat in range(2 * len(self.settings.models.judges)):
            # Which text is first in the first of two orders must not tell which is better.
            turned = (seat + number) % 2 == 0
            order = ("better", "worse") if turned else ("worse", "better")
            context.emit(await cast_ballot(context, PAIR, seat, order, texts, judge=seat // 2))
        for event in ballots:
            self.emit(event)

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
            raise InvalidInput(f"{settings.strategy} has no pairs; give it a folder with outcomes")


def pairs_of(task: Task | None) -> tuple[RecordedPair, ...]:
    """The pairs of a task; none where it is about something else."""
    work = task.work if task else None
    return work.pairs if isinstance(work, RecordedPairs) else ()
