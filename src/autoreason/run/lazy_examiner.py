"""The examiner of a run: opened for the first program that is not in the record, closed with the run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from autoreason.jobs.job import read_options
from autoreason.programs.assignment import Examination, Examined, Observed, Probe
from autoreason.programs.solve_job import SolveTerms
from autoreason.settings import Settings

if TYPE_CHECKING:
    from autoreason.programs.examiner.client import ExaminerClient


class LazyExaminer:
    """An examiner for the set of problems that a run's settings name."""

    def __init__(self, settings: Settings) -> None:
        self._terms = read_options(settings, SolveTerms)
        self._opening: asyncio.Task[ExaminerClient] | None = None

    async def examine(self, examination: Examination) -> Examined:
        """Run one program on tests."""
        return await (await self._client()).examine(examination)

    async def observe(self, probe: Probe) -> Observed:
        """Run one program on inputs whose answers are not known."""
        return await (await self._client()).observe(probe)

    async def _client(self) -> ExaminerClient:
        if self._opening is None:
            # Opened once for all callers; where that fails, all of them get the error.
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)

    async def close(self) -> None:
        """Close the examiner, if it was opened."""
        if self._opening is None:
            return
        if not self._opening.done():
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if not self._opening.cancelled() and not self._opening.exception():
            await self._opening.result().close()

    async def _open(self) -> ExaminerClient:
        from autoreason.programs.examiner.client import ExaminerClient

        return await ExaminerClient.open(self._terms.set, unsafe=self._terms.unsafe)
