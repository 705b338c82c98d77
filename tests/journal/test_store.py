"""Runs, replies and sums, in a real file or database that is created once and whole."""

from __future__ import annotations

import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace
from tests.cases import cases
from tests.journal.samples import RUN, a_process, a_reply, a_request, create_run
from tests.patience import PATIENCE

from autoreason.errors import InvalidInput, ReplayMismatch, UnknownRun
from autoreason.events import JobFinished, RunResumed, RunStarted
from autoreason.exchange import GuidanceQuery, Outcome, Spent
from autoreason.files import ServerUrl
from autoreason.job_types import Judge
from autoreason.journal import Journal, sql, sqlite
from autoreason.journal.codec import now
from autoreason.journal.journal import locate, open_store
from autoreason.journal.listing import select_runs
from autoreason.settings import Models, make_settings
from autoreason.studies.lab_suite import Cell, CellFinished, CellResult
from autoreason.task import Task

SETTINGS = make_settings(Models.everywhere("echo/echo"), 1)
STARTED = RunStarted(task=Task(brief="x"), settings=SETTINGS, prompts={}, version="0")


def test_a_new_journal_is_for_its_owner_only(path: Path) -> None:
    Journal.open(str(path), create=True).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with closing(sqlite3.connect(path)) as connection:
        for name, value in (("application_id", sql.APPLICATION_ID), ("user_version", sql.VERSION)):
            assert connection.execute(f"PRAGMA {name}").fetchone() == (value,)


def test_reading_on_a_fresh_machine_shows_nothing_and_writes_nothing(url: str) -> None:
    with Journal.open(url, create=False) as journal:
        assert journal.runs() == []
        assert journal.spent(RUN) == Spent()
        assert journal.events(RUN) == []
        assert journal.lock_owner(RUN) is None
        with pytest.raises(UnknownRun, match="no run 'last', there is none; see `autoreason runs`"):
            journal.find("last")
        with pytest.raises(InvalidInput, match="there is no journal"):
            journal.command(RUN, "stop")
    assert not open_store(locate(url)).exists()


def test_the_usual_place_and_how_to_name_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AUTOREASON_JOURNAL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.chdir(tmp_path)
    assert locate(None) == Path("/data/autoreason/journal.db")
    monkeypatch.setenv("AUTOREASON_JOURNAL", "sqlite:///srv/team%20one.db")
    assert locate(None) == Path("/srv/team one.db")
    assert locate("sqlite:////srv/journal.db") == Path("/srv/journal.db")
    assert locate("~/journal.db") == Path("/home/ada/journal.db")
    assert locate("here.db") == tmp_path / "here.db"


@pytest.mark.parametrize("place", ["mysql://host/name", "sqlite://host/x.db", "sqlite:x.db"])
def test_no_other_kind_of_database_is_known(place: str) -> None:
    with pytest.raises(InvalidInput, match=f"{place}; give a path, sqlite:///folder"):
        locate(place)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://ada:s3cret@db.lab/runs", "postgresql://ada@db.lab/runs"),
        ("postgres://ada:s:3@db.lab:5433/runs", "postgres://ada@db.lab:5433/runs"),
        ("postgresql://ada:p@s/s@db.lab/runs", "postgresql://ada@db.lab/runs"),
        ("postgresql://db.lab:5433/runs", "postgresql://db.lab:5433/runs"),
        ("postgresql:///runs?user=ada&password=s3cret", "postgresql:///runs?user=ada"),
        ("postgresql:///runs?password=s3cret&user=ada", "postgresql:///runs?user=ada"),
        ("postgresql:///runs?sslpassword=s3cret", "postgresql:///runs"),
        ("postgresql:///runs", "postgresql:///runs"),
    ],
)
def test_a_password_is_never_shown(given: str, shown: str) -> None:
    place = locate(given)
    assert isinstance(place, ServerUrl)
    assert place.url == given
    assert f"{place}" == shown
    assert repr(place) == f"ServerUrl('{shown}')"
    assert locate(place) == place


