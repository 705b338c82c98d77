"""`kill -9` of a suite that is asked in batches: the same end, and the provider is paid once for each request."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.kills import run_in_child
from tests.models.batch_provider import BatchServer, separate_batch_server, stats
from tests.models.test_batch import ADDRESSES, QUICK
from tests.run.suites import SMALL, write_suite

from autoreason.events import FINISHED
from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.models import batch
from autoreason.models.batch_interface import AnthropicBatches, BatchNote, OpenAIBatches
from autoreason.run.lab import lab
from autoreason.run.recorded import replay, resume
from autoreason.settings import provider_of

SUITE = SMALL.replace("repeats: 1", "repeats: 2")
INTERFACES = {"openai": OpenAIBatches, "anthropic": AnthropicBatches}
Call = Callable[..., Awaitable[Any]]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(call: Call, number: int, *, before: bool) -> Call:
    """A call whose process dies in it, when it is made for the `number`th time."""
    made = 0

    async def counted(*arguments: Any) -> Any:
        nonlocal made
        made += 1
        # Another may be made while this one waits.
        is_last = made == number
        if before and is_last:
            die()
        result = await call(*arguments)
        if is_last:
            die()
        return result

    return counted


def run(folder: Path, server: BatchServer, name: str, address: str, kill: str = "") -> None:
    """Begin the one suite of a journal, or go on with it; dies at the moment that `kill` names."""
    interface: Any = INTERFACES[provider_of(address)]
    if kill in ("before create", "after create"):
        interface.create = dying(interface.create, 2, before=kill == "before create")
    if kill == "while waiting":
        interface.look = dying(interface.look, 5, before=True)
    if kill == "while committing":
        journal_class: Any = Journal
        journal_class.record_reply = dying(Journal.record_reply, 4, before=False)
    base = server.openai if address.startswith("openai") else server.anthropic
    with Journal.open(str(folder / name), create=True) as journal:
        rows = journal.runs()
        if not rows:
            terms: Any = {"anyway": True, "base_url": base, "batch": True, "budget": {"cost": 5}}
            work: Any = lab.aio(folder / "suite.yaml", address, journal=journal, **terms)
        else:
            work = resume.aio(rows[0].id, journal=journal)
        asyncio.run(work)


def results(path: Path) -> tuple[str, dict[str, tuple[Request, str]], Any]:
    """How it ended, every reply by cell and key, and what it cost."""
    with Journal.open(str(path), create=False) as journal:
        (row,) = journal.runs()
        replies = {
            f"{cell.id.partition('.')[2]} {key}": (each.request, each.reply.text)
            for cell in journal.cells(row.id)
            for key, each in journal.replies(cell.id).items()
        }
        return row.status, replies, row.spent.cost


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_killed_suite_ends_like_the_unbroken_one_and_nothing_is_paid_for_twice(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-2")
    monkeypatch.setattr(batch, "PACE", QUICK)
    write_suite(tmp_path, SUITE)
    with separate_batch_server() as server:
        work = partial(run, tmp_path, server, address=address)
        work("whole.db")
        whole = results(tmp_path / "whole.db")
        calls = len(whole[1])
        assert whole[0] in FINISHED
        counted = stats(server)
        assert sum(counted["paid"].values()) == calls > counted["batches"]
        kills = ["before create", "after create", "while waiting", "while committing"]
        for number, kill in enumerate(kills, 2):
            name = f"{kill}.db"
            assert run_in_child(partial(work, name, kill=kill)) == -signal.SIGKILL, kill
            assert run_in_child(partial(work, name)) == 0, kill
            assert results(tmp_path / name) == whole, kill
            assert sum(stats(server)["paid"].values()) == number * calls, kill
    with Journal.open(str(tmp_path / "after create.db"), create=False) as journal:
        (row,) = journal.runs()
        cells = journal.cells(row.id)
        answers = journal.answers(cells[-1].id).values()
        assert any(each.kind == BatchNote.kind for each in answers)
        for cell in cells:
            assert asyncio.run(replay.aio(cell.id, journal=journal)).same
