"""A journal on a server: what only a server can do to it is one sentence, and nothing committed is lost."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.journal.samples import RUN, a_reply, a_request, change, committed, create_run
from tests.patience import until
from tools.postgres import Server

from autoreason.errors import (
    AutoreasonError,
    InvalidInput,
    JournalError,
    RunLocked,
    UnknownRun,
    WritingFailed,
)
from autoreason.events import PassStarted
from autoreason.journal import Journal, codec, maintenance, writer
from autoreason.journal.codec import now
from autoreason.journal.postgres import DriverError, PostgresConnection


def database_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def new_journal(url: str) -> Journal:
    """A journal with one run."""
    journal = Journal.open(url, create=True)
    create_run(journal, RUN)
    return journal


def assert_free(url: str) -> None:
    """Another process can lock the run."""
    with Journal.open(url, create=False) as other, other.lock(RUN):
        assert other.lock_owner(RUN)


def disconnect(server: Server, url: str) -> None:
    """Cut every connection to a database, as a server that is stopped does."""
    server.execute(
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database_of(url)}'"
    )


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


def test_it_has_no_file(journal: Journal, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is on a server and has no file"):
        str(journal.path)
    with pytest.raises(InvalidInput, match="is on a server; back it up with pg_dump"):
        maintenance.back_up(journal.place, tmp_path / "copy.db")


def test_cells_are_found_however_the_database_sorts_its_texts(postgres: Server) -> None:
    # As in a dictionary, which does not look at hyphens and dots.
    postgres.execute(
        "CREATE DATABASE words TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-u-ka-shifted'"
    )
    with Journal.open(postgres.url("words"), create=True) as journal:
        for run in (RUN, f"{RUN}-b", f"{RUN}.0001", f"{RUN}0", f"{RUN}_.0001"):
            create_run(journal, run)
            asyncio.run(journal.record_reply(run, a_request(), a_reply()))
        assert [row.id for row in journal.cells(RUN)] == [f"{RUN}.0001"]
        assert journal.cells_spent(RUN).calls == 1


def test_a_place_that_cannot_be_opened_is_one_sentence_without_its_password(
    postgres: Server, url: str, tmp_path: Path
) -> None:
    postgres.execute("DROP ROLE IF EXISTS known", "CREATE ROLE known LOGIN PASSWORD 'right'")
    name = database_of(url)
    for place, message in (
        (f"postgresql://ada:s3cret@/runs?host={tmp_path}", "start the server, create the database"),
        ("postgresql://ada:s3cret@host/runs?none=1", "is not a URL of PostgreSQL; write postgres"),
        (postgres.url("nowhere"), '"nowhere" does not exist; start the server, create'),
        (postgres.url(name, "known", "s3cret"), r"authentication failed.*correct address, user"),
    ):
        with pytest.raises(AutoreasonError, match=message) as raised:
            Journal.open(place, create=True)
        assert "s3cret" not in str(raised.value)


def test_without_its_driver_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "autoreason.journal.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidInput, match=r"needs psycopg; run `pip install '\.\[postgres\]'`"):
        Journal.open("postgresql:///runs", create=False)


def test_without_the_right_to_write_a_journal_can_be_read(postgres: Server, url: str) -> None:
    name = f"guest_{database_of(url)}"
    postgres.execute(f"CREATE ROLE {name} LOGIN")
    guest = postgres.url(database_of(url), name)
    with pytest.raises(JournalError, match=r"does not allow it \(permission denied"):
        Journal.open(guest, create=True)
    new_journal(url).close()
    postgres.execute(
        f"GRANT USAGE ON SCHEMA autoreason TO {name}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA autoreason TO {name}",
        database=database_of(url),
    )
    with Journal.open(guest, create=False) as journal:
        assert [run.id for run in journal.runs()] == [RUN]
        with pytest.raises(JournalError, match="ask its owner for the right, or name another"):
            journal.command(RUN, "stop")


def test_another_version_is_refused_and_left_as_it_is(url: str) -> None:
    Journal.open(url, create=True).close()
    change(url, "UPDATE schema_version SET version = 99")
    for create in (True, False):
        with pytest.raises(JournalError, match=r"\(record 99, this one reads 1\); use"):
            Journal.open(url, create=create)


def test_tables_of_another_program_are_left_as_they_are(postgres: Server, url: str) -> None:
    postgres.execute(
        "CREATE SCHEMA autoreason",
        "CREATE TABLE autoreason.runs (x int)",
        database=database_of(url),
    )
    for create in (True, False):
        with pytest.raises(JournalError, match="that are not a journal; name another"):
            Journal.open(url, create=create)


async def test_a_full_disk_is_one_sentence_and_the_next_reply_is_kept(
    journal: Journal, url: str
) -> None:
    change(
        url,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END$$",
        "CREATE TRIGGER full_disk BEFORE INSERT ON replies EXECUTE FUNCTION full_disk()",
    )
    with pytest.raises(WritingFailed, match=r"no space is left for .*; free some, then resume"):
        await journal.record_reply(RUN, a_request(), a_reply())
    change(url, "DROP TRIGGER full_disk ON replies")
    await journal.record_reply(RUN, a_request(), a_reply())
    assert len(journal.replies(RUN)) == 1


async def test_a_lost_connection_reaches_everybody_who_waits(postgres: Server, url: str) -> None:
    journal = new_journal(f"{url}&retry=0")
    await journal.record_reply(RUN, a_request("before"), a_reply())
    disconnect(postgres, url)
    results = await asyncio.gather(
        *(journal.record_reply(RUN, a_request(str(n)), a_reply()) for n in range(5)),
        return_exceptions=True,
    )
    assert {type(result) for result in results} == {WritingFailed}
    sentence = r"the connection to .* was lost \(.*\); when the server can be reached again, resume"
    assert re.fullmatch(sentence, str(results[0]))
    with pytest.raises(WritingFailed, match=sentence):
        journal.command(RUN, "stop")
    journal.close()
    with Journal.open(url, create=False) as journal:
        assert list(journal.replies(RUN)) == ["before"]


def test_a_lost_connection_loses_the_lock_and_the_right_to_write(
    postgres: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An idle process does not notice.
    monkeypatch.setattr("autoreason.journal.writer._IDLE_CHECK", 1e6)
    lost, other = Journal.open(url, create=True), Journal.open(url, create=True)
    create_run(lost, RUN)
    with lost.lock(RUN):
        lost.append(RUN, PassStarted(number=1, words=1))
        with pytest.raises(RunLocked):
            other.lock(RUN).__enter__()
        disconnect(postgres, url)
        other.close()
        with Journal.open(url, create=False) as other, other.lock(RUN):
            seen = len(other.events(RUN))
            with pytest.raises(WritingFailed, match=f"another process went on with {RUN} while"):
                asyncio.run(lost.record_reply(RUN, a_request(), a_reply()))
            assert len(other.events(RUN)) == seen
            assert other.replies(RUN) == {}
    lost._reader.close()


def test_an_idle_process_locks_its_run_again(postgres: Server, url: str) -> None:
    with new_journal(url) as journal:
        with journal.lock(RUN):
            disconnect(postgres, url)
            until(lambda: journal.lock_owner(RUN))
            with Journal.open(url, create=False) as other, pytest.raises(RunLocked):
                other.lock(RUN).__enter__()
        assert journal.lock_owner(RUN) is None


@pytest.mark.parametrize("committed_first", [False, True])
async def test_what_was_under_way_when_the_connection_was_lost_is_applied_once(
    postgres: Server, url: str, monkeypatch: pytest.MonkeyPatch, committed_first: bool
) -> None:
    name = "_leave_pipeline" if committed_first else "_send_rows"
    usual, cuts = getattr(PostgresConnection, name), iter([True])

    def cut(connection: PostgresConnection) -> None:
        usual(connection)
        if next(cuts, False):
            disconnect(postgres, url)
            until(lambda: connection.lost)
            raise DriverError("it was lost")

    with new_journal(url) as journal:
        await journal.flush()
        monkeypatch.setattr(PostgresConnection, name, cut)
        journal.append(RUN, PassStarted(number=1, words=1))
        journal.record_request(RUN, a_request())
        async with journal.lock_async(RUN):
            journal.command(RUN, "guide", "Be brief.")
            await journal.record_reply(RUN, a_request(), a_reply())
            assert journal.lock_owner(RUN)
        assert journal.lock_owner(RUN) is None
        assert (len(journal.events(RUN)), len(journal.replies(RUN))) == (1, 1)
        assert [each.text for each in journal.pending_commands(RUN)] == ["Be brief."]
    assert [committed(url, table) for table in ("asked", "locks", "writers")] == [1, 0, 0]


async def test_a_server_that_stays_away_is_given_up_after_a_while(
    postgres: Server, url: str
) -> None:
    journal = new_journal(f"{url}&retry=1")
    postgres.execute(f"ALTER DATABASE {database_of(url)} ALLOW_CONNECTIONS false")
    disconnect(postgres, url)
    for _ in range(2):
        with pytest.raises(WritingFailed, match=r"was lost .*when the server can be reached"):
            await journal.record_reply(RUN, a_request(), a_reply())
    with pytest.raises(WritingFailed, match="was lost"):
        journal.runs()
    journal.close()


async def test_a_lock_that_is_given_up_while_it_is_taken_is_released(
    journal: Journal, url: str
) -> None:
    taking = asyncio.create_task(journal.lock_async(RUN).__aenter__())
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert_free(url)


def test_a_lock_that_was_taken_at_the_second_try_is_released(journal: Journal, url: str) -> None:
    change(
        url,
        "CREATE SEQUENCE tries",
        "CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN IF nextval('autoreason.tries') = 1 THEN RAISE 'once'; END IF; RETURN NEW; END$$",
        "CREATE TRIGGER fail_once BEFORE INSERT ON locks FOR EACH ROW EXECUTE FUNCTION fail_once()",
    )
    with journal.lock(RUN):
        assert journal.lock_owner(RUN)
    assert_free(url)


async def test_a_change_that_is_refused_harms_no_later_one(journal: Journal) -> None:
    async def lock(run: str) -> None:
        async with journal.lock_async(run):
            pass

    row = (RUN, "A letter", "running", now(), now(), "0", None, "", "")
    event = PassStarted(number=1, words=1)
    for number in range(8):
        begin = writer.begin_run(row, codec.event_row(RUN, 1, event))
        refused, *locked = await asyncio.gather(
            journal._get_writer().commit(RUN, begin),
            *(lock(f"run-{number}-{each}") for each in range(2)),
            return_exceptions=True,
        )
        assert isinstance(refused, InvalidInput)
        assert locked == [None, None]


def test_a_lock_is_released_also_where_nothing_more_can_be_written(
    journal: Journal, url: str
) -> None:
    with pytest.raises(ZeroDivisionError), journal.lock(RUN):  # noqa: PT012
        change(
            url,
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN RAISE SQLSTATE '53100'; END$$",
            "CREATE TRIGGER full_disk BEFORE DELETE ON locks EXECUTE FUNCTION full_disk()",
        )
        raise ZeroDivisionError
    change(url, "DROP TRIGGER full_disk ON locks")
    assert_free(url)


def test_a_lock_taken_in_a_batch_that_was_undone_is_released(url: str) -> None:
    journal = new_journal(url)
    # An event that is refused undoes the batch it is in.
    journal.append("20261115-no-run", PassStarted(number=1, words=1))
    with pytest.raises(UnknownRun), journal.lock(RUN):
        pytest.fail("locked although something before it was not written")
    assert_free(url)
    with pytest.raises(UnknownRun):
        journal.close()


@pytest.fixture
def durable(postgres: Server) -> Iterator[Server]:
    """A server whose commits reach the disk."""
    server = Server(Path(f"{postgres.folder}-durable"))
    server.begin(durable=True)
    yield server
    server.remove()


def test_what_was_awaited_survives_the_servers_crash(durable: Server) -> None:
    url = durable.create()
    journal = Journal.open(f"{url}&retry=0", create=True)
    create_run(journal, RUN)

    async def write() -> int:
        for number in range(20):
            await journal.record_reply(RUN, a_request(str(number)), a_reply("x" * 500))
        crash = asyncio.create_task(asyncio.to_thread(durable.stop, "immediate"))
        while True:
            number += 1
            try:
                await journal.record_reply(RUN, a_request(str(number)), a_reply("x" * 500))
            except WritingFailed:
                await crash
                return number

    awaited = asyncio.run(write())
    with pytest.raises(JournalError, match="start the server"):
        Journal.open(url, create=False)
    durable.begin(durable=True)
    with closing(Journal.open(url, create=False)) as again:
        assert {str(number) for number in range(awaited)} <= set(again.replies(RUN))
    journal._reader.close()
