"""The journal: one object to write a run down with, and to read any run from."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from math import inf
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar

from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.events import AnyEvent, RunResumed, RunStarted, Status
from autoreason.exchange import Outcome, Reply, Request, Role, Spent
from autoreason.journal import changes, codec, file, locks, names, pieces, place, sql
from autoreason.journal.reading import Reader
from autoreason.journal.records import (
    Answer,
    Asked,
    Call,
    Command,
    CommandKind,
    Recorded,
    RecordedReply,
    RunRow,
    now,
    run_from,
    spent_from,
)
from autoreason.journal.trouble import plainly
from autoreason.journal.writer import Writer
from autoreason.settings import Settings

T = TypeVar("T")
_ALL: tuple[CommandKind, ...] = ("stop", "accept", "guide")
_GUIDE: tuple[CommandKind, ...] = ("guide",)
_MOST = 2**63 - 1
"""What SQLite can count to."""
_SETTLED = (RunStarted, RunResumed)
_FRESH = 0.1
"""Seconds for which a look at other terminals' commands holds."""


class Journal:
    """What happened in every run. Reading shows what is committed; one process holds a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._locks = place.locks_folder(path)
        self._reader = Reader(path)
        self._reading = threading.Lock()
        self._writer: Writer | None = None
        self._starting = threading.Lock()
        self._last_seq: dict[str, int] = {}
        self._numbering = threading.Lock()
        self._named: set[str] = set()
        self._commanded: frozenset[str] = frozenset()
        self._looked_at = -inf

    @classmethod
    def open(cls, url: str | None = None, *, create: bool) -> Self:
        """Open a journal by URL, path or the usual place; an absent one is empty unless created."""
        path = place.locate(url)
        if create and not file.exists(path):
            file.make(path)
        journal = cls(path)
        if create:
            try:
                journal._write()
            except BaseException:
                journal.close()
                raise
        return journal

    def close(self) -> None:
        """Write down what is queued and let go of the file; raises if anything was lost."""
        try:
            if self._writer:
                self._writer.close()
        finally:
            with self._reading:
                self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception:
            # What already went wrong says more.
            if error is None:
                raise

    async def flush(self) -> None:
        """Wait until everything sent so far is on the disk."""
        if self._writer:
            await self._writer.commit("", lambda _: None)

    # Runs.

    def new_run_id(self) -> str:
        """A name for a run that is free, short and sorts by day."""
        name = names.new_name(self._named.union(self._ids()))
        # Not on the disk yet, but no longer free.
        self._named.add(name)
        return name

    async def begin_run(self, title: str, version: str, started: RunStarted) -> str:
        """Enter a new run under a free name, together with its first event; returns the name."""
        run, at = self.new_run_id(), now()
        row = (run, codec.check_text(title), at, at, version, started.forked_from)
        first = codec.event_row(run, 1, started)
        await self._write().commit(run, changes.begin_run(row, first))
        self._last_seq[run] = 1
        return run

    def find(self, given: str) -> RunRow:
        """The run meant by its name, its beginning, its last words, `last` or `@2`."""
        return self.row(names.match_name(given, self._ids()))

    def row(self, run: str) -> RunRow:
        """One run as a list shows it."""
        live = frozenset({run}) if self.holder(run) else frozenset()
        (found,) = self._read(sql.RUN, (run,))
        with plainly(self.path, run):
            return run_from(found, live)

    def count(self) -> int:
        """How many runs there are."""
        ((number,),) = self._read(sql.COUNT_RUNS)
        return int(number)

    def settings(self, run: str) -> Settings | None:
        """What a run was last held with; None where it was killed before anything was recorded."""
        rows = self._read_whole(sql.SETTINGS, run)
        with plainly(self.path, run):
            events = [codec.read_event(payload, version) for version, payload in rows]
        return next((each.settings for each in events if isinstance(each, _SETTLED)), None)

    def delete_run(self, run: str) -> None:
        """Take a run out of the journal and out of what was read of it, unless somebody holds it."""
        with self.hold(run):
            self._write().commit_now("", changes.delete_run(run))
            self.readings.unlink(missing_ok=True)

    @property
    def readings(self) -> Path:
        """Where an audit keeps what it has read of these runs."""
        return place.readings_file(self.path)

    def stamps(self) -> dict[str, str]:
        """What changes of each run with everything that is recorded of it, oldest run first."""
        return {run: ", ".join(map(str, last)) for run, *last in self._read(sql.STAMPS)}

    def runs(self, limit: int = 20, status: Status | None = None) -> list[RunRow]:
        """The newest runs first."""
        live = locks.held(self._locks)
        rows = self._read(sql.RUNS, (status, min(limit, _MOST)))
        with plainly(self.path):
            return [run_from(row, live) for row in rows]

    def set_status(self, run: str, status: Status) -> None:
        """Say what has become of a run; written in order with what was sent before."""
        self._write().send(run, changes.set_status(run, status))

    def spent(self, run: str) -> Spent:
        """What a run took so far; a person's guidance is no call."""
        rows = self._read(sql.SPENT, (run,))
        with plainly(self.path, run):
            return spent_from(rows[0])

    def hold(self, run: str) -> AbstractContextManager[None]:
        """Be the only one who writes to a run; `RunLocked` names whoever is already."""
        # Where nothing can be written, this says so better than the lock.
        return self._holding(run, self._write())

    @contextmanager
    def _holding(self, run: str, writer: Writer) -> Iterator[None]:
        with locks.hold(self._locks, run):
            try:
                yield
            except BaseException:
                # Written any later, it would meet what another process has recorded meanwhile.
                with suppress(AutoreasonError):
                    writer.commit_now("", lambda _: None)
                raise

    def holder(self, run: str) -> locks.Holder | None:
        """Who holds a run now, if anybody."""
        return locks.holder(self._locks, run)

    # Events.

    def append(self, run: str, event: AnyEvent) -> int:
        """Write an event after the others; returns its place."""
        writer = self._write()
        with self._numbering:
            if run not in self._last_seq:
                ((self._last_seq[run],),) = self._read(sql.LAST_SEQ, (run,))
            seq = self._last_seq[run] + 1
            writer.send(run, changes.add_event(codec.event_row(run, seq, event)))
            self._last_seq[run] = seq
        return seq

    def events(self, run: str, after: int = 0) -> list[Recorded]:
        """The events of a run in order, those after a place."""
        rows = self._read_whole(sql.EVENTS, run, after)
        with plainly(self.path, run):
            return [
                Recorded(seq, datetime.fromisoformat(at), codec.read_event(payload, version))
                for seq, at, version, payload in rows
            ]

    # Requests and replies.

    def asked(self, run: str, request: Request) -> None:
        """Note that a request is on its way."""
        row = (run, request.key, request.role, request.model, now())
        self._write().send(run, changes.add_asked(row))

    def in_flight(self, run: str) -> list[Asked]:
        """Requests on their way, or lost with whoever sent them."""
        rows = self._read(sql.IN_FLIGHT, (run,))
        with plainly(self.path, run):
            return [
                Asked(key, role, model, datetime.fromisoformat(at)) for key, role, model, at in rows
            ]

    async def record_reply(self, run: str, request: Request, reply: Reply) -> None:
        """Write a reply down; it is on the disk when this returns."""
        row = codec.reply_row(run, request, reply)
        await self._write().commit(run, changes.add_reply(row))

    def replies(self, run: str) -> dict[str, RecordedReply]:
        """Every reply of a run by its key."""
        rows = self._read_whole(sql.REPLIES, run)
        with plainly(self.path, run):
            return {
                key: RecordedReply(codec.read_request(request), codec.read_reply(reply))
                for key, request, reply in rows
            }

    def answers(self, run: str, role: Role) -> list[Answer]:
        """Every reply of a run in order, with its words where this role said them: far quicker than `replies`."""
        rows = self._read_whole(sql.ANSWERS, run, role)
        with plainly(self.path, run):
            return [
                Answer(key, who, Outcome(outcome), reply and codec.read_reply(reply).text)
                for key, who, outcome, reply in rows
            ]

    def calls(self, run: str, after: int = 0) -> list[Call]:
        """Requests with their replies in the order they were recorded, those after a row."""
        rows = self._read_whole(sql.CALLS, run, after)
        with plainly(self.path, run):
            return [
                Call(
                    number,
                    datetime.fromisoformat(at),
                    codec.read_request(request),
                    codec.read_reply(reply),
                )
                for number, at, request, reply in rows
            ]

    def reply_times(self, run: str) -> list[datetime]:
        """When each reply of a run was recorded, in order."""
        rows = self._read(sql.REPLY_TIMES, (run,))
        with plainly(self.path, run):
            return [datetime.fromisoformat(at) for (at,) in rows]

    # Commands from another terminal.

    def command(self, run: str, kind: CommandKind, text: str = "") -> None:
        """Leave a word for whoever holds a run, and wait until it is on the disk."""
        row = (run, kind, codec.check_text(text), now())
        self._write().commit_now(run, changes.add_command(row))

    def pending_commands(self, run: str, kinds: Collection[CommandKind] = _ALL) -> list[Command]:
        """Commands nobody has taken, oldest first."""
        return self._reading_with(lambda connection: changes.pending(connection, run, kinds))

    def commanded(self) -> frozenset[str]:
        """Runs with commands nobody has taken, as of a tenth of a second ago at most."""
        # Every run of a process keeps asking; one look at the file serves them all.
        if monotonic() >= self._looked_at + _FRESH:
            self._commanded = frozenset(run for (run,) in self._read(sql.COMMANDED))
            self._looked_at = monotonic()
        return self._commanded

    def take_command(
        self, run: str, kinds: Collection[CommandKind] = ("stop", "accept"), by: str = "run"
    ) -> Command | None:
        """Take the last of these commands, once; earlier ones of these kinds are done with too."""
        # Asked before every call: looking is cheap, and there is rarely anything to take.
        if not self.pending_commands(run, kinds):
            return None
        return self._write().commit_now(run, changes.take(run, kinds, by))

    async def record_guidance(self, run: str, request: Request) -> Reply:
        """Answer a request with all guidance not yet taken; taken and recorded in one commit."""
        if not self.pending_commands(run, _GUIDE):
            # Silence is worth no wait: it is on the disk no later than whatever is asked next.
            reply = Reply(outcome=Outcome.OK, text="", model=request.model)
            self._write().send(run, changes.add_reply(codec.reply_row(run, request, reply)))
            return reply
        return await self._write().commit(run, changes.answer_with_guidance(run, request))

    def _ids(self) -> list[str]:
        return [run for (run,) in self._read(sql.RUN_IDS)]

    def _read(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._reading_with(lambda c: c.execute(statement, values).fetchall())

    def _read_whole(self, statement: str, run: str, *values: int | str) -> list[tuple[Any, ...]]:
        """Rows of a run with the pieces of their texts back in place."""

        def look(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            rows = connection.execute(statement, (run, *values)).fetchall()
            return pieces.fill_rows(connection, rows)

        return self._reading_with(look, run)

    def _reading_with(self, look: Callable[[sqlite3.Connection], T], run: str | None = None) -> T:
        with self._reading, plainly(self.path, run):
            found = look(self._reader.connection)
            self._reader.check()
            return found

    def _write(self) -> Writer:
        if self._writer is None:
            with self._starting:
                if self._writer is None:
                    if not file.exists(self.path):
                        raise InvalidInput(f"there is no journal at {self.path} to write to yet")
                    self._writer = Writer(file.open_for_writing(self.path), self.path)
        return self._writer
