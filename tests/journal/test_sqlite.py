"""A journal's file is created once and whole."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.journal.samples import a_process
from tests.patience import PATIENCE

from autoreason.journal import Journal, sqlite


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
    to_disk = sqlite.to_disk

    def noting(what: Path) -> None:
        waited_for.append((what.name, path.exists()))
        to_disk(what)

    monkeypatch.setattr(sqlite, "to_disk", noting)
    Journal.open(str(path), create=True).close()
    assert waited_for == [("journal.db.new", False), (tmp_path.name, True)]
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["journal.db"]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
