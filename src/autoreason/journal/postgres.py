"""A journal in a database of PostgreSQL, which processes on many machines write to."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec

from autoreason.errors import AutoreasonError, InvalidInput, JournalError, RunLocked, WritingFailed
from autoreason.journal import location, locks
from autoreason.journal import postgres_sql as sql
from autoreason.journal.connections import Change, Connection, Repeat, Row, Violation
from autoreason.journal.error_messages import (
    NAME_ANOTHER,
    closed_error,
    damage_error,
    driver_errors,
    newer_error,
)
from autoreason.journal.reader import Reader
from autoreason.journal.run_names import check_name
from autoreason.journal.shared_texts import PieceWriter, digest_of
from autoreason.journal.store import Commit, Read, Source
from autoreason.paths import ServerUrl

try:
    import psycopg
    from psycopg.pq import TransactionStatus
except ImportError:
    raise InvalidInput(
        "a journal on PostgreSQL needs psycopg; install autoreason[postgres], or name a file"
    ) from None

T = TypeVar("T")
_PARAMETERS = {
    "application_name": "autoreason",
    "client_encoding": "utf8",
    "connect_timeout": "10",
    # A server that is cut off is noticed within seconds; an idle connection would wait for hours.
    "keepalives_idle": "3",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Unless the URL says otherwise."""
_OPTIONS = (
    f"-c search_path={sql.SCHEMA}"
    # The same from the other side: a host that died loses its locks.
    " -c tcp_keepalives_idle=3 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    " -c synchronous_commit=on -c lock_timeout=60s"
)
_MAX_ROWS = 1000
"""Rows that are sent together."""
_encode = msgspec.json.Encoder().encode
_PATIENCE = 1.0
"""Seconds; the server notices a moment later that a process was killed."""
_PAUSE = 0.02
_STREAMED = 1000


def _lock_key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)


# No run can have these names.
_MIGRATING = _lock_key("autoreason: migrating")
_WRITING = _lock_key("autoreason: writing")


class _Never(Exception):
    """What is never raised."""


