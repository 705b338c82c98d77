"""The examiner of a run: opened for the first program the record does not know, and closed with the run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from autoreason.assignment import Examination, Examined
from autoreason.code.solving import Terms
from autoreason.settings import Settings
from autoreason.tournament.strategy import read_options

if TYPE_CHECKING:
    from autoreason.examiner.client import ExaminerClient


class OnCall:
    """An examiner for the set of problems that a run's settings name."""

    def __init__(self, settings: Settings) -> None:
        self._terms = read_options(settings, Terms)
        self._client: ExaminerClient | None = None
        self._opening = asyncio.Lock()

    async def examine(self, examination: Examination) -> Examined:
        """Run one program on tests."""
        async with self._opening:
            if self._client is None:
                self._client = await self._open()
        return await self._client.examine(examination)

    async def close(self) -> None:
        """End whatever was opened."""
        if self._client is not None:
            await self._client.close()

    async def _open(self) -> ExaminerClient:
        from autoreason.examiner.client import ExaminerClient

        return await ExaminerClient.open(self._terms.set, unsafe=self._terms.unsafe)
