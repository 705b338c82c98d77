"""The service of a run: opened for the first query that is not in the record, closed with the run."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from autoreason.artifacts.research_task import ResearchTask
from autoreason.artifacts.text_metric import TextMetric
from autoreason.exchange import Query, Service
from autoreason.jobs.job import read_options
from autoreason.programs.assignment import Assignments
from autoreason.settings import Settings
from autoreason.task import Work


class _Client(Protocol):
    async def close(self) -> None: ...


class LazyService:
    """Answers the queries of a run about its work, in a process that is started when it is needed."""

    def __init__(self, work: Work, settings: Settings, run: str) -> None:
        self._work, self._settings, self._run = work, settings, run
        self._opening: asyncio.Task[tuple[Service, _Client]] | None = None

    async def answer(self, query: Query[Any]) -> Any:
        """The answer of the process."""
        if self._opening is None:
            # Opened once for all callers; where that fails, all of them get the error.
            self._opening = asyncio.create_task(_open(self._work, self._settings, self._run))
        service, _ = await asyncio.shield(self._opening)
        return await service.answer(query)

    async def close(self) -> None:
        """Close the process, if it was opened."""
        if self._opening is None:
            return
        if not self._opening.done():
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if not self._opening.cancelled() and not self._opening.exception():
            _, client = self._opening.result()
            await client.close()


async def _open(work: Work, settings: Settings, run: str) -> tuple[Service, _Client]:
    match work:
        case Assignments():
            from autoreason.programs.examination import ExaminerService
            from autoreason.programs.examiner.client import ExaminerClient
            from autoreason.programs.solve_job import SolveTerms

            terms = read_options(settings, SolveTerms)
            client = await ExaminerClient.open(terms.set, unsafe=terms.unsafe)
            return ExaminerService(client), client
        case TextMetric():
            from autoreason.artifacts.evaluation_service import EvaluationService
            from autoreason.artifacts.evaluator.evaluator_client import (
                EvaluatorClient,
                OpenEvaluation,
            )
            from autoreason.tournament.metric import LOOKS
            from autoreason.tournament.metric_guard import ends_incumbent

            opening = OpenEvaluation(digest=work.evaluation, run=run)
            measuring = await EvaluatorClient.connect(opening)
            if work.role == "guard":
                return EvaluationService(measuring, needs_value=ends_incumbent), measuring
            # A judge without a number for three texts in a row is broken.
            return EvaluationService(measuring, 3 * LOOKS), measuring
        case ResearchTask():
            from autoreason.artifacts.evaluation_service import EvaluationService
            from autoreason.artifacts.evaluator.evaluator_client import (
                EvaluatorClient,
                OpenEvaluation,
            )
            from autoreason.artifacts.research_terms import ResearchTerms

            research = read_options(settings, ResearchTerms)
            opening = OpenEvaluation(
                digest=work.evaluation,
                run=run,
                start=work.files,
                unsafe=research.unsafe,
                parallel=research.parallel,
                guards=tuple(work.guard),
            )
            measuring = await EvaluatorClient.connect(opening)
            return EvaluationService(measuring), measuring
    raise TypeError(f"there is no service for {work.name}")
