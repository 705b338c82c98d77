"""What is awaited is on the disk; what is not awaited is there no later than what follows it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.journal.samples import RUN, a_process, a_reply, a_request, committed, create_run, kill
from tests.patience import PATIENCE

from autoreason.errors import JournalError, UnknownRun, WritingFailed
from autoreason.events import PassStarted
from autoreason.journal import Journal, sql
from autoreason.journal.journal import open_store
from autoreason.journal.sqlite import SqliteStore
from autoreason.journal.store import Connection
from autoreason.journal.writer import Writer


async def test_an_awaited_reply_is_committed(journal: Journal, url: str) -> None:
    for number in range(5):
        await journal.record_reply(RUN, a_request(str(number)), a_reply())
        assert committed(url, "replies") == number + 1


class Counting(Writer):
    """Counts its commits."""

    commits = 0

    def _commit(self, batch: list[Any]) -> None:
        self.commits += 1
        super()._commit(batch)


async def test_many_writers_share_a_commit(journal: Journal, url: str) -> None:
    store = open_store(journal.place)
    writer = Counting(store.open_writer(), store)

    def note(connection: Connection) -> None:
        connection.execute(sql.INSERT["commands"], (RUN, "guide", "", "", None))

    async def many() -> None:
        for _ in range(4):
            await writer.commit(RUN, note)

    await asyncio.gather(*(many() for _ in range(100)))
    writer.close()
    assert committed(url, "commands") == 400
    assert writer.commits <= 40


async def test_what_no_caller_awaits_is_there_no_later_than_the_next_reply(
    journal: Journal, url: str
) -> None:
    for number in range(8):
        seq = journal.append(RUN, PassStarted(number=number, words=1))
        journal.record_request(RUN, a_request(str(number)))
        await journal.record_reply(RUN, a_request(str(number)), a_reply())
        assert committed(url, "events") == seq == number + 1
        assert committed(url, "asked") == number + 1
    assert [recorded.seq for recorded in journal.events(RUN)] == list(range(1, 9))


def test_threads_and_loops_share_one_journal(journal: Journal) -> None:
    async def one_loop(thread: int) -> None:
        async def one(number: int) -> None:
            key = f"{thread}/{number}"
            journal.append(RUN, PassStarted(number=number, words=thread))
            await journal.record_reply(RUN, a_request(key), a_reply(key))
            assert key in journal.replies(RUN)

        await asyncio.gather(*(one(number) for number in range(20)))

    threads = [threading.Thread(target=asyncio.run, args=(one_loop(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key: reply.reply.text for key, reply in journal.replies(RUN).items()} == {
        f"{n}/{number}": f"{n}/{number}" for n in range(4) for number in range(20)
    }
    assert [recorded.seq for recorded in journal.events(RUN)] == list(range(1, 81))


async def test_a_refused_reply_does_not_harm_its_neighbours(journal: Journal) -> None:
    await journal.record_reply(RUN, a_request("5"), a_reply())
    results = await asyncio.gather(
        *(journal.record_reply(RUN, a_request(str(n)), a_reply()) for n in range(10)),
        return_exceptions=True,
    )
    assert [n for n, result in enumerate(results) if result] == [5]
    assert len(journal.replies(RUN)) == 10


async def test_a_cancelled_wait_still_records_what_was_paid_for(journal: Journal) -> None:
    recording = asyncio.create_task(journal.record_reply(RUN, a_request(), a_reply()))
    await asyncio.sleep(0)
    recording.cancel()
    with pytest.raises(asyncio.CancelledError):
        await recording
    await journal.flush()
    assert len(journal.replies(RUN)) == 1


async def test_a_journal_that_was_closed_says_so(url: str) -> None:
    journal = Journal.open(url, create=True)
    create_run(journal, RUN)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="was closed"):
        await journal.record_reply(RUN, a_request(), a_reply())
    with pytest.raises(JournalError, match="was closed"):
        journal.runs()


async def test_an_event_that_was_not_written_is_reported_to_the_next_to_wait_and_on_closing(
    url: str,
) -> None:
    journal = Journal.open(url, create=True)
    create_run(journal, RUN)
    await journal.record_reply(RUN, a_request("before"), a_reply())
    journal.append("20261115-no-run", PassStarted(number=1, words=1))
    with pytest.raises(UnknownRun):
        await journal.record_reply(RUN, a_request("after"), a_reply())
    with pytest.raises(UnknownRun):
        await journal.flush()
    # It is paid for, so it is kept all the same.
    assert set(journal.replies(RUN)) == {"before", "after"}
    with pytest.raises(UnknownRun):
        journal.close()


async def test_a_full_disk_reaches_everybody_who_waits(file_journal: Journal) -> None:
    journal = file_journal
    connection = SqliteStore(journal.path).open_writer()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    writer = Writer(connection, open_store(journal.place))

    def much(connection: Connection) -> None:
        connection.execute(sql.INSERT["commands"], (RUN, "guide", "x" * 100_000, "", None))

    results = await asyncio.gather(
        *(writer.commit(RUN, much) for _ in range(5)), return_exceptions=True
    )
    sentence = f"no space is left for {journal.path}; free some, then resume"
    assert [(type(result), str(result)) for result in results] == [(WritingFailed, sentence)] * 5
    # Space was freed: it goes on.
    await writer.commit(RUN, lambda connection: connection.execute("PRAGMA max_page_count = 0"))
    writer.close()
    assert committed(str(journal.path), "commands") == 0


async def test_a_file_locked_by_another_process_is_waited_for(
    file_journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = file_journal
    # SQLite itself gives up at once, so that waiting is ours.
    monkeypatch.setattr("autoreason.journal.sqlite._WAIT_FOR_LOCK", 0.0)
    with Journal.open(str(journal.path), create=True) as impatient:
        other = sqlite3.connect(journal.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        recording = asyncio.create_task(impatient.record_reply(RUN, a_request(), a_reply()))
        await asyncio.sleep(0.2)
        assert not recording.done()
        other.execute("ROLLBACK")
        other.close()
        await recording


WRITING = """
import asyncio
run = sys.argv[2]
with Journal.open(sys.argv[1], create=True) as journal:
    create_run(journal, run)
    lock = journal.lock(run)
    lock.__enter__()
    async def one(worker):
        for number in range(int(sys.argv[3])):
            key = f"{worker}/{number}"
            journal.record_request(run, a_request(key))
            await journal.record_reply(run, a_request(key), a_reply(key * 500))
            print(key, flush=True)
    async def main():
        await asyncio.gather(*(one(worker) for worker in range(8)))
    asyncio.run(main())
