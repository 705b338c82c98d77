"""What answers the queries of cells about their work: one examiner for all cells over a set of problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import convert

from autoreason.artifacts.research_task import research_of
from autoreason.exchange import Query, Service
from autoreason.job_types import Solve
from autoreason.journal import Journal
from autoreason.journal.run_names import suite_name
from autoreason.programs.assignment import Assignments
from autoreason.programs.policy import Policy, PolicyQuery
from autoreason.run.services import LazyService
from autoreason.settings import Settings
from autoreason.task import Task

if TYPE_CHECKING:
    from autoreason.artifacts.evaluator.caller import Evaluate


class SharedExaminer:
    """Runs the programs of all cells over a set, whose searches learn from each other."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.policy = Policy()

    async def answer(self, query: Query[Any]) -> Any:
        """What comes of a program."""
        return await self._service.answer(query)


class CellServices:
    """The services of all cells that run in this process."""

    def __init__(self, evaluate: Evaluate | None = None, examiner: Service | None = None) -> None:
        self._evaluate = evaluate
        self._examiner = SharedExaminer(examiner) if examiner else None
        """One that is open already."""
        self._opened: dict[tuple[str, bool], LazyService] = {}
        self._shared: dict[tuple[str, bool], SharedExaminer] = {}

    def of(self, run: str, task: Task, settings: Settings, journal: Journal) -> Service | None:
        """What a cell's queries go to; None where it opens a process of its own."""
        if isinstance(task.work, Assignments):
            return self._examiner or self._examiner_of(run, task.work, settings, journal)
        if self._evaluate and research_of(task):
            from autoreason.run.research import caller_service

            return caller_service(task, settings, self._evaluate, run)
        return None

    def _examiner_of(
        self, run: str, work: Assignments, settings: Settings, journal: Journal
    ) -> SharedExaminer:
        terms = settings.job_as(Solve)
        key = (terms.set, terms.unsafe)
        if key not in self._shared:
            self._opened[key] = LazyService(work, settings, run)
            self._shared[key] = SharedExaminer(self._opened[key])
            # What other processes have seen before.
            for row in journal.cells(suite_name(run)):
                for each in journal.answers(row.id).values() if row.finished else ():
                    if each.kind == PolicyQuery.kind:
                        self._shared[key].policy.learn(convert(each.question, PolicyQuery).turn)
        return self._shared[key]

    async def close(self) -> None:
        """Close the processes that were opened."""
        for each in self._opened.values():
            await each.close()
