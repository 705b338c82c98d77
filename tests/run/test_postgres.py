"""Whole runs whose journal is on a server: the same as in a file, and a lost server is a pause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.journal.test_postgres import disconnect
from tests.run.leaving import emitted
from tests.run.runs import go_on, open_journal, scripted, start_run
from tests.tournament.stage import USUAL
from tools.postgres import Server

import autoreason
from autoreason.errors import WritingFailed
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.run.recorded import replay


class Severing(ScriptedModel):
    """A model during whose answers the server goes away once."""

    def __init__(self, cut: Callable[[], None], after: int) -> None:
        super().__init__(USUAL)
        self._cuts = iter([cut])
        self._after = after

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        if len(self.requests) == self._after:
            for cut in self._cuts:
                await asyncio.to_thread(cut)
        return await super().ask(request, on_signal)


async def test_a_run_on_a_server_is_the_same_as_in_a_file_and_knows_its_server(
    tmp_path: Path, postgres_url: str
) -> None:
    with (
        open_journal(tmp_path) as file,
        Journal.open(postgres_url, create=True) as server,
    ):
        here = await start_run(file, scripted())
        there = await start_run(server, scripted())
        assert (there.text, there.status) == (here.text, here.status)
        assert there.spent.calls == here.spent.calls
        assert emitted(server, there.run) == emitted(file, here.run)
        assert there.journal == server.place
    assert (await asyncio.to_thread(replay, there)).same
    with autoreason.Journal(postgres_url) as journal:
        assert journal.find("last").id == there.run


async def test_a_lost_server_is_a_pause_and_nothing_recorded_is_asked_again(
    postgres: Server, postgres_url: str
) -> None:
    with Journal.open(postgres_url, create=True) as journal:
        whole = await start_run(journal, scripted())
        story = emitted(journal, whole.run)
    for after in (0, 3, 7):
        model = Severing(lambda: disconnect(postgres, postgres_url), after)
        journal = Journal.open(f"{postgres_url}&retry=0", create=True)
        with (
            pytest.raises(WritingFailed, match=r"was lost .*; when the server can be reached"),
            journal,
        ):
            await start_run(journal, model)
        with Journal.open(postgres_url, create=False) as journal:
            run = journal.find("last").id
            assert not journal.find(run).live
            before = set(journal.replies(run))
            assert len(before) == after
            again = scripted()
            result = await go_on(journal, run, again)
            assert not before & {each.key for each in again.requests}
            assert result.text == whole.text
            assert emitted(journal, run) == story
