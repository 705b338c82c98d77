"""An examiner in the best sandbox of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from autoreason.programs.examiner.examiner import ProgramExaminer
from autoreason.programs.sandbox.levels import open_sandbox


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def examiner() -> AsyncIterator[ProgramExaminer]:
    sandbox = open_sandbox(workers=2)
    yield ProgramExaminer(sandbox)
    await sandbox.close()
