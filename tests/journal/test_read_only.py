"""A journal that may not be written can be read all the same, whatever was left beside it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.journal.samples import a_process, a_reply, a_request, create_run

from autoreason.errors import JournalError
from autoreason.journal import Journal

RUN = "20261115-amber-fox"
PLAIN_USER = 65534
Frozen = Callable[[], None]


def a_journal(path: Path, *, killed: bool) -> None:
    """A journal with one reply; after a kill the reply is not yet in the file itself."""
    code = """
    import asyncio, os
    journal = Journal.open(sys.argv[1], create=True)
    create_run(journal, sys.argv[2])
    asyncio.run(journal.record_reply(sys.argv[2], a_request(), a_reply()))
    if sys.argv[3] == "True":
        os.kill(os.getpid(), 9)
    journal.close()
    """
    a_process(code, path, RUN, killed).communicate(timeout=30)
    assert path.with_name("journal.db-wal").exists() is killed


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that anybody may enter, writable until it is frozen."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        place = Path(name, "kept")
        place.mkdir()
        yield place


@pytest.fixture(params=["permissions", "medium"])
def freeze(request: pytest.FixtureRequest, folder: Path) -> Iterator[Frozen]:
    """Make the folder read-only: for an ordinary user by its permissions, for the superuser by a mount."""
    undo: list[Callable[[], object]] = []

    def by_permissions() -> None:
        for place in (folder, *folder.rglob("*")):
            place.chmod(0o555 if place.is_dir() else 0o444)
        if os.geteuid() == 0:
            os.seteuid(PLAIN_USER)
            undo.append(lambda: os.seteuid(0))

    def by_a_mount() -> None:
        for arguments in (["--bind", folder, folder], ["-o", "remount,ro,bind", folder]):
            done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, check=False)
            if done.returncode:
                pytest.skip("nothing can be mounted here")
            undo.append(lambda: subprocess.run(["umount", str(folder)], check=True))
        undo.pop()

    yield by_permissions if request.param == "permissions" else by_a_mount
    for each in reversed(undo):
        each()
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {each.name: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("left", ["nothing", "both", "the log alone"])
def test_it_is_read_and_not_touched(folder: Path, freeze: Frozen, left: str) -> None:
    path = folder / "journal.db"
    a_journal(path, killed=left != "nothing")
    if left == "the log alone":
        path.with_name("journal.db-shm").unlink()
    before = contents(folder)
    freeze()
    with Journal.open(str(path), create=False) as journal:
        assert [(run.id, run.spent.calls) for run in journal.runs()] == [(RUN, 1)]
        assert list(journal.replies(RUN)) == [a_request().key]
    assert contents(folder) == before


def test_writing_says_that_it_is_read_only(folder: Path, freeze: Frozen) -> None:
    path = folder / "journal.db"
    a_journal(path, killed=False)
    freeze()
    sentence = f"{path} is read-only .*; allow writing to it and its folder, or name another"
    with pytest.raises(JournalError, match=sentence):
        Journal.open(str(path), create=True)
    with Journal.open(str(path), create=False) as journal:
        with pytest.raises(JournalError, match=sentence):
            asyncio.run(journal.record_reply(RUN, a_request("other"), a_reply()))
        with pytest.raises(JournalError, match=sentence):
            journal.command(RUN, "stop")
        with pytest.raises(JournalError, match=sentence):
            journal.lock(RUN)


def test_what_another_process_writes_meanwhile_is_not_misread(folder: Path) -> None:
    path = folder / "journal.db"
    a_journal(path, killed=False)
    path.chmod(0o444)
    if os.geteuid() == 0:
        os.seteuid(PLAIN_USER)
    try:
        journal = Journal.open(str(path), create=False)
        assert len(journal.runs()) == 1
    finally:
        os.seteuid(os.getuid())
    path.chmod(0o644)
    with Journal.open(str(path), create=True) as writer:
        create_run(writer, "other", "Another", "0.1.0")
        with pytest.raises(JournalError, match="was written by another process while it was read"):
            journal.runs()
    journal.close()
