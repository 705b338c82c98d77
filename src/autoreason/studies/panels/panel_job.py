"""The base class of jobs that put finished texts to judges."""

from __future__ import annotations

from autoreason.errors import InvalidInput
from autoreason.jobs.job import Job
from autoreason.settings import Settings
from autoreason.task import Task


class PanelJob(Job):
    """A job over the entries of its task, in which only judges are asked."""

    prompts = ("judge", "ballot_again")

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        """There must be texts to judge."""
        if not task.entries:
            raise InvalidInput(
                f"{settings.strategy} has no texts to judge; give the task its entries"
            )
