"""A journal's file is created once and whole, and long texts are compressed in it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.journal.samples import RUN, a_process, a_reply, a_request
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


TEXTS = st.text() | st.integers(1, 300).map(lambda times: "tides and boats, ü\x00\x01 " * times)


@given(TEXTS)
def test_whatever_is_packed_is_unpacked_as_it_was(text: str) -> None:
    json = msgspec.json.encode(text).decode()
    packed = sqlite.pack(json)
    assert sqlite.unpack(packed) == json
    assert isinstance(packed, str) == (len(json) < 400)
    assert len(packed) <= len(json)


def test_long_texts_take_little_room_and_short_ones_are_plain(file_journal: Journal) -> None:
    brief = "".join(f"Write about tide {n} and its boats. " for n in range(1000))
    requests = [a_request(f"draft/{number}", text=brief) for number in range(7)]
    for request in requests:
        asyncio.run(file_journal.record_reply(RUN, request, a_reply()))
    with closing(sqlite3.connect(file_journal.path)) as connection:
        rows = connection.execute("SELECT request, reply FROM replies").fetchall()
    assert sum(len(request) for request, _ in rows) < 7 * len(brief) / 3
    assert {type(reply) for _, reply in rows} == {str}
    assert [reply.request for reply in file_journal.replies(RUN).values()] == requests
