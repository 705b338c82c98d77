"""Runs that were copied to another journal are replayed from there."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.journal.samples import change
from tests.run.suites import SMALL, run_suite

from autoreason.journal import Journal
from autoreason.run.journal_copy import copy_journal
from autoreason.run.resume import resume_async
from autoreason.settings import Budget


def quietly(*_: object) -> None:
    """Says nothing of how far it is."""


async def test_a_suite_is_replayed_on_a_server_and_back_in_a_file(
    tmp_path: Path, journal: Journal, postgres_url: str
) -> None:
    whole = await run_suite(tmp_path, journal, SMALL)
    paused = await run_suite(tmp_path, journal, SMALL, budget=Budget(calls=1))
    finished = {row.id for row in journal.runs(None, cells=True) if row.finished}
    assert paused.run not in finished
    back = str(tmp_path / "back.db")
    with (
        Journal.open(postgres_url, create=True) as server,
        Journal.open(back, create=True) as file,
    ):
        for source, target in ((journal, server), (server, file)):
            result = await asyncio.to_thread(copy_journal, source, target, quietly)
            assert set(result.replayed) == finished
            assert result.differences == {}
        assert file.row(whole.run) == journal.row(whole.run)
        shown = [each.cells_done(whole.run) for each in (journal, server, file)]
        assert shown == [(4, 0, 0)] * 3


async def test_a_replay_that_differs_is_a_sentence_and_others_are_copied(
    tmp_path: Path, journal: Journal
) -> None:
    result = await run_suite(tmp_path, journal, SMALL)
    wrong = f"{result.run}.0001"
    change(str(journal.path), f"DELETE FROM replies WHERE run = '{wrong}'")
    with Journal.open(str(tmp_path / "copy.db"), create=True) as target:
        copied = await asyncio.to_thread(copy_journal, journal, target, quietly)
        assert list(copied.differences) == [wrong]
        assert copied.differences[wrong].startswith(f"{wrong}: differs after")
        assert len(target.cells(result.run)) == len(journal.cells(result.run))
        again = await asyncio.to_thread(copy_journal, journal, target, quietly)
        assert (again.copied, again.replayed) == ([], [])


async def test_a_suite_that_went_on_in_its_copy_is_one_sentence_that_names_the_way_back(
    tmp_path: Path, journal: Journal
) -> None:
    limits = Budget(calls=1)
    paused = await run_suite(tmp_path, journal, SMALL, model="echo/echo", budget=limits)
    with Journal.open(str(tmp_path / "copy.db"), create=True) as copy:
        await asyncio.to_thread(copy_journal, journal, copy, quietly)
        await resume_async(paused.run, journal=copy, budget=Budget(calls=999))
        back = await asyncio.to_thread(copy_journal, copy, journal, quietly)
        (sentence,) = back.conflicts.values()
        assert sentence == (
            f"{journal.place} has an earlier state of {paused.run}; to replace it: `autoreason runs "
            f"delete {paused.run} --journal {journal.place}`, then copy again"
        )
        assert {*back.there, *back.differing} == set(copy.stamps())
        assert not set(back.differing) <= set(journal.stamps())
        (other,) = (
            await asyncio.to_thread(copy_journal, journal, copy, quietly)
        ).conflicts.values()
        assert "has a later state of" in other
        journal.delete_run(paused.run)
        again = await asyncio.to_thread(copy_journal, copy, journal, quietly)
        assert (again.conflicts, set(again.copied)) == ({}, set(copy.stamps()))
