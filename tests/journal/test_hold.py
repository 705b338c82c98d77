"""One process writes to a run; whoever is killed lets go of it."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest
from tests.journal.samples import a_process
from tests.patience import PATIENCE

from autoreason.errors import InvalidInput, JournalError, RunLocked
from autoreason.events import DraftReady
from autoreason.journal import Journal
from autoreason.journal.locks import Holder, held, hold, holder

RUN = "20261115-amber-fox"
DRAFT = DraftReady(text="A draft.", words=2, given=False)

HOLDING = """
import time
journal = Journal.open(sys.argv[1], create=False)
with journal.hold(sys.argv[2]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def locks(journal: Journal) -> Path:
    """Where the locks of the journal's runs are."""
    return journal.path.with_name("journal.db.locks")


def test_a_run_is_held_once_and_the_holder_is_named(journal: Journal, locks: Path) -> None:
    with journal.hold(RUN):
        who = journal.holder(RUN)
        assert who is not None
        assert (who.pid, who.host) == (os.getpid(), os.uname().nodename)
        assert who.user
        assert who.since
        assert who.command
        assert journal.find(RUN).live
        assert journal.runs()[0].live
        with pytest.raises(RunLocked, match=f"{RUN} is held by process {os.getpid()} of .* since"):
            journal.hold(RUN).__enter__()
        with journal.hold("another-run"):
            assert held(locks) == {RUN, "another-run"}
    assert journal.holder(RUN) is None
    assert not journal.runs()[0].live
    assert list(locks.iterdir()) == []


def test_what_was_sent_is_written_before_a_broken_run_can_go_on_elsewhere(journal: Journal) -> None:
    with pytest.raises(KeyboardInterrupt), journal.hold(RUN):  # noqa: PT012
        journal.append(RUN, DRAFT)
        raise KeyboardInterrupt
    with Journal.open(str(journal.path), create=False) as elsewhere:
        assert [recorded.event for recorded in elsewhere.events(RUN)] == [DRAFT]


def test_a_killed_holder_lets_go(journal: Journal, locks: Path) -> None:
    process = a_process(HOLDING, journal.path, RUN)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    who = journal.holder(RUN)
    assert who is not None
    assert who.pid == process.pid
    with pytest.raises(RunLocked, match=f"process {process.pid} "):
        journal.hold(RUN).__enter__()
    process.kill()
    process.wait()
    process.stdout.close()
    assert list(locks.iterdir()) == [locks / f"{RUN}.lock"]
    assert journal.holder(RUN) is None
    with journal.hold(RUN):
        who = journal.holder(RUN)
        assert who is not None
        assert who.pid == os.getpid()
    assert list(locks.iterdir()) == []


def test_whatever_a_killed_holder_wrote_makes_room_for_the_next(
    journal: Journal, locks: Path
) -> None:
    locks.mkdir(exist_ok=True)
    (locks / f"{RUN}.lock").write_text('{"pid": 1}' + "?" * 9999)
    with journal.hold(RUN):
        who = journal.holder(RUN)
        assert who is not None
        assert who.pid == os.getpid()


def test_no_two_ever_hold_a_run_however_often_it_changes_hands(journal: Journal) -> None:
    code = """
    import os, time
    from pathlib import Path
    from autoreason.errors import RunLocked
    journal, inside, times = Journal.open(sys.argv[1], create=False), Path(sys.argv[2]), 0
    until = time.monotonic() + 0.5
    while times < 4 or time.monotonic() < until:
        try:
            with journal.hold("r"):
                inside.touch(exist_ok=False)
                times += 1
                inside.unlink()
        except RunLocked:
            pass
    print(times)
    """
    inside = journal.path.with_name("inside")
    processes = [a_process(code, journal.path, inside) for _ in range(3)]
    times = [int(process.communicate(timeout=PATIENCE)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert min(times) >= 4


def test_looking_for_the_holder_keeps_nobody_from_holding(locks: Path) -> None:
    done = threading.Event()
    seen: list[Holder | None] = []

    def look() -> None:
        while not done.is_set():
            seen.append(holder(locks, RUN))

    looking = [threading.Thread(target=look) for _ in range(2)]
    for thread in looking:
        thread.start()
    try:
        for _ in range(100):
            with hold(locks, RUN):
                pass
    finally:
        done.set()
        for thread in looking:
            thread.join()
    assert {who.pid for who in seen if who} <= {os.getpid(), None}


def test_a_lock_that_says_nothing_is_still_a_lock(journal: Journal, locks: Path) -> None:
    with journal.hold(RUN):
        (locks / f"{RUN}.lock").write_text("{")
        assert journal.holder(RUN) == Holder()
        with pytest.raises(RunLocked, match="is held by another process; wait for it"):
            journal.hold(RUN).__enter__()


def test_an_error_inside_lets_go(journal: Journal) -> None:
    with pytest.raises(ZeroDivisionError), journal.hold(RUN):
        raise ZeroDivisionError
    with journal.hold(RUN):
        pass


def test_a_lock_stays_in_its_folder(journal: Journal) -> None:
    with pytest.raises(InvalidInput, match="cannot name a run"):
        journal.hold("../../outside").__enter__()
    with pytest.raises(InvalidInput, match="cannot name a run"):
        journal.holder("../../outside")


def test_a_full_disk_is_one_clear_sentence_and_leaves_no_lock(
    locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(JournalError, match=r"cannot lock .*No space left"), hold(locks, RUN):
        pytest.fail("held without its name written down")
    assert list(locks.iterdir()) == []