"""


def test_two_processes_write_to_one_journal(url: str) -> None:
    processes = [a_process(WRITING, url, f"run-{n}", 25) for n in range(2)]
    for process in processes:
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    with Journal.open(url, create=False) as journal:
        assert [len(journal.replies(f"run-{n}")) for n in range(2)] == [200, 200]
        assert [run.spent.calls for run in journal.runs()] == [200, 200]


async def test_opening_a_journal_again_takes_no_lock_from_the_first(file_journal: Journal) -> None:
    journal = file_journal
    Journal.open(str(journal.path), create=True).close()
    # A process that believes to be the last one takes the write-ahead log away.
    process = a_process(WRITING, journal.path, "elsewhere", 1)
    process.communicate(timeout=PATIENCE)
    await journal.record_reply(RUN, a_request(), a_reply())
    with Journal.open(str(journal.path), create=False) as reader:
        assert len(reader.replies("elsewhere")) == 8
        assert len(reader.replies(RUN)) == 1


@pytest.mark.parametrize("moment", [0.0, 0.03, 0.1])
def test_a_kill_loses_nothing_that_was_awaited(url: str, moment: float) -> None:
    awaited = set(kill(a_process(WRITING, url, "run-0", 100_000), 1, moment))
    with Journal.open(url, create=False) as journal, journal.lock("run-0"):
        replies = journal.replies("run-0")
        in_flight = {asked.key for asked in journal.in_flight("run-0")}
        assert awaited <= set(replies)
        assert all(reply.reply == a_reply(key * 500) for key, reply in replies.items())
        assert in_flight.isdisjoint(replies)
        assert len(in_flight) <= 8
        assert journal.spent("run-0").calls == len(replies) == len(journal.calls("run-0"))


def test_a_kill_in_the_middle_of_a_checkpoint_is_no_damage(path: Path) -> None:
    kill(a_process(WRITING, path, "run-0", 100_000), 50)
    # As if the first page were already the newest, and the others not yet written.
    data = bytearray(path.read_bytes())
    data[28:32] = (100_000).to_bytes(4, "big")
    path.write_bytes(data)
    with Journal.open(str(path), create=True) as journal:
        assert len(journal.replies("run-0")) >= 50
