"""An older journal is brought up to date, once and whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journal.samples import a_process
from tests.patience import PATIENCE

from autoreason.errors import JournalError
from autoreason.journal import Journal, file
from autoreason.journal.file import migrate

MIGRATIONS = (
    ("CREATE TABLE runs (name TEXT PRIMARY KEY)",),
    ("ALTER TABLE runs ADD COLUMN title TEXT NOT NULL DEFAULT 'untitled'",),
    ("CREATE TABLE events (run TEXT)", "INSERT INTO events SELECT name FROM runs"),
)


@pytest.fixture
def older(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database of schema 1, made by hand, with one run in it."""
    connection = sqlite3.connect(tmp_path / "older.db", isolation_level=None)
    connection.execute(MIGRATIONS[0][0])
    connection.execute("INSERT INTO runs VALUES ('amber-fox')")
    connection.execute("PRAGMA user_version = 1")
    yield connection
    connection.close()


def version(connection: sqlite3.Connection) -> int:
    """The schema version."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_an_older_schema_is_brought_up_to_date_with_its_data(older: sqlite3.Connection) -> None:
    migrate(older, Path("older.db"), MIGRATIONS)
    assert version(older) == 3
    assert older.execute("SELECT * FROM runs").fetchall() == [("amber-fox", "untitled")]
    assert older.execute("SELECT * FROM events").fetchall() == [("amber-fox",)]


def test_each_step_is_taken_once(older: sqlite3.Connection) -> None:
    migrate(older, Path("older.db"), MIGRATIONS[:2])
    migrate(older, Path("older.db"), MIGRATIONS)
    migrate(older, Path("older.db"), MIGRATIONS)
    assert older.execute("SELECT count(*) FROM events").fetchone() == (1,)


def test_a_step_that_fails_leaves_everything_as_it_was(older: sqlite3.Connection) -> None:
    failing = (*MIGRATIONS, ("CREATE TABLE more (x)", "INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(older, Path("older.db"), failing)
    assert version(older) == 1
    assert older.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() == [
        ("runs",)
    ]


def test_a_newer_schema_asks_for_an_upgrade(older: sqlite3.Connection) -> None:
    older.execute("PRAGMA user_version = 4")
    with pytest.raises(JournalError, match=r"schema 4, this one knows 3\); upgrade autoreason"):
        migrate(older, Path("older.db"), MIGRATIONS)


def test_several_who_make_a_journal_at_once_make_one(url: str) -> None:
    code = """
    with Journal.open(sys.argv[1], create=True) as journal:
        create_run(journal, sys.argv[2])
    """
    processes = [a_process(code, url, f"run-{n}") for n in range(4)]
    for process in processes:
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    with Journal.open(url, create=False) as journal:
        assert {run.id for run in journal.runs()} == {f"run-{n}" for n in range(4)}


def test_a_half_made_journal_is_made_again(path: Path) -> None:
    path.parent.mkdir()
    for name in ("journal.db.new", "journal.db.new-journal", "journal.db.new-wal"):
        path.with_name(name).write_text("half")
    Journal.open(str(path), create=True).close()
    assert sorted(file.name for file in path.parent.iterdir()) == ["journal.db", "journal.db.locks"]


def test_a_new_journal_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    waited_for: list[tuple[str, bool]] = []
    to_disk = file.to_disk

    def noting(what: Path) -> None:
        waited_for.append((what.name, path.exists()))
        to_disk(what)

    monkeypatch.setattr(file, "to_disk", noting)
    Journal.open(str(path), create=True).close()
    assert waited_for == [("journal.db.new", False), (tmp_path.name, True)]
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["journal.db"]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
