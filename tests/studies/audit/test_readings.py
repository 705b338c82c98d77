"""An audit of many runs goes on where it was interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journal.samples import create_run
from tests.run.comparisons import comparison
from tests.run.runs import open_journal, scripted, start_run

from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel
from autoreason.studies.audit import readings
from autoreason.studies.audit.own_runs import read_run
from autoreason.studies.audit.readings import readings_of


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Empty, and closed afterwards."""
    with open_journal(tmp_path) as opened:
        yield opened


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were read from their records."""
    names: list[str] = []

    def read(run: str, journal: Journal) -> object:
        names.append(run)
        return read_run(run, journal)

    monkeypatch.setattr(readings, "read_run", read)
    return names


async def test_what_was_read_is_not_read_again_and_comes_back_the_same(
    journal: Journal, asked: list[str]
) -> None:
    first = await start_run(journal, scripted())
    second = await start_run(journal, EchoModel(), changes={"passes": 3, "seed": 5})
    with readings_of(journal) as known:
        assert list(known) == [first.run, second.run]
        known.read(first.run)
    asked.clear()
    with readings_of(journal) as known:
        again = [known.read(run) for run in known]
    assert asked == [second.run]
    assert again == [read_run(first.run, journal), read_run(second.run, journal)]


async def test_panels_over_finished_texts_come_back(journal: Journal) -> None:
    create_run(journal, "20260101-a-comparison", "Two ways", "0")
    for event in comparison():
        journal.append("20260101-a-comparison", event)
    await journal.flush()
    for _ in range(2):
        with readings_of(journal) as known:
            (run,) = known
            assert known.read(run) == read_run(run, journal)


async def test_what_was_recorded_since_is_read(journal: Journal, asked: list[str]) -> None:
    result = await start_run(journal, scripted())
    for _ in range(2):
        with readings_of(journal) as known:
            known.read(result.run)
    assert asked == [result.run]
    journal.append(result.run, journal.events(result.run)[-1].event)
    await journal.flush()
    with readings_of(journal) as known:
        known.read(result.run)
    assert asked == [result.run, result.run]


async def test_a_live_run_is_not_kept(journal: Journal, asked: list[str]) -> None:
    result = await start_run(journal, scripted())
    with journal.lock(result.run):
        for _ in range(2):
            with readings_of(journal) as known:
                known.read(result.run)
    assert asked == [result.run, result.run]


async def test_a_deleted_run_is_gone_from_what_was_kept(journal: Journal) -> None:
    result = await start_run(journal, scripted())
    with readings_of(journal) as known:
        known.read(result.run)
    assert b"First text." in journal.readings.read_bytes()
    assert journal.readings.stat().st_mode & 0o077 == 0
    journal.delete_run(result.run)
    assert not journal.readings.exists()


@pytest.mark.parametrize("content", [b"not a database", b""])
async def test_what_cannot_be_used_is_done_without(journal: Journal, content: bytes) -> None:
    result = await start_run(journal, scripted())
    journal.readings.write_bytes(content)
    with readings_of(journal) as known:
        assert known.read(result.run) == read_run(result.run, journal)


async def test_a_place_that_cannot_be_written_is_done_without(journal: Journal) -> None:
    result = await start_run(journal, scripted())
    journal.readings.mkdir()
    with readings_of(journal) as known:
        assert known.read(result.run) == read_run(result.run, journal)
