"""What is not our journal, or no longer a whole one, or read-only: one sentence, and it is left as it is."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.journal.samples import RUN, a_process, a_reply, a_request, create_run
from tests.patience import PATIENCE

from autoreason.errors import InvalidInput, JournalError
from autoreason.events import GuidanceGiven
from autoreason.journal import Journal

PLAIN_USER = 65534


def a_journal(path: Path) -> None:
    with Journal.open(str(path), create=True) as journal:
        create_run(journal, RUN)
        for number in range(100):
            text = random.Random(number).randbytes(2000).hex()
            journal.append(RUN, GuidanceGiven(number=number, text=text))


def a_text(path: Path) -> None:
    path.write_text("Dear diary,\n" * 20)


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (*statements, "PRAGMA wal_checkpoint(TRUNCATE)"):
            connection.execute(statement)


def another_database(path: Path) -> None:
    execute(path, "CREATE TABLE runs (distance)")


def a_missing_table(path: Path) -> None:
    a_journal(path)
    execute(path, "DROP TABLE commands")


def another_version(path: Path) -> None:
    a_journal(path)
    # Its tables may be others, too.
    execute(path, "PRAGMA user_version = 99", "DROP TABLE texts")


def a_broken_schema(path: Path) -> None:
    a_journal(path)
    data = bytearray(path.read_bytes())
    data[100:400] = b"\xaa" * 300
    path.write_bytes(data)


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (a_text, "is not a journal but something else; name another as `journal`"),
        (another_database, "is not a journal but something else"),
        (a_missing_table, "has no journal tables; name another"),
        (another_version, "was written by another version of autoreason (record 99, this one"),
        (a_broken_schema, "is damaged ("),
    ],
)
def test_what_is_no_journal_is_named_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], sentence: str, create: bool
) -> None:
    path = tmp_path / "journal.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(JournalError, match=re.escape(f"{path} {sentence}")) as caught:
        Journal.open(str(path), create=create)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_folder_and_a_device_are_no_place_for_a_journal_and_a_file_is_no_folder(
    tmp_path: Path,
) -> None:
    with pytest.raises(InvalidInput, match=f"{tmp_path} is a folder; name a file"):
        Journal.open(str(tmp_path), create=True)
    with pytest.raises(InvalidInput, match="/dev/null is not a file; name a file"):
        Journal.open("/dev/null", create=False)
    (tmp_path / "file").write_text("text")
    with pytest.raises(InvalidInput, match=f"{tmp_path}/file is not a folder"):
        Journal.open(str(tmp_path / "file" / "journal.db"), create=True)
    with pytest.raises(JournalError, match=r"cannot create .*journal.db: Not a directory"):
        Journal.open(str(tmp_path / "file" / "folder" / "journal.db"), create=True)
    with Journal.open(str(tmp_path / "file" / "journal.db"), create=False) as journal:
        assert journal.runs() == []
    assert (tmp_path / "file").read_text() == "text"


def test_a_missing_file_is_not_replaced_while_a_part_of_it_is_left(path: Path) -> None:
    code = """
    import os
    journal = Journal.open(sys.argv[1], create=True)
    create_run(journal, "r")
    os.kill(os.getpid(), 9)
    """
    process = a_process(code, path)
    process.communicate(timeout=PATIENCE)
    path.unlink()
    beside = path.with_name("journal.db-wal")
    before = beside.read_bytes()
    with pytest.raises(JournalError, match=r"journal.db is gone, but journal.db-wal next to it"):
        Journal.open(str(path), create=True)
    assert beside.read_bytes() == before
    assert not path.exists()


def test_damage_met_while_reading_is_one_sentence(path: Path) -> None:
    a_journal(path)
    data = bytearray(path.read_bytes())
    half = len(data) // 2 // 4096 * 4096
    data[half : half + 40960] = b"\xff" * 40960
    path.write_bytes(data)
    with Journal.open(str(path), create=False) as journal:
        assert [run.id for run in journal.runs()] == [RUN]
        damaged = f"the record of {RUN} in {path} is damaged"
        with pytest.raises(JournalError, match=damaged) as caught:
            journal.events(RUN)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == data


def test_damage_met_while_writing_reaches_the_waiter(path: Path) -> None:
    a_journal(path)
    pages = "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'replies'"
    with closing(sqlite3.connect(path)) as connection:
        roots = connection.execute(pages).fetchall()
    data = bytearray(path.read_bytes())
    for (root,) in roots:
        data[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with (
        Journal.open(str(path), create=True) as journal,
        pytest.raises(JournalError, match=re.escape(f"{path} is damaged (")),
    ):
        asyncio.run(journal.record_reply(RUN, a_request(), a_reply()))
    assert path.read_bytes() == data


Frozen = Callable[[], None]


def a_written_journal(path: Path, *, killed: bool) -> None:
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
    return {each.name: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("left", ["nothing", "both", "the log alone"])
def test_it_is_read_and_not_touched(folder: Path, freeze: Frozen, left: str) -> None:
    path = folder / "journal.db"
    a_written_journal(path, killed=left != "nothing")
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
    a_written_journal(path, killed=False)
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
