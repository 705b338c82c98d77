"""One process writes to a run; the lock of a killed one is released."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from pathlib import Path

import pytest
from tests.journal.samples import RUN, a_process, kill
from tests.patience import PATIENCE

from autoreason.errors import RunLocked, WritingFailed
from autoreason.events import DraftReady
from autoreason.journal import Journal
from autoreason.journal.store import LockOwner

DRAFT = DraftReady(text="A draft.", words=2, given=False)

LOCKING = """
import time
journal = Journal.open(sys.argv[1], create=False)
with journal.lock(sys.argv[2]):
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def locks(file_journal: Journal) -> Path:
    """Where the locks of the runs of a journal in a file are."""
    return file_journal.path.with_name("journal.db.locks")


def test_a_run_is_locked_once_and_the_owner_is_named(journal: Journal) -> None:
    with journal.lock(RUN):
        who = journal.lock_owner(RUN)
        assert who
        assert (who.pid, who.host) == (os.getpid(), os.uname().nodename)
        assert all((who.user, who.since, who.command))
        assert journal.find(RUN).live
        assert journal.runs()[0].live
        locked = f"{RUN} is locked by process {os.getpid()} of .* since"
        with pytest.raises(RunLocked, match=locked):
            journal.lock(RUN).__enter__()
        with journal.lock("another-run"):
            assert journal.locked_runs() == {RUN, "another-run"}
    assert journal.lock_owner(RUN) is None
    assert journal.locked_runs() == frozenset()
    assert not journal.runs()[0].live


def test_what_was_sent_is_written_before_a_broken_run_can_go_on_elsewhere(journal: Journal) -> None:
    with pytest.raises(KeyboardInterrupt), journal.lock(RUN):  # noqa: PT012
        journal.append(RUN, DRAFT)
        raise KeyboardInterrupt
    with Journal.open(journal.place, create=False) as elsewhere, elsewhere.lock(RUN):
        assert [recorded.event for recorded in elsewhere.events(RUN)] == [DRAFT]


async def test_a_run_that_another_process_went_on_with_can_go_on_here(journal: Journal) -> None:
    with Journal.open(journal.place, create=False) as elsewhere:
        for each in (journal, elsewhere, journal):
            async with each.lock_async(RUN):
                each.append(RUN, DRAFT)
                await each.flush()
    assert len(journal.events(RUN)) == 3


async def test_a_process_locks_a_run_once_however_many_of_its_tasks_try(journal: Journal) -> None:
    async def lock() -> int:
        async with journal.lock_async(RUN):
            seq = journal.append(RUN, DRAFT)
            await asyncio.sleep(0)
            return seq

    results = await asyncio.gather(lock(), lock(), lock(), return_exceptions=True)
    assert [type(result) for result in results] == [int, RunLocked, RunLocked]
    with Journal.open(journal.place, create=False) as elsewhere, elsewhere.lock(RUN):
        assert [recorded.event for recorded in elsewhere.events(RUN)] == [DRAFT]


def owner_of(journal: Journal) -> int | None:
    who = journal.lock_owner(RUN)
    return who.pid if who else None


def test_the_lock_of_a_killed_process_is_released(journal: Journal) -> None:
    process = a_process(LOCKING, journal.place, RUN)
    assert process.stdout
    assert process.stdout.readline() == "locked\n"
    assert owner_of(journal) == process.pid
    with pytest.raises(RunLocked, match=f"process {process.pid} "):
        journal.lock(RUN).__enter__()
    kill(process, 0)
    with journal.lock(RUN):
        assert owner_of(journal) == os.getpid()
    assert journal.lock_owner(RUN) is None


def test_no_two_processes_ever_lock_a_run_at_once(journal: Journal, tmp_path: Path) -> None:
    code = """
    import os, time
    from pathlib import Path
    from autoreason.errors import RunLocked
    journal, inside, times = Journal.open(sys.argv[1], create=False), Path(sys.argv[2]), 0
    until = time.monotonic() + 0.5
    while times < 4 or time.monotonic() < until:
        try:
            with journal.lock("r"):
                inside.touch(exist_ok=False)
                times += 1
                inside.unlink()
        except RunLocked:
            pass
    print(times)
    """
    inside = tmp_path / "inside"
    processes = [a_process(code, journal.place, inside) for _ in range(3)]
    times = [int(process.communicate(timeout=PATIENCE)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert min(times) >= 4


def test_a_lock_that_says_nothing_is_still_a_lock(file_journal: Journal, locks: Path) -> None:
    journal, file = file_journal, locks / f"{RUN}.lock"
    locks.mkdir(exist_ok=True)
    # Whatever a killed owner wrote is replaced by the next.
    file.write_text('{"pid": 1}' + "?" * 9999)
    with journal.lock(RUN):
        assert owner_of(journal) == os.getpid()
        file.write_text("{")
        assert journal.lock_owner(RUN) == LockOwner()
        with pytest.raises(RunLocked, match="is locked by another process; wait for it"):
            journal.lock(RUN).__enter__()


def test_the_owners_command_shows_no_password(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["/bin/autoreason", "run", "--journal=postgresql://ada:s3cret@db.lab/runs"]
    monkeypatch.setattr(sys, "argv", words)
    with journal.lock(RUN):
        who = journal.lock_owner(RUN)
        assert who
        assert who.command == "autoreason run --journal=postgresql://ada@db.lab/runs"


def test_a_full_disk_is_one_clear_sentence_and_leaves_no_lock(
    file_journal: Journal, locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    sentence = r"cannot lock .*No space left on device; free some space, then try again$"
    with pytest.raises(WritingFailed, match=sentence), file_journal.lock(RUN):
        pytest.fail("locked without its owner written down")
    assert list(locks.iterdir()) == []
