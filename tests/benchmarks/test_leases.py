"""The decisions that are measured."""

from __future__ import annotations

from pathlib import Path

from benchmarks.leases import time_decisions


async def test_a_decision_takes_time(tmp_path: Path) -> None:
    clock, processor = await time_decisions(str(tmp_path / "journal.db"), 3, 2)
    assert min(clock, processor) > 0
