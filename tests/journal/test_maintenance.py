"""A journal is checked, backed up, copied and made smaller; nothing is lost, and nothing is overwritten."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.journal.samples import RUN, a_reply, a_request, change, create_run, quietly
from tools.postgres import Server

from autoreason.errors import InvalidInput, JournalError, RunLocked
from autoreason.events import GuidanceGiven
from autoreason.exchange import GuidanceQuery
from autoreason.journal import Journal, maintenance
from autoreason.journal.journal import locate
from autoreason.journal.maintenance import Copied, copy_runs
from autoreason.journal.run_names import is_cell

LONG = "Write about tides and boats. " * 300
OF_TWO = "WHERE text LIKE '%two%'"


def written(url: str | Path, *runs: str) -> None:
    """A journal with these runs, each with a text of its own and one that all share."""
    with Journal.open(str(url), create=True) as journal:
        for run in runs:
            create_run(journal, run)
            journal.append(run, GuidanceGiven(number=1, text=LONG))
            asyncio.run(journal.record_reply(run, a_request(text=run * 120), a_reply()))


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
        (f"DELETE FROM texts {OF_TWO}", "is missing"),
        (f"UPDATE texts SET text = replace(text, 'two', 'TWO') {OF_TWO}", "is not what was writ"),
        ("UPDATE replies SET request = '{', role = 'guidance' WHERE run = 'two'", "is damaged"),
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


def test_a_changed_byte_of_a_compressed_text_is_damage(path: Path) -> None:
    written(path, "one", "two")
    with closing(sqlite3.connect(path)) as connection:
        compressed = "run = 'two' AND typeof(text) = 'blob'"
        ((packed,),) = connection.execute(f"SELECT text FROM texts WHERE {compressed}")
        changed = packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:]
        connection.execute(f"UPDATE texts SET text = ? WHERE {compressed}", (changed,))
        connection.commit()
    with Journal.open(str(path), create=False) as journal:
        (damage,) = maintenance.check(journal, quietly)
    assert damage.run == "two"
    assert "is damaged (a text cannot be decoded)" in damage.what


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


def test_space_of_a_deleted_run_is_given_back(url: str) -> None:
    written(url, *(f"one-{number}" for number in range(50)), "two")
    with Journal.open(url, create=False) as journal:
        before = journal.replies("two"), journal.events("two")
        for number in range(50):
            journal.delete_run(f"one-{number}")
        assert [run.id for run in journal.runs()] == ["two"]
    larger, smaller = maintenance.compact(locate(url), quietly)
    assert larger > smaller > 0
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
        other = Journal.open(url, create=False)
        with other, pytest.raises(RunLocked, match="one is locked"):
            other.delete_run("one")
        with pytest.raises(RunLocked, match="one is live; wait"):
            maintenance.compact(locate(url), quietly)
        assert live.row("one").live


def write(journal: Journal, *runs: str) -> None:
    for run in runs:
        create_run(journal, run, title=f"\0 {run}", forked_from="another")
        journal.append(run, GuidanceGiven(number=1, text=LONG))
        journal.record_request(run, a_request("in flight"))
        if not is_cell(run):
            journal.command(run, "guide", "Shorter.")
            asyncio.run(journal.record_guidance(run, GuidanceQuery(key="guidance")))
            journal.command(run, "stop", "\0")
        asyncio.run(journal.record_reply(run, a_request(text=f"\0{run}" + LONG), a_reply("\0é")))
        journal.set_status(run, "capped")
        asyncio.run(journal.flush())


def everything(journal: Journal) -> list[Any]:
    return [
        (
            *(journal.row(run), journal.events(run), journal.replies(run), journal.answers(run)),
            *(journal.in_flight(run), sorted(journal.times(run))),
            [each._replace(rowid=0) for each in journal.calls(run)],
            [each._replace(id=0) for each in journal.pending_commands(run)],
        )
        for run in journal.stamps()
    ]


def copied(source: str, target: str) -> Copied:
    with Journal.open(source, create=False) as one, Journal.open(target, create=True) as other:
        result = copy_runs(one, other, quietly)
        assert everything(one) == everything(other)
        assert maintenance.check(other, quietly) == []
    return result


@contextmanager
def two_journals(folder: Path) -> Iterator[tuple[Journal, Journal]]:
    with (
        Journal.open(str(folder / "one.db"), create=True) as one,
        Journal.open(str(folder / "other.db"), create=True) as other,
    ):
        yield one, other


def test_runs_and_their_cells_move_to_a_server_and_back(tmp_path: Path, postgres: Server) -> None:
    first, last = str(tmp_path / "first.db"), str(tmp_path / "last.db")
    servers = [postgres.create(), postgres.create()]
    with Journal.open(first, create=True) as journal:
        write(journal, "b", "a", "c", "c.0001", "c.0002")
    places = [first, *servers, last]
    runs = ["b", "a", "c", "c.0001", "c.0002"]
    for source, target in pairwise(places):
        assert copied(source, target) == Copied(runs, [], {}, [], {}, [])
    with Journal.open(first, create=False) as one, Journal.open(last, create=False) as other:
        assert everything(one) == everything(other)
        assert other.find("c").title == " c"
        assert other.cells("c") == one.cells("c")
        assert len(other.cells("c")) == 2


def test_interrupted_it_goes_on_with_the_next_run(tmp_path: Path) -> None:
    def interrupt(_: str, done: int, __: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with two_journals(tmp_path) as (one, other):
        write(one, "a", "b", "c")
        with pytest.raises(KeyboardInterrupt):
            copy_runs(one, other, interrupt)
        assert copy_runs(one, other, quietly) == Copied(["c"], ["a", "b"], {}, [], {}, [])
        # What was copied before is left as it is.
        write(one, "d")
        assert copy_runs(one, other, quietly) == Copied(["d"], ["a", "b", "c"], {}, [], {}, [])


def test_another_run_of_the_same_name_is_not_overwritten_and_the_others_are_copied(
    tmp_path: Path,
) -> None:
    with two_journals(tmp_path) as (one, other):
        write(one, "new", "same", "same.0001")
        write(other, "same")
        before = everything(other)
        found = copy_runs(one, other, quietly)
        assert (found.copied, found.there, list(found.conflicts)) == (["new"], [], ["same"])
        assert found.differing == ["same", "same.0001"]
        assert "has another same, which is left as it is" in found.conflicts["same"]
        assert everything(other)[1:] == before
        assert list(other.stamps()) == ["new", "same"]


def test_a_run_that_becomes_live_while_it_is_copied_is_left_out(tmp_path: Path) -> None:
    with two_journals(tmp_path) as (one, other), ExitStack() as locks:
        write(one, "a", "b", "c")

        def go_on_with_b(run: str) -> None:
            if run == "a":
                locks.enter_context(one.lock("b"))

        found = copy_runs(one, other, quietly, go_on_with_b)
        assert (found.copied, found.live) == (["a", "c"], ["b"])
        locks.close()
        found = copy_runs(one, other, quietly)
        assert (found.copied, found.there) == (["b"], ["a", "c"])


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET payload = x'00ff' WHERE run = 'a.0001' AND seq = 1",
        "UPDATE replies SET reply = x'00ff' WHERE run = 'a.0001'",
        "UPDATE runs SET title = x'00ff' WHERE id = 'a.0001'",
        "UPDATE replies SET reply = CAST(x'22ff22' AS TEXT) WHERE run = 'a.0001'",
    ],
)
def test_a_damaged_run_is_named_and_the_others_are_copied(tmp_path: Path, damage: str) -> None:
    with two_journals(tmp_path) as (one, other):
        write(one, "a", "a.0001", "b")
        change(str(one.place), damage)
        result = copy_runs(one, other, quietly)
        assert (result.copied, result.there) == (["a", "b"], [])
        assert list(result.damaged) == ["a.0001"]
        lacks = "a.0001 is not copied, and a lacks this cell: the record of a.0001 in"
        assert result.damaged["a.0001"].startswith(f"{lacks} {one.place} is damaged")
        assert list(other.stamps()) == ["a", "b"]
        assert copy_runs(one, other, quietly) == Copied([], ["a", "b"], result.damaged, [], {}, [])


def test_a_live_run_is_left_out_and_a_journal_is_not_copied_to_itself(tmp_path: Path) -> None:
    with two_journals(tmp_path) as (one, other):
        for name in ("a", "a.0001", "b"):
            write(one, name)
        with one.lock("a"):
            found = copy_runs(one, other, quietly)
        assert (found.copied, found.live) == (["b"], ["a", "a.0001"])
        with pytest.raises(InvalidInput, match="is both; name another journal"):
            copy_runs(one, one, quietly)
        found = copy_runs(one, other, quietly)
        assert (found.copied, found.there, found.live) == (["a", "a.0001"], ["b"], [])
