"""The journal: where it is, and one object to record runs with and to read any run from."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from datetime import datetime
from functools import partial
from itertools import chain, islice
from math import inf
from operator import itemgetter
from pathlib import Path
from secrets import choice
from time import monotonic
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.events import AnyEvent, Delivered, RunResumed, RunStarted, Status
from autoreason.exchange import GuidanceQuery, Outcome, Query, Reply, Request, Role, Spent
from autoreason.fields import check_type
from autoreason.files import Place, ServerUrl, data_folder
from autoreason.journal import codec, run_names, sql, store, writer
from autoreason.journal.writer import LeaseTable, Writer
from autoreason.settings import Settings
from autoreason.story import Story, build_story
from autoreason.task import Task

_POSTGRES = ("postgresql", "postgres")


def locate(url: str | Path | ServerUrl | None) -> Place:
    """What a URL or path names; without one, AUTOREASON_JOURNAL or the default."""
    if isinstance(url, ServerUrl):
        return url
    given = str(url or os.environ.get("AUTOREASON_JOURNAL") or "")
    if not given:
        return data_folder() / "journal.db"
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://|(sqlite):", given)
    if not scheme:
        path = Path(given)
    elif scheme[1] and scheme[1].lower() in _POSTGRES:
        return ServerUrl(given)
    elif given.startswith("sqlite:///"):
        path = Path("/" + unquote(given.removeprefix("sqlite:///")).lstrip("/"))
    else:
        raise InvalidInput(
            f"cannot keep a journal at {given}; give a path, sqlite:///folder/journal.db or"
            " postgresql://user@host/database"
        )
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise InvalidInput(f"{given} names an unknown home folder; write the whole path") from None


def open_store(place: Place) -> store.Store:
    """The database at a place; nothing is opened yet."""
    if isinstance(place, Path):
        from autoreason.journal.sqlite import SqliteStore

        return SqliteStore(place)
    from autoreason.journal.postgres import PostgresStore

    return PostgresStore(place)


T = TypeVar("T")
CheckQuestion = Callable[[codec.Question | None], object]
"""Raises where a question, None where there is none of that token, is not to be changed."""
_TOKEN, _TOKEN_LENGTH = "abcdefghijklmnopqrstuvwxyz23456789", 14
_ALL_COMMANDS: tuple[codec.CommandKind, ...] = ("stop", "accept", "guide")
_MAX_INTEGER = 2**63 - 1
_FIRST_PAGE, _MAX_PAGE = 20, 5000
"""Runs that a list reads at once."""
_COMMAND_REFRESH = 0.4
"""Seconds for which the list of runs with commands is kept."""


class CellsDone(NamedTuple):
    ended: int
    left_out: int
    """Those without a result."""
    missing: int
    """Those whose runs are not in this journal."""


class Journal:
    """What happened in every run. Reads see what is committed; one process at a time locks a run."""

    def __init__(self, path: str | Place) -> None:
        if not isinstance(path, ServerUrl):
            check_type("path", path, str | Path)
        self.place = locate(path)
        self._store = open_store(self.place)
        self._reader = self._store.open_reader()
        self._reader_lock = threading.Lock()
        self._writer: Writer | None = None
        self._writer_lock = threading.Lock()
        self._last_seq: dict[str, int] = {}
        self._seq_lock = threading.Lock()
        self._reserved_names: set[str] = set()
        self._commanded_runs: frozenset[str] = frozenset()
        self._checked_at = -inf

    @classmethod
    def open(cls, url: str | Place | None = None, *, create: bool) -> Self:
        """Open a journal by URL or path, or the default one; an absent one is empty unless created."""
        place = locate(url)
        if create and not (database := open_store(place)).exists():
            database.create()
        journal = cls(place)
        with store.closed_on_error(journal):
            if create:
                journal._get_writer()
        return journal

    @property
    def path(self) -> Path:
        """The file it is in."""
        if not isinstance(self.place, Path):
            raise InvalidInput(f"{self.place} is on a server and has no file; use `place`")
        return self.place

    def close(self) -> None:
        """Write what is queued and close the file; raises if anything could not be written."""
        try:
            if self._writer:
                self._writer.close()
        finally:
            with self._reader_lock:
                self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.close()
        except Exception:
            # The first error says more.
            if error is None:
                raise

    async def flush(self) -> None:
        """Wait until everything sent so far is on the disk."""
        if self._writer:
            await self._writer.commit("", lambda _: None)

    # Runs.

    def new_run_id(self) -> str:
        name = run_names.new_name(lambda name: name in self._reserved_names or self.has(name))
        # Not on the disk yet, but reserved.
        self._reserved_names.add(name)
        return name

    async def begin_run(
        self,
        title: str,
        version: str,
        started: RunStarted,
        name: str | None = None,
        *,
        at_once: bool = True,
    ) -> str:
        """Add a new run under a free name or this one, together with its first event; returns the name.

        Unless `at_once`, for names that are known to be free, it is on the disk with what is recorded next.
        """
        run, at = name or self.new_run_id(), codec.now()
        title = codec.write_text(title)
        known = (run, title, "running", at, at, version, started.forked_from)
        row = (*known, f"{title}\n{run}".casefold(), _uses(started.settings))
        first = codec.event_row(run, 1, started)
        begin = writer.begin_run(row, first)
        if at_once:
            await self._get_writer().commit(run, begin)
        else:
            self._get_writer().send(run, begin)
        self._last_seq[run] = 1
        return run

    def find(self, name: str) -> codec.RunRow:
        """The run named by a whole name, its beginning, its last words, `last` or `@2`; a cell only by its dot."""
        if self.has(name):
            return self.row(name)
        which = () if run_names.is_cell(name) else (sql.NO_CELL,)
        newest = self._read(sql.page_of_runs(*which), (run_names.age_of(name) or _MAX_INTEGER, 0))
        return self.row(run_names.match_name(name, [run for (run,) in newest]))

    def row(self, run: str) -> codec.RunRow:
        """One run as a list shows it."""
        live = frozenset({run}) if self.lock_owner(run) else frozenset()
        with store.journal_errors(self._store, run):
            (row,) = self._rows([run], live)
        return row

    def has(self, run: str) -> bool:
        return bool(self._read(sql.HAS_RUN, (run,)))

    def cells(self, suite: str) -> list[codec.RunRow]:
        """The runs that are cells of a suite, the newest first."""
        return list(self.iter_runs(suite=suite))

    def continuation(self, suite: str) -> str | None:
        """The suite that `lab run --more` made of this one, which counts the cells of both; None where none is."""
        return next((str(run) for (run,) in self._read(sql.FORKS, (suite,))), None)

    def count(self) -> int:
        ((number,),) = self._read(sql.COUNT_RUNS)
        return int(number)

    def settings(self, run: str) -> Settings | None:
        """The settings a run last used; None where it was killed before anything was recorded."""
        event = self._only_event(sql.SETTINGS, run)
        return event.settings if isinstance(event, RunStarted | RunResumed) else None

    def task(self, run: str) -> Task | None:
        """What a run was asked for; None where it was killed before anything was recorded."""
        event = self._only_event(sql.STARTED, run)
        return event.task if isinstance(event, RunStarted) else None

    def delivered(self, run: str) -> Delivered | None:
        """How a run with a text ended; None where it did not, or is another job."""
        event = self._only_event(sql.DELIVERED, run)
        return event if isinstance(event, Delivered) else None

    def last_events(
        self, kind: str, states: Collection[str], settings: Settings, limit: int
    ) -> dict[str, str]:
        """The last event of a kind, as JSON with digests for long texts, of the newest runs with such models."""
        values = (sql.as_list(states), _uses(settings), limit, kind)
        rows = self._read(sql.LAST_EVENTS, values)
        return {run: codec.with_digests(payload) for run, payload in rows}

    def _only_event(self, statement: str, run: str) -> AnyEvent | None:
        rows = self._read(statement, (run,), run)
        with store.journal_errors(self._store, run):
            events = [codec.read_event(payload) for (payload,) in rows]
        return events[0] if events else None

    def delete_run(self, run: str) -> None:
        """Delete a run and its cells; refused while another process or suite needs it."""
        with self.lock(run):
            cells = self.cells(run)
            if cells and (later := self.continuation(run)):
                raise continued_error(run, later)
            # Before anything is deleted; none is locked anew while the suite is.
            for live in (cell.id for cell in cells if cell.live):
                raise store.locked_error(live, self.lock_owner(live))
            for cell in cells:
                self.delete_run(cell.id)
            self._get_writer().commit_now("", writer.delete_run(run))

    def stamps(self) -> dict[str, str]:
        """For each run, oldest first, a string that changes with every record of it."""
        return {run: ", ".join(map(str, last)) for run, *last in self._read(sql.STAMPS)}

    def runs(
        self, limit: int | None = 20, status: Status | None = None, *, cells: bool = False
    ) -> list[codec.RunRow]:
        """The newest runs first, all of them where `limit` is None; cells of suites only if asked for."""
        states = (status,) if status else ()
        return list(islice(self.iter_runs(states, cells=cells, page=limit), limit))

    def iter_runs(
        self,
        states: Collection[str] = (),
        *,
        search: str | None = None,
        uses: Collection[str] = (),
        cells: bool = False,
        suite: str | None = None,
        page: int | None = None,
    ) -> Iterator[codec.RunRow]:
        """The newest runs first, or the cells of a suite; no more is read than is used, give or take a page.

        Of what is searched for, and of states, there may be others among them.
        """
        live = self.locked_runs()
        where: dict[str, tuple[str, ...]] = {}
        if suite or not cells:
            where |= {sql.A_CELL: (suite, suite)} if suite else {sql.NO_CELL: ()}
        if states:
            named = sql.as_list({"running" if state == "killed" else state for state in states})
            or_live = {sql.OR_LIVE: (named, sql.as_list(live))}
            where |= or_live if "live" in states else {sql.IN_STATE: (named,)}
        if search:
            where[sql.FOUND] = (_within(search.casefold()),)
        if uses:
            where[sql.USED] = (_within(*uses),)
        statement, values = sql.page_of_runs(*where), [*chain(*where.values())]
        seen: set[str] = set()
        size, offset = min(page or _FIRST_PAGE, _MAX_PAGE), 0
        while names := [run for (run,) in self._read(statement, (*values, size, offset))]:
            # A run that began meanwhile moves the others on.
            yield from (row for row in self._rows(names, live) if row.id not in seen)
            if len(names) < size:
                return
            seen.update(names)
            size, offset = min(2 * size, _MAX_PAGE), offset + size

    def _rows(self, runs: Collection[str], live: frozenset[str]) -> Iterator[codec.RunRow]:
        """These runs, the newest first, a suite with what its cells have spent."""
        listed = (sql.as_list(runs),)
        rows, spent = self._read(sql.RUNS, listed), self._spent(sql.SPENT, listed)
        with store.journal_errors(self._store):
            for row in rows:
                found = codec.run_from(row, spent.get(row[0], Spent()), live)
                if found.has_cells:
                    found = replace(found, spent=found.spent.joined(self.cells_spent(found.id)))
                yield found

    def _spent(
        self, statement: str, values: tuple[str], run: str | None = None
    ) -> dict[str, Spent]:
        rows = self._read(statement, values)
        with store.journal_errors(self._store, run):
            return {name: codec.spent_from(sums) for name, *sums in rows}

    def spent(self, run: str) -> Spent:
        """What a run has spent so far; a query is not a call."""
        return self._spent(sql.SPENT, (sql.as_list([run]),), run).get(run, Spent())

    def spent_by_role(self, run: str) -> dict[str, Spent]:
        return self._spent(sql.SPENT_BY_ROLE, (run,), run)

    def cells_spent(self, suite: str) -> Spent:
        return self._spent(sql.CELLS_SPENT, (suite,), suite)[""]

    def set_status(self, run: str, status: Status) -> None:
        self._get_writer().send(run, lambda link: link.execute(sql.SET_STATUS, (status, run)))

    def set_title(self, run: str, title: str) -> None:
        """Name a run after what it wrote; searches still find what it was called before."""
        title = codec.write_text(title)
        values = (title, f"{title}\n".casefold(), run, title)
        self._get_writer().send(run, lambda link: link.execute(sql.SET_TITLE, values))

    def lock(self, run: str) -> AbstractContextManager[None]:
        """Lock a run for writing; `RunLocked` names the process that has it locked already."""
        commit_now = partial(self._get_writer().commit_now, "")

        async def commit(change: store.Change[T]) -> T:
            return commit_now(change)

        async def wait(seconds: float) -> None:
            time.sleep(seconds)  # noqa: ASYNC251

        return _block(self._locked(run, commit, wait))

    def lock_async(self, run: str) -> AbstractAsyncContextManager[None]:
        """The same, while other runs of this process go on."""
        import asyncio

        return self._locked(run, partial(self._get_writer().commit, ""), asyncio.sleep)

    # The writer is opened first: where nothing can be written, its error says so better than the lock's.
    @asynccontextmanager
    async def _locked(
        self, run: str, commit: store.Commit, wait: store.Sleep
    ) -> AsyncIterator[None]:
        async with self._store.lock_run(run, commit, wait, self._read):
            # Another process may have gone on with it.
            self._last_seq.pop(run, None)
            try:
                yield
            except BaseException:
                # Written any later, it would conflict with what another process records meanwhile.
                with suppress(AutoreasonError):
                    await commit(lambda _: None)
                raise

    def locked_runs(self) -> frozenset[str]:
        return self._store.locked_runs(self._read)

    def lock_owner(self, run: str) -> store.LockOwner | None:
        run_names.check_name(run)
        return self._store.lock_owner(run, self._read)

    def open_leases(self) -> LeaseTable:
        return LeaseTable(self._store)

    # Events.

    def append(self, run: str, event: AnyEvent) -> int:
        queue = self._get_writer()
        with self._seq_lock:
            if run not in self._last_seq:
                ((self._last_seq[run],),) = self._read(sql.LAST_SEQ, (run,))
            seq = self._last_seq[run] + 1
            queue.send(run, writer.add_event(codec.event_row(run, seq, event)))
            if isinstance(event, RunResumed):
                uses = _uses(event.settings)
                queue.send(run, lambda link: link.execute(sql.SET_USES, (uses, run)))
            self._last_seq[run] = seq
        return seq

    def events(self, run: str, after: int = 0) -> list[codec.RecordedEvent]:
        """The events of a run in order, those after a number."""
        return self._events(sql.EVENTS, run, after)

    def _events(self, statement: str, run: str, after: int) -> list[codec.RecordedEvent]:
        rows = self._read(statement, (run, after), run)
        with store.journal_errors(self._store, run):
            return [
                codec.RecordedEvent(seq, datetime.fromisoformat(at), codec.read_event(payload))
                for seq, at, payload in rows
            ]

    def story(self, run: str) -> Story:
        """What is recorded of a run, as a reader sees it."""
        return build_story([recorded.event for recorded in self.events(run)])

    def outline(self, run: str) -> Story:
        """The same without the results of a suite's cells, of which there may be thousands."""
        return build_story([recorded.event for recorded in self._events(sql.OUTLINE, run, 0)])

    def cells_done(self, suite: str) -> CellsDone:
        # Quotes within a text are escaped: only the name itself is found.
        own = re.compile(rf'"run":"({re.escape(suite)}\.\d+)"')
        ended = [payload for (payload,) in self._read(sql.ENDED_CELLS, (suite,))]
        there = {run for (run,) in self._read(sql.CELL_IDS, (suite,))}
        return CellsDone(
            ended=len(ended),
            left_out=sum('"finished":false' in payload for payload in ended),
            missing=len({name for each in ended for name in own.findall(each)} - there),
        )

    def check_texts(self, run: str) -> None:
        """Refuse long texts of a run that are not what was written."""
        rows = self._read(sql.ALL_TEXTS, (run,), run)
        if any(codec.digest_of(text) != digest for digest, text in rows):
            raise store.damage_error(self.place, "a text is not what was written", run)

    # Requests and replies.

    def record_request(self, run: str, request: Request) -> None:
        row = (run, request.key, request.role, request.model, codec.now())
        self._get_writer().send(run, writer.insert("asked", row))

    def in_flight(self, run: str) -> list[codec.PendingRequest]:
        """Requests without a reply: on their way, or abandoned by a process that was killed."""
        rows = self._read(sql.IN_FLIGHT, (run,))
        with store.journal_errors(self._store, run):
            return [
                codec.PendingRequest(key, role, model, datetime.fromisoformat(at))
                for key, role, model, at in rows
            ]

    async def record_reply(self, run: str, request: Request, reply: Reply) -> None:
        """Record a reply; it is on the disk when this returns."""
        row = codec.reply_row(run, request, reply)
        await self._get_writer().commit(run, writer.add_reply(row))

    def replies(self, run: str) -> dict[str, codec.RecordedCall]:
        """Every reply of a run by its key."""
        return {call.request.key: call for call in self.calls(run)}

    async def record_answer(self, run: str, query: Query[Any], answer: Any) -> None:
        """Record the answer to a query; it is on the disk when this returns."""
        row = codec.answer_row(run, query, answer)
        await self._get_writer().commit(run, writer.add_reply(row))

    def send_answer(self, run: str, query: Query[Any], answer: Any) -> None:
        """Record an answer that cost nothing: it is on the disk no later than anything recorded after it."""
        self._get_writer().send(run, writer.add_reply(codec.answer_row(run, query, answer)))

    def answers(self, run: str) -> dict[str, codec.RecordedAnswer]:
        """Every answer to a query of a run by its key."""
        rows = self._read(sql.ANSWERS, (run,), run)
        with store.journal_errors(self._store, run):
            read = msgspec.json.decode
            return {
                key: codec.RecordedAnswer(kind, read(question), read(answer))
                for key, kind, question, answer in rows
            }

    def reply_texts(self, run: str, role: Role) -> list[codec.ReplyText]:
        """Every reply of a run in order, with its text where this role gave it: far quicker than `replies`."""
        rows = self._read(sql.REPLY_TEXTS, (run, role), run)
        with store.journal_errors(self._store, run):
            return [
                codec.ReplyText(key, by, Outcome(outcome), reply and codec.read_reply(reply).text)
                for key, by, outcome, reply in rows
            ]

    def calls(self, run: str, after: int = 0) -> list[codec.RecordedCall]:
        """Requests with their replies in the order they were recorded, those after a row."""
        rows = self._read(sql.CALLS, (run, after), run)
        with store.journal_errors(self._store, run):
            return [
                codec.RecordedCall(
                    number,
                    datetime.fromisoformat(at),
                    codec.read_request(request),
                    codec.read_reply(reply),
                )
                for number, at, request, reply in rows
            ]

    def times(self, run: str) -> list[codec.RecordedTime]:
        """When the events and replies of a run and its cells were recorded: far quicker than `events`."""
        rows = self._read(sql.TIMES, (run,))
        with store.journal_errors(self._store, run):
            # Takes a tenth of the time that a database takes for it.
            rows.sort(key=itemgetter(2))
            return [
                codec.RecordedTime(datetime.fromisoformat(at), bool(start)) for at, start, _ in rows
            ]

    # Questions that are answered from outside.

    async def post_question(
        self, run: str, request: Request, *, anew: bool = False
    ) -> codec.Question:
        """The question of a run under this key, stored `anew` or unless it was; on the disk when this returns."""
        token = "".join(choice(_TOKEN) for _ in range(_TOKEN_LENGTH))
        return await self._get_writer().commit(run, writer.post_question(token, run, request, anew))

    def questions(self, run: str) -> list[codec.Question]:
        """Those of a run and its cells that have no reply yet, in the order they were asked in."""
        return [codec.Question(*row) for row in self._read(sql.QUESTIONS, (run,))]

    def question(self, token: str) -> codec.Question | None:
        rows = self._read(sql.QUESTION, (token,))
        return codec.Question(*rows[0]) if rows else None

    def request_of(self, question: codec.Question) -> Request:
        """What is asked."""
        ((request,),) = self._read(sql.REQUEST, (question.token,), question.run)
        with store.journal_errors(self._store, question.run):
            return codec.read_request(request)

    def take_question(self, token: str, until: float, check: CheckQuestion) -> None:
        """Note that a question was read and is somebody's for a while, unless `check` raises."""
        change = writer.change_question(token, check, sql.TAKE_QUESTION, until)
        self._get_writer().commit_now("", change)

    def answer_question(self, token: str, answer: str, check: CheckQuestion) -> None:
        """Record the answer to a question, unless `check` raises; it is on the disk when this returns."""
        change = writer.change_question(token, check, sql.ANSWER_QUESTION, codec.write_text(answer))
        self._get_writer().commit_now("", change)

    async def free_question(self, token: str) -> None:
        """Forget how often a question was read."""
        change = writer.change_question(token, lambda _: None, sql.FREE_QUESTION)
        await self._get_writer().commit("", change)

    # Commands from another terminal.

    def command(self, run: str, kind: codec.CommandKind, text: str = "") -> None:
        """Send a command to the process that drives a run, and wait until it is on the disk."""
        run_names.refuse_cell(run, kind)
        row = (run, kind, codec.write_text(text), codec.now(), None)
        self._get_writer().commit_now(run, writer.insert("commands", row))

    def pending_commands(
        self, run: str, kinds: Collection[codec.CommandKind] = _ALL_COMMANDS
    ) -> list[codec.RunCommand]:
        return self._with_reader(lambda connection: writer.pending(connection, run, kinds))

    def runs_with_commands(self) -> frozenset[str]:
        """Runs with pending commands, as of half a second ago at most."""
        # Every run of a process keeps asking; one query serves them all.
        if monotonic() >= self._checked_at + _COMMAND_REFRESH:
            self._commanded_runs = frozenset(run for (run,) in self._read(sql.COMMANDED))
            self._checked_at = monotonic()
        return self._commanded_runs

    def take_command(
        self, run: str, kinds: Collection[codec.CommandKind] = ("stop", "accept"), by: str = "run"
    ) -> codec.RunCommand | None:
        """Take the last of these commands, once; earlier ones of these kinds are marked as taken, too."""
        # Called before every request: reading is cheap, and there is rarely a command.
        if not self.pending_commands(run, kinds):
            return None
        return self._get_writer().commit_now(run, writer.take_commands(run, kinds, by))

    async def record_guidance(self, run: str, query: GuidanceQuery) -> str:
        """All pending guidance; taken and recorded in one commit."""
        if not self.pending_commands(run, writer.GUIDE):
            self.send_answer(run, query, "")
            return ""
        return await self._get_writer().commit(run, writer.answer_with_guidance(run, query))

    def _read(
        self, statement: str, values: tuple[Any, ...] = (), run: str | None = None
    ) -> list[tuple[Any, ...]]:
        """Rows of a statement; of a run, with their texts in place."""

        def read(connection: store.Connection) -> list[tuple[Any, ...]]:
            rows = connection.execute(statement, values).fetchall()
            return connection.fill(run, rows) if run else rows

        return self._with_reader(read, run)

    def _with_reader(self, read: Callable[[store.Connection], T], run: str | None = None) -> T:
        with self._reader_lock, store.journal_errors(self._store, run):
            try:
                return read(self._reader.connection)
            except self._store.Error as error:
                self._reader.connection.recover(error)
                return read(self._reader.connection)

    def _get_writer(self) -> Writer:
        if self._writer is None:
            with self._writer_lock:
                if self._writer is None:
                    if not self._store.exists():
                        raise InvalidInput(f"there is no journal at {self.place} to write to yet")
                    self._writer = Writer(self._store.open_writer(), self._store)
        return self._writer


def _within(*texts: str) -> str:
    """A pattern of texts that contain these in turn."""
    return "%{}%".format("%".join(re.sub(r"([\\%_])", r"\\\1", text) for text in texts))


def _uses(settings: Settings) -> str:
    return "\n".join((settings.job.name, *settings.models.all()))


def continued_error(suite: str, later: str) -> InvalidInput:
    return InvalidInput(
        f"{later} adds to {suite} and counts its cells; delete both with "
        f"`autoreason runs delete {later} {suite}`"
    )


@contextmanager
def _block(lock: AbstractAsyncContextManager[None]) -> Iterator[None]:
    """Take a lock without an event loop; nothing that it awaits may wait."""
    _finish(lock.__aenter__())
    try:
        yield
    except BaseException as error:
        if not _finish(lock.__aexit__(type(error), error, error.__traceback__)):
            raise
    else:
        _finish(lock.__aexit__(None, None, None))


def _finish(step: Awaitable[T]) -> T:
    try:
        next(step.__await__())
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("a lock waits without an event loop")
