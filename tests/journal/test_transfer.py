"""Runs are copied from journal to journal, whatever each is in; nothing is lost, and nothing is overwritten."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.journal.samples import a_reply, a_request, change, create_run
from tools.postgres import Server

from autoreason.errors import InvalidInput
from autoreason.events import GuidanceGiven
from autoreason.exchange import GuidanceQuery
from autoreason.journal import Journal, maintenance
from autoreason.journal.maintenance import Copied, copy_runs
from autoreason.journal.run_names import is_cell

LONG = "Write about tides and boats. " * 30


def quietly(*_: object) -> None:
    """Says nothing of how far it is."""


def write(journal: Journal, *runs: str) -> None:
    """Runs with everything that can be recorded of one."""
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
    """What can be read of every run."""
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
    """Copy all runs."""
    with Journal.open(source, create=False) as one, Journal.open(target, create=True) as other:
        result = copy_runs(one, other, quietly)
        assert everything(one) == everything(other)
        assert maintenance.check(other, quietly) == []
    return result


def test_runs_and_their_cells_move_to_a_server_and_back(tmp_path: Path, postgres: Server) -> None:
    first, last = str(tmp_path / "first.db"), str(tmp_path / "last.db")
    servers = [postgres.create(), postgres.create()]
    with Journal.open(first, create=True) as journal:
        write(journal, "b", "a", "c", "c.0001", "c.0002")
    places = [first, *servers, last]
    for source, target in pairwise(places):
        assert copied(source, target) == Copied(
            ["b", "a", "c", "c.0001", "c.0002"], [], {}, [], {}, []
        )
    with Journal.open(first, create=False) as one, Journal.open(last, create=False) as other:
        assert everything(one) == everything(other)
        assert other.find("c").title == "\0 c"
        assert other.cells("c") == one.cells("c")
        assert len(other.cells("c")) == 2


def test_what_was_copied_before_is_left_as_it_is(tmp_path: Path) -> None:
    source, target = str(tmp_path / "one.db"), str(tmp_path / "other.db")
    with Journal.open(source, create=True) as journal:
        write(journal, "a", "b")
        assert copied(source, target) == Copied(["a", "b"], [], {}, [], {}, [])
        write(journal, "c")
    assert copied(source, target) == Copied(["c"], ["a", "b"], {}, [], {}, [])


def test_interrupted_it_goes_on_with_the_next_run(tmp_path: Path) -> None:
    source, target = str(tmp_path / "one.db"), str(tmp_path / "other.db")

    def interrupt(_: str, done: int, __: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with Journal.open(source, create=True) as one, Journal.open(target, create=True) as other:
        write(one, "a", "b", "c")
        with pytest.raises(KeyboardInterrupt):
            copy_runs(one, other, interrupt)
        assert copy_runs(one, other, quietly) == Copied(["c"], ["a", "b"], {}, [], {}, [])


def test_another_run_of_the_same_name_is_not_overwritten_and_the_others_are_copied(
    tmp_path: Path,
) -> None:
    source, target = str(tmp_path / "one.db"), str(tmp_path / "other.db")
    with Journal.open(source, create=True) as one, Journal.open(target, create=True) as other:
        write(one, "new", "same", "same.0001")
        write(other, "same")
        before = everything(other)
        found = copy_runs(one, other, quietly)
        assert (found.copied, found.there, list(found.conflicts)) == (["new"], [], ["same"])
        assert found.differing == ["same", "same.0001"]
        assert "has another run same, which is left as it is" in found.conflicts["same"]
        assert everything(other)[1:] == before
        assert list(other.stamps()) == ["new", "same"]


def test_a_run_that_becomes_live_while_it_is_copied_is_left_out(tmp_path: Path) -> None:
    source, target = str(tmp_path / "one.db"), str(tmp_path / "other.db")
    with (
        Journal.open(source, create=True) as one,
        Journal.open(target, create=True) as other,
        ExitStack() as locks,
    ):
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
    source, target = str(tmp_path / "one.db"), str(tmp_path / "other.db")
    with Journal.open(source, create=True) as one, Journal.open(target, create=True) as other:
        write(one, "a", "a.0001", "b")
        change(source, damage)
        result = copy_runs(one, other, quietly)
        assert (result.copied, result.there) == (["a", "b"], [])
        assert list(result.damaged) == ["a.0001"]
        assert result.damaged["a.0001"].startswith(
            f"a.0001 is not copied, and a lacks this cell: the record of a.0001 in {source} is damaged"
        )
        assert list(other.stamps()) == ["a", "b"]
        assert copy_runs(one, other, quietly) == Copied([], ["a", "b"], result.damaged, [], {}, [])


def test_a_run_that_was_damaged_after_it_was_copied_is_named(tmp_path: Path) -> None:
    source, target = str(tmp_path / "one.db"), str(tmp_path / "other.db")
    with Journal.open(source, create=True) as one, Journal.open(target, create=True) as other:
        write(one, "a")
        assert copy_runs(one, other, quietly).copied == ["a"]
        change(source, "UPDATE replies SET reply = x'00ff'")
        write(one, "b")
        result = copy_runs(one, other, quietly)
        assert (result.copied, result.there) == (["b"], [])
        assert result.damaged["a"].startswith("a cannot be compared: the record of a in")


def test_a_live_run_is_left_out_and_a_journal_is_not_copied_to_itself(tmp_path: Path) -> None:
    source, target = str(tmp_path / "one.db"), str(tmp_path / "other.db")
    with Journal.open(source, create=True) as one, Journal.open(target, create=True) as other:
        for name in ("a", "a.0001", "b"):
            write(one, name)
        with one.lock("a"):
            found = copy_runs(one, other, quietly)
        assert (found.copied, found.live) == (["b"], ["a", "a.0001"])
        with pytest.raises(InvalidInput, match="is both; name another journal"):
            copy_runs(one, one, quietly)
        found = copy_runs(one, other, quietly)
        assert (found.copied, found.there, found.live) == (["a", "a.0001"], ["b"], [])
