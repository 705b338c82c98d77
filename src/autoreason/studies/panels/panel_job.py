"""The base class of jobs that put finished texts to judges."""

from __future__ import annotations

from typing import ClassVar

from autoreason.errors import InvalidInput
from autoreason.jobs.job import Job, Plan
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.tournament.judges import JUDGE_PROMPTS, seat_calls


class PanelJob(Job):
    """A job over the entries of its task, in which only judges are asked."""

    prompts = JUDGE_PROMPTS
    fewer_calls = "lower `judges`"
    ballots_per_judge: ClassVar[int] = 1
    """In one panel."""

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """The ballots of one panel, unless some have to be asked for again."""
        ballots, calls = settings.judges * cls.ballots_per_judge, seat_calls(settings)
        return {"judge": ballots}, {"judge": ballots * calls.usual}, {"judge": ballots * calls.most}

    @classmethod
    def min_calls(cls, task: Task, settings: Settings) -> int:
        """Every ballot once: a panel that pauses has no result."""
        least, _, _ = cls.plans(settings)
        return sum(least.values()) * cls.plan_count(task)

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        """There must be texts to judge."""
        if not task.entries:
            raise InvalidInput(
                f"{settings.job.name} has no texts to judge; give the task its entries"
            )
