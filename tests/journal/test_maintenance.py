"""A journal is checked, copied and made smaller; whatever goes on meanwhile, nothing is lost."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.journal.samples import a_reply, a_request, change, committed, create_run

from autoreason.errors import InvalidInput, JournalError, RunLocked
from autoreason.events import GuidanceGiven
from autoreason.journal import Journal, maintenance, shared_texts
from autoreason.journal.location import locate

RUN = "20261115-amber-fox"
LONG = "Write about tides and boats. " * 300


def quietly(*_: object) -> None:
    """Says nothing of how far it is."""


def written(url: str | Path, *runs: str) -> None:
    """A journal with these runs, each with a text of its own and one that all share."""
    with Journal.open(str(url), create=True) as journal:
        for run in runs:
            create_run(journal, run)
            journal.append(run, GuidanceGiven(number=1, text=LONG))
            asyncio.run(journal.record_reply(run, a_request(text=run * 300), a_reply()))


def test_a_sound_journal_has_no_damage(url: str) -> None:
    written(url, "one", "two")
    reported: list[tuple[str, int, int]] = []
    with Journal.open(url, create=False) as journal:
        assert maintenance.check(journal, lambda *line: reported.append(line)) == []
    assert ("runs", 2, 2) in reported


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE events SET payload = '{' WHERE run = 'two'", "is damaged"),
        ("UPDATE pieces SET text = replace(text, 'two', 'TWO')", "is not what was written"),
        ("UPDATE replies SET request = '{', role = 'guidance' WHERE run = 'two'", "is damaged"),
        ("DELETE FROM pieces WHERE text LIKE '%two%'", "is missing"),
        ("UPDATE runs SET created = 'once' WHERE id = 'two'", "is damaged"),
    ],
)
def test_a_damaged_run_is_named(url: str, statement: str, what: str) -> None:
    written(url, "one", "two", "three")
    change(url, statement)
    with Journal.open(url, create=False) as journal:
        (damage,) = maintenance.check(journal, quietly)
    assert damage.run == "two"
    assert what in damage.what
    assert "\n" not in damage.what


@pytest.mark.parametrize("number", [1, 2])
def test_a_gap_between_events_is_damage(path: Path, number: int) -> None:
    with Journal.open(str(path), create=True) as journal:
        create_run(journal, RUN)
        for each in range(3):
            journal.append(RUN, GuidanceGiven(number=each, text="Shorter."))
        asyncio.run(journal.flush())
        assert maintenance.check(journal, quietly) == []
        change(str(path), f"DELETE FROM events WHERE seq = {number}")
        (damage,) = maintenance.check(journal, quietly)
    assert damage.run == RUN
    assert f"event {number} is missing" in damage.what


def test_bytes_that_are_no_text_are_damage(path: Path) -> None:
    written(path, "two")
    change(str(path), "UPDATE replies SET reply = CAST(x'7bff' AS TEXT)")
    with Journal.open(str(path), create=False) as journal:
        (damage,) = maintenance.check(journal, quietly)
    assert damage.run == "two"
    assert "not UTF-8" in damage.what


def test_records_of_no_run_are_damage(path: Path) -> None:
    written(path, "one")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM runs")
    with Journal.open(str(path), create=False) as journal:
        assert [damage.run for damage in maintenance.check(journal, quietly)] == [None]


def test_wherever_bytes_are_flipped_it_is_one_sentence_without_the_record(path: Path) -> None:
    written(path, "one", "two")
    sound = path.read_bytes()
    chance = random.Random(7)
    for _ in range(60):
        data = bytearray(sound)
        for _ in range(40):
            data[chance.randrange(100, len(data))] = chance.randrange(256)
        path.write_bytes(data)
        reported: list[str] = []
        try:
            with Journal.open(str(path), create=False) as journal:
                reported += [damage.what for damage in maintenance.check(journal, quietly)]
                for run in ("one", "two"):
                    with suppress(InvalidInput):
                        journal.find(run)
                journal.runs()
        except JournalError as error:
            reported.append(str(error))
        for sentence in reported:
            assert "\n" not in sentence
            assert len(sentence) < 600
            assert "tides and boats" not in sentence


def test_a_copy_contains_everything_and_is_a_journal(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with Journal.open(str(path), create=True) as journal:
        create_run(journal, "one")
        asyncio.run(journal.record_reply("one", a_request(text=LONG), a_reply()))
        maintenance.back_up(path, copy)
        asyncio.run(journal.record_reply("one", a_request("later"), a_reply()))
    assert copy.stat().st_mode & 0o077 == 0
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["copy.db"]
    with Journal.open(str(copy), create=False) as journal:
        assert list(journal.replies("one")) == [a_request().key]
        assert maintenance.check(journal, quietly) == []


def test_nothing_is_copied_over(path: Path, tmp_path: Path) -> None:
    written(path, "one")
    there = tmp_path / "there.db"
    there.write_text("mine")
    with pytest.raises(InvalidInput, match="exists already; name another file"):
        maintenance.back_up(path, there)
    with pytest.raises(InvalidInput, match=r"cannot write .*: No such file or directory"):
        maintenance.back_up(path, tmp_path / "nowhere" / "copy.db")
    with pytest.raises(InvalidInput, match="there is no journal at"):
        maintenance.back_up(tmp_path / "none.db", tmp_path / "copy.db")
    assert there.read_text() == "mine"


def test_space_that_only_a_deleted_run_used_is_freed(url: str) -> None:
    written(url, "one", "two")
    with Journal.open(url, create=False) as journal:
        before = journal.replies("two"), journal.events("two")
        journal.delete_run("one")
        assert [run.id for run in journal.runs()] == ["two"]
    assert committed(url, "pieces") == 3
    before_and_after = maintenance.compact(locate(url), quietly)
    assert min(before_and_after) > 0
    assert committed(url, "pieces") == 2
    with Journal.open(url, create=False) as journal:
        assert (journal.replies("two"), journal.events("two")) == before
        assert maintenance.check(journal, quietly) == []


def test_a_suite_with_a_live_cell_loses_nothing(url: str) -> None:
    with Journal.open(url, create=True) as journal, Journal.open(url, create=False) as other:
        for name in (RUN, f"{RUN}.0001", f"{RUN}.0002"):
            create_run(journal, name)
        with other.lock(f"{RUN}.0001"), pytest.raises(RunLocked, match=f"{RUN}.0001 is locked by"):
            journal.delete_run(RUN)
        assert len(journal.cells(RUN)) == 2
        journal.delete_run(RUN)
        assert journal.runs(cells=True) == []


def test_a_live_run_is_neither_deleted_nor_compacted(url: str) -> None:
    written(url, "one")
    with Journal.open(url, create=False) as live, live.lock("one"):
        with (
            Journal.open(url, create=False) as journal,
            pytest.raises(RunLocked, match="one is locked"),
        ):
            journal.delete_run("one")
        with pytest.raises(RunLocked, match="one is live; wait for it"):
            maintenance.compact(locate(url), quietly)
        assert live.row("one").live


def test_a_process_with_the_journal_open_stores_a_text_again_that_was_dropped(path: Path) -> None:
    with Journal.open(str(path), create=True) as journal:
        create_run(journal, "one")
        asyncio.run(journal.record_reply("one", a_request(text=LONG), a_reply()))
        with Journal.open(str(path), create=False) as other:
            other.delete_run("one")
        maintenance.compact(path, quietly)
        assert committed(str(path), "pieces") == 0
        create_run(journal, "two")
        asyncio.run(journal.record_reply("two", a_request(text=LONG), a_reply()))
        assert journal.calls("two")[0].request == a_request(text=LONG)


def test_a_batch_that_is_taken_back_takes_its_texts_with_it(path: Path) -> None:
    written(path, "one")
    with closing(
        sqlite3.connect(path, factory=shared_texts.JournalConnection, isolation_level=None)
    ) as connection:
        packed = shared_texts.pack(f'"{LONG}!"', [f"{LONG}!"])
        connection.begin()
        first = connection.put(packed)
        connection.roll_back()
        connection.begin()
        assert connection.put(packed) == first
        connection.execute("COMMIT")
        assert shared_texts.fill_rows(connection, [(first,)]) == [(f'"{LONG}!"',)]
