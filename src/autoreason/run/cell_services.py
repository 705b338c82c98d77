"""What answers the queries of cells about their work: one examiner for all cells over a set of problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreason.artifacts.research_task import research_of
from autoreason.exchange import Service
from autoreason.jobs.job import read_options
from autoreason.programs.solve_job import SolveTerms
from autoreason.programs.task import Assignments
from autoreason.run.lazy_service import LazyService
from autoreason.settings import Settings
from autoreason.task import Task

if TYPE_CHECKING:
    from autoreason.artifacts.evaluator.caller import Evaluate


class CellServices:
    """The services of all cells that run in this process."""

    def __init__(self, evaluate: Evaluate | None = None) -> None:
        self._evaluate = evaluate
        self._examiners: dict[tuple[str, bool], LazyService] = {}

    def of(self, run: str, task: Task, settings: Settings) -> Service | None:
        """What a cell's queries go to; None where it opens a process of its own."""
        if isinstance(task.work, Assignments):
            terms = read_options(settings, SolveTerms)
            key = (terms.set, terms.unsafe)
            if key not in self._examiners:
                self._examiners[key] = LazyService(task.work, settings, run)
            return self._examiners[key]
        if self._evaluate and research_of(task):
            from autoreason.run.research import caller_service

            return caller_service(task, settings, self._evaluate, run)
        return None

    async def close(self) -> None:
        """Close the processes that were opened."""
        for each in self._examiners.values():
            await each.close()