async def test_a_run_name_is_used_once(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "new_run_id", lambda: RUN)
    with pytest.raises(InvalidInput, match=f"run {RUN} exists already"):
        await journal.begin_run("Another", "0.1.0", STARTED)
    assert journal.find(RUN).title == "A letter"


@pytest.mark.parametrize("name", ["", "../out", "a/b", "-x", "x" * 81, "a b", "ä"])
def test_what_cannot_name_a_file_cannot_name_a_run(file_journal: Journal, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot name a run"), file_journal.lock(name):
        pass


@pytest.fixture
def three(journal: Journal) -> Journal:
    create_run(journal, "20261115-calm-fox", "A story")
    create_run(journal, "20261116-keen-owl", "A poem", forked_from=RUN)
    return journal


@cases(
    ("given", "found"),
    [
        (RUN, RUN),
        ("20261115-a", RUN),
        ("20261116", "20261116-keen-owl"),
        ("owl", "20261116-keen-owl"),
        ("calm-fox", "20261115-calm-fox"),
        ("last", "20261116-keen-owl"),
        ("@1", "20261116-keen-owl"),
        ("@3", RUN),
    ],
)
def test_a_run_is_found_by_a_part_of_its_name(three: Journal, given: str, found: str) -> None:
    assert three.find(given).id == found


@cases(
    ("given", "sentence"),
    [
        ("kean-owl", "no run 'kean-owl', the nearest is 20261116-keen-owl; see `autoreason runs`"),
        ("20261115-ambr-fox", f"no run '20261115-ambr-fox', the nearest is {RUN}; see"),
        ("zzz", "no run 'zzz'; see `autoreason runs`"),
        ("", "no run ''; see `autoreason runs`"),
        ("@4", "no run '@4', there are only 3; see `autoreason runs`"),
        ("%", "no run '%'; see"),
        ("fox", f"'fox' could be 20261115-calm-fox, {RUN}; give more"),
    ],
)
def test_an_unknown_run_names_the_nearest_and_an_ambiguous_name_all_that_it_could_be(
    three: Journal, given: str, sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        three.find(given)


async def test_runs_are_listed_newest_first_with_what_they_took(three: Journal) -> None:
    for number in range(3):
        await three.record_reply(RUN, a_request(f"pass/{number}"), a_reply(cost="0.1"))
    three.set_status(RUN, "converged")
    await three.flush()
    newest, middle, oldest = three.runs()
    assert (newest.id, newest.forked_from) == ("20261116-keen-owl", RUN)
    assert middle.spent == Spent()
    assert (oldest.id, oldest.title, oldest.version) == (RUN, "A letter", "0.1.0")
    took = oldest.spent
    assert (took.calls, took.tokens, took.cost) == (3, 60, Decimal("0.3"))
    assert oldest.updated > oldest.created
    assert [run.id for run in three.runs(limit=1)] == ["20261116-keen-owl"]
    assert [run.id for run in three.runs(status="converged")] == [RUN]
    assert three.find(RUN) == oldest


async def test_cells_belong_to_their_suite_and_are_named_by_their_dot(journal: Journal) -> None:
    cells = [f"{RUN}.0001", f"{RUN}.0002"]
    others = [f"{RUN}-b", f"{RUN}0", f"{RUN}s.0001", f"{RUN.upper()}.0001", f"{RUN}_"]
    for run in (*others, *cells):
        create_run(journal, run)
        await journal.record_reply(run, a_request(), a_reply(cost="0.1"))
    assert [row.id for row in journal.cells(RUN)] == cells[::-1]
    assert [row.spent.calls for row in journal.cells(RUN)] == [1, 1]
    assert journal.cells_spent(RUN).cost == journal.row(RUN).spent.cost == Decimal("0.2")
    assert [row.id for row in journal.runs()] == [f"{RUN}_", f"{RUN}0", f"{RUN}-b", RUN]
    assert [row.spent.calls for row in journal.runs()] == [1, 1, 1, 2]
    assert [row.id for row in journal.runs(2, cells=True)] == cells[::-1]
    assert journal.find("last").id == f"{RUN}_"
    assert journal.find("@4").id == RUN
    with pytest.raises(UnknownRun, match="there are only 4"):
        journal.find("@5")
    assert journal.find("amber-fox").id == RUN
    assert journal.find("amber-fox.0002").id == cells[1]
    with pytest.raises(InvalidInput, match=f"{cells[1]}, {cells[0]}; give more"):
        journal.find(f"{RUN}.")
    journal.delete_run(RUN)
    assert [row.id for row in reversed(journal.runs(None, cells=True))] == others


@contextmanager
def counting(journal: Journal) -> Iterator[list[int]]:
    read: list[int] = []
    look = journal._read

    def count(*given: Any) -> list[tuple[Any, ...]]:
        rows = look(*given)
        read.append(len(rows))
        return rows

    with patch.object(journal, "_read", count):
        yield read


def test_listing_runs_never_reads_a_reply(file_journal: Journal) -> None:
    connection = sqlite3.connect(file_journal.path)
    connection.create_aggregate("exact_sum", 1, lambda: None)  # type: ignore[arg-type, return-value]
    plan = str(connection.execute(f"EXPLAIN QUERY PLAN {sql.SPENT}", ("[]",)).fetchall())
    connection.close()
    assert "USING COVERING INDEX replies_of_run" in plan


async def test_what_no_run_matches_is_found_without_reading_any(journal: Journal) -> None:
    journal.delete_run(RUN)
    for number in range(30):
        name = await journal.begin_run(f"Straße {number}", "0", STARTED)
    journal.append(name, RunResumed(settings=replace(SETTINGS, job=Judge(), judges=3)))
    await journal.flush()
    with patch.object(journal, "settings", side_effect=AssertionError), counting(journal) as read:
        searches: list[dict[str, Any]] = [
            {"model": "zzz"},
            {"strategy": "lab"},
            {"search": "qqq"},
            {"search": "e_2"},
            {"states": ("converged", "stopped")},
            {"states": ("live",)},
        ]
        for wanted in searches:
            assert [*select_runs(journal, **wanted)] == []
    assert sum(read) == 0
    assert [row.id for row in select_runs(journal, strategy="judge")] == [name]
    assert len([*select_runs(journal, search="STRASSE 2")]) == 11
    assert len([*select_runs(journal, model="ho/ec")]) == 30


def test_a_list_reads_as_much_as_is_taken_of_it(journal: Journal) -> None:
    names = [f"run-{n:03}" for n in range(70)]
    cells = [f"run-069.{n:04}" for n in range(200)]
    row = ("A letter", "running", now(), now(), "0", None, "", "")
    journal._get_writer().commit_now(
        "", lambda shelf: [shelf.execute(sql.INSERT_RUN, (n, *row)) for n in (*names, *cells)]
    )
    assert [row.id for row in journal.iter_runs()] == [*names[::-1], RUN]
    assert [row.id for row in journal.iter_runs(suite="run-069")] == cells[::-1]
    assert [row.id for row in journal.iter_runs(cells=True)] == [*cells[::-1], *names[::-1], RUN]
    assert [row.has_cells for row in journal.runs(2)] == [True, False]
    with counting(journal) as read:
        assert [row.id for row in islice(journal.iter_runs(), 20)] == names[:-21:-1]
    # Their names, and what is recorded of them.
    assert sum(read) < 45


def test_an_outline_leaves_out_what_came_of_cells(journal: Journal) -> None:
    result = CellResult(run="r", status="done", reason='"finished":false')
    for n, finished in enumerate((True, False, True)):
        cell = Cell(number=n, kind="arm", task="t", repeat=n, arms=("a",), part=f"1/a/{n}")
        journal.append(RUN, CellFinished(cell=cell, result=replace(result, finished=finished)))
    journal.append(RUN, JobFinished(status="done", reason="3 cells"))
    journal._get_writer().commit_now("", lambda _: None)
    assert journal.cells_done(RUN)[:2] == (3, 1)
    assert journal.cells_done("another") == (0, 0, 0)
    assert journal.outline(RUN).reason == journal.story(RUN).reason == "3 cells"
    assert (len(journal.outline(RUN).others), len(journal.story(RUN).others)) == (0, 3)


async def test_a_reply_comes_back_as_it_was(journal: Journal) -> None:
    request, reply = a_request(text="“Ünïcode” \0 \U0001f98a"), a_reply(text="\0 ñ 🦊")
    await journal.record_reply(RUN, request, reply)
    (call,) = journal.calls(RUN)
    assert journal.replies(RUN) == {request.key: call}
    assert (call.request, call.reply) == (request, reply)
    assert journal.calls(RUN, after=call.rowid) == []


async def test_reply_texts_are_read_without_their_requests_and_for_one_role(
    journal: Journal,
) -> None:
    long = "A judge's long word.\n" * 200
    await journal.record_reply(RUN, a_request("a", "judge", text=long), a_reply(long))
    await journal.record_reply(RUN, a_request("b", "critic"), a_reply("Weak."))
    judged, other = ("a", "judge", Outcome.OK, long), ("b", "critic", Outcome.OK, None)
    assert journal.reply_texts(RUN, "judge") == [judged, other]


async def test_no_reply_is_recorded_twice_and_what_is_no_text_never(journal: Journal) -> None:
    with pytest.raises(InvalidInput, match="lone surrogate"):
        await journal.record_reply(RUN, a_request(), a_reply("\ud800"))
    with pytest.raises(InvalidInput, match="not UTF-8"):
        await journal.begin_run("\udcff", "0.1.0", STARTED)
    with pytest.raises(InvalidInput, match="is not UTF-8 text"):
        journal.command(RUN, "guide", "\udcff")
    with pytest.raises(InvalidInput, match="is not UTF-8 text"):
        journal.question("\udcff")
    with pytest.raises(UnknownRun):
        await journal.record_reply("20261115-no-run", a_request(), a_reply())
    assert (journal.replies(RUN), journal.pending_commands(RUN)) == ({}, [])
    await journal.record_reply(RUN, a_request(), a_reply("first"))
    with pytest.raises(ReplayMismatch, match="has a reply to pass/1/judge/0/try/0 already"):
        await journal.record_reply(RUN, a_request(), a_reply("second"))
    assert journal.replies(RUN)[a_request().key].reply.text == "first"
    assert journal.spent(RUN).calls == 1


async def test_what_was_asked_and_not_answered_is_in_flight(journal: Journal) -> None:
    for key in ("a", "b", "c", "b"):
        journal.record_request(RUN, a_request(key))
    await journal.record_reply(RUN, a_request("a"), a_reply())
    waiting = [(asked.key, asked.model) for asked in journal.in_flight(RUN)]
    assert waiting == [("c", "fake/model"), ("b", "fake/model")]


async def test_unknown_prices_and_tokens_stay_unknown(journal: Journal) -> None:
    await journal.record_reply(RUN, a_request("a"), a_reply(cost="0.10"))
    await journal.record_reply(RUN, a_request("b"), a_reply(cost=None, tokens=None))
    spent = journal.spent(RUN)
    assert spent.cost is None
    assert (spent.known_cost, spent.unpriced, spent.unmetered) == (Decimal("0.10"), 1, 1)
    assert (spent.calls, spent.tokens, spent.known_tokens, spent.seconds) == (2, None, 20, 1.0)
    create_run(journal, "priced")
    for number in range(10):
        await journal.record_reply("priced", a_request(str(number)), a_reply(cost="1E-7"))
    assert journal.spent("priced").cost == Decimal("0.000001"), "to the last digit"


async def test_a_query_is_not_a_call(journal: Journal) -> None:
    await journal.record_answer(RUN, GuidanceQuery(key="pass/1/guidance"), "Shorter.")
    assert journal.replies(RUN) == {}
    assert journal.calls(RUN) == []
    assert journal.reply_texts(RUN, "judge") == []
    question = {"key": "pass/1/guidance"}
    assert journal.answers(RUN) == {"pass/1/guidance": ("guidance", question, "Shorter.")}
    assert journal.spent(RUN) == Spent()
    assert journal.runs()[0].spent == Spent()


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
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