class PostgresConnection(PieceWriter):
    """A connection to a server. Statements of a batch are sent without waiting for one another.

    An error in such a batch may be that of any of its changes; the batch is then undone and applied
    again carefully: each change waits for its statements, and is undone alone if it fails.
    """

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        super().__init__()
        self._raw = raw
        self._pipeline: AbstractContextManager[psycopg.Pipeline] | None = None
        self._careful = False
        self._pieces: dict[str, str] = {}
        self._rows: dict[str, list[Row]] = {}
        """New in this transaction, by the statement that inserts them; sent before it is committed, as pieces are."""
        self._nothing = raw.cursor()

    @property
    def IntegrityError(self) -> type[Exception]:
        """What is raised where a row breaks a rule of its table."""
        return _Never if self._pipeline else psycopg.IntegrityError

    @property
    def closed(self) -> bool:
        """Whether it was closed, or lost."""
        return self._raw.closed

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[Row]:
        """Send a statement of `sql`."""
        if self._pipeline and statement in sql.BULKS:
            rows = self._rows.setdefault(statement, [])
            rows.append(tuple(values))
            if len(rows) == _MAX_ROWS:
                self._send_rows()
            return self._nothing
        return self.send(sql.translate(statement), values)

    def send(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Row]:
        """Send a statement as it is."""
        return self._raw.execute(statement, values or None)

    def executemany(self, statement: str, rows: Iterable[Row], /) -> None:
        """Send a statement for each row."""
        for row in rows:
            self.execute(statement, row)

    def stream(self, statement: str) -> Iterator[Row]:
        """Rows of a whole table, a few at a time."""
        with self._raw.cursor("streamed") as cursor:
            cursor.itersize = _STREAMED
            yield from cursor.execute(statement)

    def begin(self) -> None:
        """Begin a transaction."""
        if self._remembers_too_much:
            self._forget()
        self._pieces.clear()
        self._rows.clear()
        if self._raw.broken:
            raise psycopg.OperationalError("the server is gone")
        if not self._careful:
            self._pipeline = self._raw.pipeline()
            self._pipeline.__enter__()
        self.send("BEGIN")

    def apply(self, change: Callable[[PostgresConnection], T]) -> T:
        """Apply one change of several."""
        if self._pipeline:
            with self._repeating():
                return change(self)
        self.send("SAVEPOINT one")
        try:
            result = change(self)
        except BaseException:
            self.send("ROLLBACK TO one")
            raise
        self.send("RELEASE one")
        return result

    def touch(self, at: str, runs: Collection[str]) -> None:
        """Note when these runs were last written to."""
        if written := sorted(filter(None, runs)):
            with self._repeating():
                self.send(sql.TOUCH, (at, written))

    def commit(self) -> None:
        """Commit a transaction; on the server's disk when this returns."""
        with self._repeating():
            self._send_rows()
            committed = self.send("COMMIT")
            self._leave_pipeline()
            # A transaction that has failed is undone, and that is no error.
            if committed.statusmessage != "COMMIT":
                raise psycopg.OperationalError("the transaction was undone")
        self._careful = False

    def _send_rows(self) -> None:
        for statement, rows in self._rows.items():
            self._insert(sql.BULKS[statement], rows)
        if self._pieces:
            self._insert(sql.PIECES_BULK, self._pieces.items())
        self._rows.clear()
        self._pieces.clear()

    def _insert(self, bulk: sql.Bulk, rows: Iterable[Row]) -> None:
        objects = [dict(zip(bulk.columns, row, strict=True)) for row in rows]
        self.send(bulk.statement, (_encode(objects).decode(),))

    def roll_back(self) -> None:
        """Undo what was not committed."""
        self._forget()
        self._careful = False
        with suppress(psycopg.Error):
            self._leave_pipeline()
        if not self.closed and self._raw.info.transaction_status != TransactionStatus.IDLE:
            self.send("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything within is committed together, or undone."""
        self._careful = True
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            self.roll_back()
            raise

    def violation(self, error: Exception) -> Violation | None:
        """Which rule of its table a row broke."""
        match error:
            case psycopg.errors.ForeignKeyViolation():
                return "unknown run"
            case psycopg.errors.UniqueViolation():
                return "duplicate"
        return None

    def fetch_pieces(self, references: Collection[str]) -> dict[str, str]:
        """Texts by their digests."""
        return dict(self.send(sql.PIECES, (list(references),)).fetchall())

    def shrink(self) -> None:
        """Rewrite the tables."""
        for table in sql.TABLES:
            self.send(f"VACUUM FULL {table}")

    def close(self) -> None:
        """End the session, and with it every lock of its runs."""
        self._raw.close()

    @contextmanager
    def _repeating(self) -> Iterator[None]:
        """In a batch that is sent without waiting, any error asks for the careful way."""
        careful = self._pipeline is None
        try:
            yield
        except psycopg.Error:
            if careful or self.closed:
                raise
            self.roll_back()
            self._careful = True
            raise Repeat from None

    def _leave_pipeline(self) -> None:
        pipeline, self._pipeline = self._pipeline, None
        if pipeline:
            pipeline.__exit__(None, None, None)

    def _store(self, piece: str) -> str:
        reference = digest_of(piece).hex()
        self._pieces[reference] = piece
        return reference


class _PostgresReader:
    """A connection that only reads; it is opened again after it was lost."""

    def __init__(self, connect: Callable[[], PostgresConnection]) -> None:
        self._connect: Callable[[], PostgresConnection] | None = connect
        self._connection = connect()

    @property
    def connection(self) -> Connection:
        """As it is, or a new one."""
        if self._connection.closed and self._connect:
            self._connection = self._connect()
        return self._connection

    def check(self) -> None:
        """Nothing to check: the server shows what is committed."""

    def close(self) -> None:
        """End the session."""
        self._connect = None
        self._connection.close()


class PostgresStore:
    """A database of PostgreSQL."""

    Error = psycopg.Error
    older = ()

    def __init__(self, place: ServerUrl) -> None:
        self.place = place
        self.readings = location.readings_file(place)
        self._locked: set[str] = set()
        self._exists = False
        self._empty = False
        """Whether an empty journal is read in place of one that is not there."""

    def exists(self) -> bool:
        """Whether there is a journal; tables of another program in its place are refused."""
        if not self._exists:
            with self._errors(), self._connected() as connection:
                self._find(connection)
        return self._exists

    def create(self) -> None:
        """Create an empty journal where there is none, in one transaction."""
        with self._errors(), self._connected() as connection:
            self._migrate(connection)

    def open_reader(self) -> Source:
        """Read it; one that is not there is empty."""
        self._empty = not self.exists()
        return Reader(None) if self._empty else _PostgresReader(self._reconnect)

    def _reconnect(self) -> PostgresConnection:
        with self._errors():
            return self._connect_checked()

    def open_writer(self, *, alone: bool = False) -> PostgresConnection:
        """A connection whose commits reach the disk; alone, while no other process writes."""
        with self._errors():
            connection = self._connect_checked()
            try:
                self._migrate(connection)
                self._announce(connection, alone)
                # Fail now where nothing can be written, not with the first reply.
                with connection.transaction():
                    connection.send(sql.TRY_WRITING)
            except BaseException:
                connection.close()
                raise
            return connection

    def _announce(self, connection: PostgresConnection, alone: bool) -> None:
        """Writers remember which pieces are there, so that none may be dropped meanwhile."""
        if not alone:
            connection.send(sql.WRITING, (_WRITING,))
        elif not connection.send(sql.ALONE, (_WRITING,)).fetchall()[0][0]:
            raise RunLocked(f"another process has {self.place} open for writing; end it first")

    def size(self) -> int:
        """Bytes of the tables with their indexes."""
        with self._errors(), self._connected() as connection:
            ((size,),) = connection.send(sql.SIZE, (list(sql.TABLES),)).fetchall()
            return int(size)

    # Locks of runs.

    @contextmanager
    def lock_run(self, run: str, commit: Commit, read: Read) -> Iterator[None]:
        """Lock a run by the session that writes: where that is lost, so are the lock and the right to write."""
        check_name(run)
        try:
            taken = run not in self._locked and self._take_lock(run, commit)
        except BaseException:
            self._release(run, commit)
            raise
        if not taken:
            raise locks.locked_error(run, self.lock_owner(run, read))
        self._locked.add(run)
        try:
            yield
        finally:
            self._locked.discard(run)
            self._release(run, commit)

    def _release(self, run: str, commit: Commit) -> None:
        # What was sent is committed before another process can go on.
        for statement, value in ((sql.FORGET_OWNER, run), (sql.UNLOCK, _lock_key(run))):
            # A lost connection has lost the lock, too; another failure is that of an earlier change.
            with suppress(AutoreasonError):
                commit(_send(statement, value))

    def _take_lock(self, run: str, commit: Commit) -> bool:
        deadline = time.monotonic() + _PATIENCE
        while not (taken := bool(commit(_take(run)))) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        return taken

    def lock_owner(self, run: str, read: Read) -> locks.LockOwner | None:
        """The process that has a run locked; None where there is none."""
        rows = [] if self._empty else read(sql.OWNER, (run,))
        return next((_read_owner(owner) for (owner,) in rows), None)

    def locked_runs(self, read: Read) -> frozenset[str]:
        """Every run that is locked now."""
        return frozenset(run for (run,) in ([] if self._empty else read(sql.LOCKED, ())))

    # Opening.

    @contextmanager
    def _connected(self) -> Iterator[PostgresConnection]:
        connection = self._connect()
        try:
            yield connection
        finally:
            connection.close()

    def _connect(self) -> PostgresConnection:
        try:
            given = psycopg.conninfo.conninfo_to_dict(self.place.url)
        except psycopg.ProgrammingError:
            raise InvalidInput(
                f"{self.place} is not a URL of PostgreSQL; write postgresql://user@host/database"
            ) from None
        parameters: dict[str, Any] = {**_PARAMETERS, **given}
        parameters["options"] = f"{given.get('options', '')} {_OPTIONS}".strip()
        try:
            raw = psycopg.connect(**parameters, autocommit=True, cursor_factory=psycopg.RawCursor)
        except psycopg.Error as error:
            raise self._explain_refusal(str(error)) from None
        raw.server_cursor_factory = psycopg.RawServerCursor
        return PostgresConnection(raw)

    def _connect_checked(self) -> PostgresConnection:
        """A connection to a database with a journal, without migrating it."""
        connection = self._connect()
        try:
            if not self._find(connection):
                raise JournalError(f"{self.place} has no journal any more; {NAME_ANOTHER}")
            self._version(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _find(self, connection: PostgresConnection) -> bool:
        ((exists, _, tables),) = connection.send(sql.FIND).fetchall()
        if tables and not exists:
            raise JournalError(
                f"{self.place} has tables in the schema {sql.SCHEMA} that are no journal;"
                f" {NAME_ANOTHER}"
            )
        self._exists = bool(exists)
        return self._exists

    def _version(self, connection: PostgresConnection) -> int:
        ((version,),) = connection.send(sql.GET_VERSION).fetchall()
        if version > len(sql.MIGRATIONS):
            raise newer_error(self.place, version, len(sql.MIGRATIONS))
        return int(version)

    def _migrate(self, connection: PostgresConnection) -> None:
        """Bring the schema up to date, all in one transaction."""
        if self._find(connection) and self._version(connection) == len(sql.MIGRATIONS):
            return
        with connection.transaction():
            connection.send(sql.MIGRATING, (_MIGRATING,))
            # Another process may have done it while we waited for the lock.
            ((exists, schema, _),) = connection.send(sql.FIND).fetchall()
            if not schema:
                connection.send(sql.CREATE_SCHEMA)
            if not exists:
                connection.send(sql.CREATE_VERSION)
                connection.send(sql.FIRST_VERSION)
            for migration in sql.MIGRATIONS[self._version(connection) :]:
                for statement in migration:
                    connection.send(statement)
            connection.send(sql.SET_VERSION, (len(sql.MIGRATIONS),))

    # Errors.

    def _errors(self) -> AbstractContextManager[None]:
        return driver_errors(psycopg.Error, self.explain, self.place)

    def explain(self, error: Exception, run: str | None = None) -> JournalError:
        """An error of the server as one sentence about this journal, with the remedy."""
        place, code = self.place, getattr(error, "sqlstate", None) or ""
        said = _first_line(str(error))
        if code == "53100":
            return WritingFailed(f"no space is left for {place}; free some, then resume")
        if code in ("42501", "25006"):
            return JournalError(
                f"{place} is read-only ({said}); ask its owner for the right to write, or"
                f" {NAME_ANOTHER}"
            )
        if code == "55P03":
            return JournalError(f"{place} is locked by another program; close that, then try again")
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            if "connection is closed" in said:
                return closed_error(place)
            return WritingFailed(
                f"the connection to {place} was lost ({said}); when the server can be reached again,"
                " resume"
            )
        return damage_error(place, str(error), run)

    def _explain_refusal(self, message: str) -> JournalError:
        """Why there is no connection; the server says it in words alone."""
        said = _first_line(message.rpartition("FATAL:")[2] or message)
        if re.search(r"^database .* does not exist", said):
            remedy = "create it with `createdb`, or correct its name"
        elif re.search(r"password|authentication|pg_hba|role .* does not exist", said):
            remedy = "correct user and password, in the URL, PGPASSWORD or ~/.pgpass"
        elif re.search(r"permission denied", said):
            remedy = f"ask its owner for the right to use it, or {NAME_ANOTHER}"
        elif re.search(r"too many|connection slots", said):
            remedy = "end other processes, or allow more with max_connections"
        else:
            remedy = "start the server, or correct its address"
        return JournalError(f"cannot open {self.place}: {said}; {remedy}")


def _take(run: str) -> Change[bool]:
    key, owner, taken = _lock_key(run), locks.this_process(), False

    def change(connection: Connection) -> bool:
        nonlocal taken
        if taken:
            # In a batch that was undone: the owner's name was, but not the lock.
            connection.execute(sql.UNLOCK, (key,))
        values = (run, key, msgspec.json.encode(owner).decode())
        taken = bool(connection.execute(sql.LOCK, values).fetchall())
        return taken

    return change


def _send(statement: str, value: str | int) -> Change[object]:
    return lambda connection: connection.execute(statement, (value,))


def _read_owner(stored: str) -> locks.LockOwner:
    try:
        return msgspec.json.decode(stored, type=locks.LockOwner)
    except msgspec.MsgspecError:
        return locks.LockOwner()


def _first_line(message: str) -> str:
    lines = [line.strip() for line in message.strip().splitlines()]
    return lines[0] if lines else "it did not say why"
