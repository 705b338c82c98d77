"""What answers the queries of a run: a process that is started when it is needed, or this one."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from msgspec.structs import replace

from autoreason.artifacts.artifact import KnownEvaluationQuery, Measurement, OrderQuery, Orders
from autoreason.artifacts.proposals import TuningQuery, suggest
from autoreason.artifacts.research_task import ResearchTask, TextMetric
from autoreason.exchange import Query, Service
from autoreason.job_types import Research, Solve
from autoreason.programs.assignment import Assignments
from autoreason.programs.policy import Policy, PolicyQuery
from autoreason.run.record import Memory
from autoreason.settings import Settings
from autoreason.task import Work
from autoreason.tournament.panel import Prediction, PredictionQuery


class _Client(Protocol):
    async def close(self) -> None: ...


class LazyService:
    """Answers the queries of a run about its work, in a process that is started when it is needed."""

    def __init__(self, work: Work, settings: Settings, run: str) -> None:
        self._work, self._settings, self._run = work, settings, run
        self._opening: asyncio.Task[tuple[Service, _Client]] | None = None

    async def answer(self, query: Query[Any]) -> Any:
        if self._opening is None:
            # Opened once for all callers; where that fails, all of them get the error.
            self._opening = asyncio.create_task(_open(self._work, self._settings, self._run))
        service, _ = await asyncio.shield(self._opening)
        return await service.answer(query)

    async def close(self) -> None:
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
            from autoreason.programs.examiner.process import ExaminerClient

            terms = settings.job_as(Solve)
            client = await ExaminerClient.open(terms.set, unsafe=terms.unsafe)
            return ExaminerService(client), client
        case TextMetric() | ResearchTask():
            from autoreason.artifacts.artifact import EvaluationService
            from autoreason.artifacts.evaluators import EvaluatorClient, OpenEvaluation
            from autoreason.tournament.challengers import ends_incumbent
            from autoreason.tournament.panel import EVALUATIONS

            opening = OpenEvaluation(digest=work.evaluation, run=run)
            if isinstance(work, ResearchTask):
                research = settings.job_as(Research)
                opening = replace(
                    opening,
                    start=work.files,
                    unsafe=research.unsafe,
                    # Times are measured one after another.
                    parallel=1 if work.timed else research.parallel,
                    guards=tuple(work.guard),
                )
            measuring = await EvaluatorClient.connect(opening)
            if isinstance(work, ResearchTask):
                return EvaluationService(measuring), measuring
            if work.role == "guard":
                return EvaluationService(measuring, needs_value=ends_incumbent), measuring
            # A judge without a number for three texts in a row is broken.
            return EvaluationService(measuring, 3 * EVALUATIONS), measuring
    raise TypeError(f"there is no service for {work.name}")


class LocalAnswers:
    """Answers queries for which nothing is started; created with the first query, for most runs have none."""

    def __init__(self, memory: Memory, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._orders = Orders(memory.questions(OrderQuery))

    def note(self, query: Query[Any]) -> None:
        """Learn from a query, whether its answer is recorded or not."""
        if isinstance(query, PolicyQuery):
            self._policy.learn(query.turn)

    async def answer(self, query: Query[Any]) -> Any:
        match query:
            case PolicyQuery():
                return self._policy.choose(query.turn)
            case OrderQuery():
                return self._orders.answer(query)
            case KnownEvaluationQuery(known=Measurement() as known):
                return replace(known, repeated=True)
            case TuningQuery():
                return await asyncio.to_thread(suggest, query)
            case PredictionQuery():
                from autoreason.knowledge.predictor import load_ridge

                fitted = await asyncio.to_thread(load_ridge, query.fit)
                return Prediction(await asyncio.to_thread(fitted.predict, query.text))
        return None
