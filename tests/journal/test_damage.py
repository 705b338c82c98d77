"""What is not our journal, or no longer a whole one, is reported in one sentence and left as it is."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.journal.samples import a_process, a_reply, a_request, create_run
from tests.patience import PATIENCE

from autoreason.errors import AutoreasonError, InvalidInput, JournalError
from autoreason.events import GuidanceGiven
from autoreason.journal import Journal, sql

RUN = "20261115-amber-fox"
PLAIN_USER = 65534


def a_journal(path: Path) -> None:
    """A journal with enough in it to be damaged."""
    with Journal.open(str(path), create=True) as journal:
        create_run(journal, RUN)
        for number in range(100):
            text = random.Random(number).randbytes(2000).hex()
            journal.append(RUN, GuidanceGiven(number=number, text=text))


def a_text(path: Path) -> None:
    path.write_text("Dear diary,\n" * 20)


def a_short_text(path: Path) -> None:
    path.write_text("Dear diary")


def a_piece(path: Path) -> None:
    a_journal(path)
    path.write_bytes(path.read_bytes()[:60])


def another_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE runs (distance)")
    connection.commit()
    connection.close()


def other_tables(path: Path) -> None:
    another_database(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {sql.APPLICATION_ID}")
    connection.close()


def a_missing_table(path: Path) -> None:
    a_journal(path)
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE commands")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def another_version(path: Path) -> None:
    a_journal(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    # Its tables may be others, too.
    connection.execute("DROP TABLE texts")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


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
        (a_short_text, "is not a journal but something else"),
        (a_piece, "is not a journal but something else"),
        (another_database, "is not a journal but something else"),
        (other_tables, "has no journal tables; name another"),
        (a_missing_table, "has no journal tables; name another"),
        (
            another_version,
            "was written by another version of autoreason (record 99, this one reads 1); use that version or name",
        ),
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


def test_what_another_program_left_half_done_is_left_so(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE mine (text)")
    beside = path.with_name("journal.db-wal")
    before = path.read_bytes(), beside.read_bytes()
    with pytest.raises(JournalError):
        Journal.open(str(path), create=True)
    assert (path.read_bytes(), beside.read_bytes()) == before
    other.close()


def test_a_folder_and_a_device_are_no_place_for_a_journal(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"{tmp_path} is a folder; name a file"):
        Journal.open(str(tmp_path), create=True)
    with pytest.raises(InvalidInput, match="/dev/null is not a file; name a file"):
        Journal.open("/dev/null", create=False)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
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
        with pytest.raises(
            JournalError, match=f"the record of {RUN} in {path} is damaged"
        ) as caught:
            journal.events(RUN)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == data


def test_a_file_cut_short_is_one_sentence(path: Path) -> None:
    a_journal(path)
    data = path.read_bytes()[: 8 * 4096]
    path.write_bytes(data)
    with (
        pytest.raises(JournalError, match=re.escape(f"{path} is damaged (")),
        Journal.open(str(path), create=False) as journal,
    ):
        journal.events(RUN)
    assert path.read_bytes() == data


def test_damage_met_while_writing_reaches_the_waiter(path: Path) -> None:
    a_journal(path)
    connection = sqlite3.connect(path)
    roots = [
        root
        for (root,) in connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'replies'"
        )
    ]
    connection.close()
    data = bytearray(path.read_bytes())
    for root in roots:
        data[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with (
        Journal.open(str(path), create=True) as journal,
        pytest.raises(JournalError, match=re.escape(f"{path} is damaged (")),
    ):
        asyncio.run(journal.record_reply(RUN, a_request(), a_reply()))
    assert path.read_bytes() == data


@pytest.fixture
def as_a_plain_user() -> Iterator[Path]:
    """A folder of a user whom permissions bind; the superuser is bound by none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        user = os.geteuid()
        if user == 0:
            os.chown(folder, PLAIN_USER, -1)
            os.seteuid(PLAIN_USER)
        try:
            yield folder
        finally:
            os.seteuid(user)
            for place in (folder, *folder.rglob("*")):
                place.chmod(0o700)


def test_a_place_that_cannot_be_written_is_one_sentence(as_a_plain_user: Path) -> None:
    folder = as_a_plain_user / "kept"
    path = folder / "journal.db"
    a_journal(path)
    before = path.read_bytes()
    path.chmod(0o400)
    folder.chmod(0o500)
    with pytest.raises(JournalError, match=f"{path} is read-only .*; allow writing to it and its"):
        Journal.open(str(path), create=True)
    with pytest.raises(JournalError, match=r"cannot create .*; allow writing there"):
        Journal.open(str(folder / "new" / "journal.db"), create=True)
    path.chmod(0o000)
    with pytest.raises(JournalError, match=f"cannot read {path}; allow it"):
        Journal.open(str(path), create=False)
    path.chmod(0o400)
    assert path.read_bytes() == before


def test_a_run_in_a_place_that_cannot_be_written_is_not_locked(as_a_plain_user: Path) -> None:
    path = as_a_plain_user / "journal.db"
    a_journal(path)
    locks = as_a_plain_user / "journal.db.locks"
    locks.chmod(0o500)
    with (
        Journal.open(str(path), create=False) as journal,
        pytest.raises(AutoreasonError, match=f"cannot lock {locks}/{RUN}.lock: Permission denied"),
    ):
        journal.lock(RUN).__enter__()
