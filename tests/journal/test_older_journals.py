"""A journal of schema 1, as version 0.1.0 wrote it, is read as it is and written on."""

from __future__ import annotations

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from autoreason.journal import Journal
from autoreason.story import build_story
from autoreason.tournament import statements

KEPT = Path(__file__).parent / "recorded" / "schema-1.db.xz"
PAUSED = "last"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A journal with a finished run, and a later one that reached its budget."""
    path = tmp_path / "journal.db"
    path.write_bytes(lzma.decompress(KEPT.read_bytes()))
    return path


def schema(path: Path) -> int:
    """The version of the schema."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_it_is_read_without_being_changed(older: Path) -> None:
    before = older.read_bytes()
    with Journal.open(str(older), create=False) as journal:
        stories = [
            build_story([each.event for each in journal.events(run.id)]) for run in journal.runs()
        ]
        assert [story.status for story in stories] == ["budget", "capped"]
        for run in journal.runs():
            assert len(journal.replies(run.id)) >= run.spent.calls > 0
    assert stories[1].delivered is not None
    assert statements.survival(stories[1].delivered.evidence.survival).startswith(
        "A survived 1 of 1 panel"
    )
    assert older.read_bytes() == before
