"""The benchmark of many runs, in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.server import serving
from benchmarks.worker import loop_bare, record_waves, run_all

from autoreason.journal import Journal


@pytest.mark.parametrize("width", [0, 10])
async def test_runs_and_the_bare_loop_make_the_same_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    with serving() as provider, Journal.open(str(tmp_path / "runs.db"), create=True) as journal:
        ours = await run_all(provider.base, 2, 1, journal, width)
        assert len(journal.runs()) == 2
        assert len(provider.log()) == ours
        waves = await record_waves(provider.base, 1, journal)
        assert [len(wave) for wave in waves] == [1, 1, 1, 1, 3, 5, 9]
        assert await loop_bare(provider.base, waves, 2) == ours
