"""A journal in a database of PostgreSQL, which processes on many machines write to."""

from __future__ import annotations

import re
import select
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    closing,
    contextmanager,
    suppress,
)
from hashlib import blake2b
from secrets import randbits
from typing import Any, TypeVar

import msgspec

from autoreason.errors import AutoreasonError, InvalidInput, JournalError, RunLocked, WritingFailed
from autoreason.files import ServerUrl
from autoreason.journal import sql, store
from autoreason.journal.codec import SharedTexts
from autoreason.journal.run_names import check_name
from autoreason.journal.sqlite import Reader

try:
    import psycopg
except ImportError:
    raise InvalidInput(
        "a journal on PostgreSQL needs psycopg; run `pip install '.[postgres]'` in the clone, or name a file"
    ) from None

DriverError = psycopg.Error
T = TypeVar("T")
SCHEMA = "autoreason"
"""Of its own, so that a database can be shared with other programs."""
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
    f"-c search_path={SCHEMA}"
    # The same from the other side: a host that died loses its locks.
    " -c tcp_keepalives_idle=3 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    " -c tcp_user_timeout=10000"
    " -c synchronous_commit=on -c lock_timeout=60s"
)
_RETRY = re.compile(r"([?&])retry=(\d{1,9})(&|$)")
_RETRY_FOR = 120.0
"""Seconds for which a lost connection is tried again, unless the URL says otherwise."""
_RETRY_PAUSE = 0.25
_MAX_ROWS = 1000
_LOCK_PATIENCE = 1.0
"""Seconds; the server notices a moment later that a process was killed."""
_LOCK_PAUSE = 0.02
_encode = msgspec.json.Encoder().encode

# Statements in the words of PostgreSQL.

_CREATE = (
    *sql.schema(postgres=True),
    # Who has a run locked, or had when its session was lost.
    'CREATE TABLE locks (run TEXT COLLATE "C" PRIMARY KEY, key BIGINT NOT NULL, owner TEXT NOT NULL)',
    # What a session that was lost has committed.
    "CREATE TABLE writers (id BIGINT PRIMARY KEY, batch BIGINT NOT NULL)",
    sql.CREATE_LEASES,
    "CREATE TABLE schema_version (version INTEGER NOT NULL)",
    f"INSERT INTO schema_version VALUES ({sql.VERSION})",
)
_FIND = f"""
    SELECT to_regclass('{SCHEMA}.schema_version') IS NOT NULL,
        EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '{SCHEMA}'),
        EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = '{SCHEMA}')
"""
"""Whether there is a journal, its schema, and any table in that."""
# Fails where nothing can be written: without rights, or on a server that only follows another.
_TRY_WRITING = "LOCK TABLE replies IN ROW EXCLUSIVE MODE"
_SIZE = "SELECT sum(pg_total_relation_size(name::regclass))::bigint FROM unnest($1::text[]) AS name"

# Locks are those of a session, so that the server releases them when it ends.
_TRY_LOCK = "SELECT pg_try_advisory_lock($1)"
_LOCK = """
    INSERT INTO locks (run, key, owner) SELECT ?1, ?2, ?3 WHERE pg_try_advisory_lock(?2)
    ON CONFLICT (run) DO UPDATE SET owner = excluded.owner RETURNING 1
"""
_UNLOCK = "SELECT pg_advisory_unlock(?)"
# After the transaction: what was sent is committed, and no row is left locked, before another process can go on.
_UNLOCK_AT_END = "SELECT pg_advisory_unlock($1)"
_FORGET_OWNER = "DELETE FROM locks WHERE run = ?"
_LOCKED = """
    FROM locks JOIN pg_locks AS active ON active.locktype = 'advisory' AND active.granted
        AND active.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND active.objsubid = 1 AND active.classid = ((key >> 32) & 4294967295)::oid
        AND active.objid = (key & 4294967295)::oid
"""
_OWNER = f"SELECT owner {_LOCKED} WHERE run = ?"
_IS_OWNER = "SELECT 1 FROM locks WHERE run = $1 AND owner = $2"
_LOCKED_RUNS = f"SELECT run {_LOCKED}"

_TOUCH = "UPDATE runs SET updated = $1 WHERE id = ANY($2)"
_MARK = """
    INSERT INTO writers (id, batch) VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET batch = excluded.batch
"""
_MARKED = "SELECT 1 FROM writers WHERE id = $1 AND batch = $2"
_FORGET_WRITER = "DELETE FROM writers WHERE id = $1"


def _lock_key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)


_CREATING = _lock_key("autoreason: creating")
"""No run can have this name."""


class PostgresStore:
    Error = DriverError

    def __init__(self, place: ServerUrl) -> None:
        self.place = place
        self._locked: set[str] = set()
        self._exists = False
        self._empty = False
        """Whether an empty journal is read in place of one that is not there."""

    def exists(self) -> bool:
        """Whether there is a journal; tables of another program in its place are refused."""
        if not self._exists:
            with store.journal_errors(self), closing(connect(self.place)) as connection:
                self._find(connection)
        return self._exists

    def create(self) -> None:
        """Create an empty journal where there is none, in one transaction."""
        with (
            store.journal_errors(self),
            closing(connect(self.place)) as connection,
            connection.transaction(),
        ):
            connection.send("SELECT pg_advisory_xact_lock($1)", (_CREATING,))
            # Another process may have done it while we waited for the lock.
            ((exists, schema, _),) = connection.send(_FIND).fetchall()
            if not schema:
                connection.send(f"CREATE SCHEMA {SCHEMA}")
            for statement in () if exists else _CREATE:
                connection.send(statement)

    def open_reader(self) -> store.Source:
        self._empty = not self.exists()
        if self._empty:
            return Reader(None)
        with store.journal_errors(self):
            return self._connect_checked()

    def open_writer(self) -> PostgresConnection:
        with store.journal_errors(self):
            connection = self._connect_checked()
            with store.closed_on_error(connection):
                # Fail now where nothing can be written, not with the first reply.
                with connection.transaction():
                    connection.send(_TRY_WRITING)
                connection.identify(self.open_writer)
            return connection

    def open_leases(self) -> PostgresConnection:
        """Another session; what changes leases sets how it commits."""
        return self.open_writer()

    def size(self) -> int:
        with store.journal_errors(self), closing(connect(self.place)) as connection:
            ((size,),) = connection.send(_SIZE, (list(sql.TABLES),)).fetchall()
            return int(size)

    # Locks of runs.

    @asynccontextmanager
    async def lock_run(
        self, run: str, commit: store.Commit, sleep: store.Sleep, read: store.Read
    ) -> AsyncIterator[None]:
        """Lock a run by the session that writes: where that is lost, so are the lock and the right to write."""
        check_name(run)
        if run in self._locked:
            raise store.locked_error(run, self.lock_owner(run, read))
        # Noted before anything is awaited: the server grants a session again what it has locked.
        self._locked.add(run)
        try:
            if not await _take_lock(run, commit, sleep):
                raise store.locked_error(run, self.lock_owner(run, read))
            try:
                yield
            finally:
                await _release_lock(run, commit)
        finally:
            self._locked.discard(run)

    def lock_owner(self, run: str, read: store.Read) -> store.LockOwner | None:
        for (owner,) in [] if self._empty else read(_OWNER, (run,)):
            with suppress(msgspec.MsgspecError):
                return msgspec.json.decode(owner, type=store.LockOwner)
            return store.LockOwner()
        return None

    def locked_runs(self, read: store.Read) -> frozenset[str]:
        return frozenset(run for (run,) in ([] if self._empty else read(_LOCKED_RUNS, ())))

    def _connect_checked(self) -> PostgresConnection:
        connection = connect(self.place)
        connection.reopen = self._connect_checked
        with store.closed_on_error(connection):
            if not self._find(connection):
                raise JournalError(f"{self.place} has no journal any more; {store.NAME_ANOTHER}")
            ((version,),) = connection.send("SELECT version FROM schema_version").fetchall()
            if version != sql.VERSION:
                raise store.version_error(self.place, version, sql.VERSION)
        return connection

    def _find(self, connection: PostgresConnection) -> bool:
        ((exists, _, tables),) = connection.send(_FIND).fetchall()
        if tables and not exists:
            raise JournalError(
                f"{self.place} has tables in the schema {SCHEMA} that are not a journal;"
                f" {store.NAME_ANOTHER}"
            )
        self._exists = bool(exists)
        return self._exists

    def explain(self, error: Exception, run: str | None = None) -> JournalError:
        code = getattr(error, "sqlstate", None) or ""
        said = _first_line(str(error))
        if code == "53100":
            return WritingFailed(f"no space is left for {self.place}; free some, then resume")
        if code in ("42501", "25006"):
            return JournalError(
                f"{self.place} does not allow it ({said}); ask its owner for the right, or {store.NAME_ANOTHER}"
            )
        if code == "55P03":
            return JournalError(f"{self.place} is locked by another program; close that first")
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            if "connection is closed" in said:
                return store.closed_error(self.place)
            # Of these classes of errors: connections, and a server that is stopped.
            if code[:2] not in ("", "08", "57"):
                return WritingFailed(f"{self.place} failed ({said}); when it works again, resume")
            return WritingFailed(
                f"the connection to {self.place} was lost ({said}); when the server can be reached again,"
                " resume"
            )
        return store.damage_error(self.place, str(error), run)


async def _take_lock(run: str, commit: store.Commit, sleep: store.Sleep) -> bool:
    deadline = time.monotonic() + _LOCK_PATIENCE
    try:
        while not (taken := bool(await commit(_lock(run)))) and time.monotonic() < deadline:
            await sleep(_LOCK_PAUSE)
    except BaseException:
        # It may have been taken; the name of its owner may be that of another.
        await _unlock(run, commit)
        raise
    return taken


def _lock(run: str) -> store.Change[bool]:
    key, owner, repeated = _lock_key(run), store.this_process(), False

    def change(connection: store.Connection) -> bool:
        nonlocal repeated
        if repeated:
            # In a batch that was undone: the owner's name was, but not the lock.
            connection.execute(_UNLOCK, (key,))
        repeated = True
        values = (run, key, msgspec.json.encode(owner).decode())
        return bool(connection.execute(_LOCK, values).fetchall())

    return change


async def _release_lock(run: str, commit: store.Commit) -> None:
    def change(connection: store.Connection) -> None:
        connection.execute(_FORGET_OWNER, (run,))
        connection.execute(_UNLOCK_AT_END, (_lock_key(run),))

    try:
        await commit(change)
    except AutoreasonError:
        await _unlock(run, commit)


async def _unlock(run: str, commit: store.Commit) -> None:
    # A lost connection has lost the lock, too; any other failure is that of an earlier change.
    with suppress(AutoreasonError):
        await commit(lambda connection: connection.execute(_UNLOCK_AT_END, (_lock_key(run),)))


class PostgresConnection(SharedTexts):
    """A connection to a server. Statements of a batch are sent without waiting for one another.

    An error in such a batch may be that of any of its changes; the batch is then undone and applied
    again carefully: each change waits for its statements, and is undone alone if it fails.
    """

    def __init__(self, raw: psycopg.Connection[store.DbRow], patience: float) -> None:
        super().__init__()
        self._raw = raw
        self._patience = patience
        self._pipeline: AbstractContextManager[psycopg.Pipeline] | None = None
        self._careful = False
        self._rows: dict[str, list[store.DbRow]] = {}
        """New in this transaction, by the statement that inserts them; sent before it is committed."""
        self._unlocks: list[store.DbRow] = []
        """Locks to release when this transaction has ended."""
        self._locking: list[tuple[store.DbRow, psycopg.Cursor[store.DbRow]]] = []
        """Locks that this transaction asks for."""
        self._locks: dict[int, store.DbRow] = {}
        self._writer = self._batch = 0
        self.reopen: Callable[[], PostgresConnection] | None = None
        """Opens another session in place of one that was lost."""
        self._lost_at: float | None = None
        """None again after the next commit."""
        self._taken: RunLocked | None = None
        """Why it cannot go on, whatever is tried next."""
        self._nothing = raw.cursor()

    @property
    def IntegrityError(self) -> type[Exception] | tuple[()]:
        return () if self._pipeline else psycopg.IntegrityError

    @property
    def lost(self) -> bool:
        with suppress(psycopg.Error):
            while not self._raw.closed and select.select([self._raw], [], [], 0)[0]:
                self._raw.pgconn.consume_input()
        return self._raw.closed

    @property
    def connection(self) -> PostgresConnection:
        return self

    def identify(self, reopen: Callable[[], PostgresConnection]) -> None:
        """Note every commit under a number, which this session has locked."""
        self._writer, self.reopen = randbits(62), reopen
        self._try_lock(self._writer)

    def _try_lock(self, key: int) -> bool:
        ((taken,),) = self.send(_TRY_LOCK, (key,)).fetchall()
        return bool(taken)

    def recover(self, error: Exception) -> bool:
        """Go on in another session after this one was lost; returns whether its last transaction was committed."""
        if self._taken:
            raise self._taken
        since = self._lost_at = self._lost_at or time.monotonic()
        reopen = self.reopen if self._was_lost(error) else None
        if reopen is None or time.monotonic() >= since + self._patience:
            raise error
        # Once given up it stays so: what was to be written is lost to its callers.
        self.reopen = None
        with suppress(psycopg.Error):
            self.roll_back()
        while True:
            with suppress(JournalError, psycopg.Error), closing(reopen()) as other:
                committed = self._take_over(other)
                self.reopen, self._lost_at = reopen, since if self._writer else None
                return committed
            if time.monotonic() + _RETRY_PAUSE >= since + self._patience:
                raise error
            time.sleep(_RETRY_PAUSE)

    def _was_lost(self, error: Exception) -> bool:
        # A server that ends says so, and is gone a moment later.
        return self.lost or str(getattr(error, "sqlstate", "")).startswith("57P")

    def _take_over(self, other: PostgresConnection) -> bool:
        """Go on in this session, with the same locks."""
        # Until the lost session has ended, the server works on what it was sent.
        if self._writer and not other._try_lock(self._writer):
            raise psycopg.OperationalError("the server has not noticed yet that it was lost")
        if marked := other.send(_MARKED, (self._writer, self._batch)).fetchall():
            self._note_locks()
        for run, key, owner in self._locks.values():
            # Another process may have had it until this moment.
            if not (other._try_lock(key) and other.send(_IS_OWNER, (run, owner)).fetchall()):
                self._taken = RunLocked(
                    f"another process went on with {run} while the connection was lost; wait for it"
                )
                raise self._taken
        self._raw, other._raw = other._raw, self._raw
        return bool(marked)

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[store.DbRow]:
        if statement == _UNLOCK_AT_END:
            self._unlocks.append(tuple(values))
            return self._nothing
        if self._pipeline and statement in sql.BULK_INSERT:
            rows = self._rows.setdefault(statement, [])
            rows.append(tuple(values))
            if len(rows) == _MAX_ROWS:
                self._send_rows()
            return self._nothing
        cursor = self.send(sql.for_postgres(statement), values)
        if statement == _LOCK:
            self._locking.append((tuple(values), cursor))
        return cursor

    def send(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[store.DbRow]:
        return self._raw.execute(statement, values or None)

    def executemany(self, statement: str, rows: Iterable[store.DbRow], /) -> None:
        for row in rows:
            self.execute(statement, row)

    def begin(self) -> None:
        self.forget_some()
        self._rows.clear()
        self._unlocks.clear()
        self._locking.clear()
        self._batch += 1
        if self._raw.broken:
            raise psycopg.OperationalError("the server is gone")
        if not self._careful:
            self._pipeline = self._raw.pipeline()
            self._pipeline.__enter__()
        self.send("BEGIN")

    def apply(self, change: Callable[[PostgresConnection], T]) -> T:
        if self._pipeline:
            with self._repeating():
                return change(self)
        self.send("SAVEPOINT one")
        try:
            result = change(self)
        except BaseException:
            self.send("ROLLBACK TO one")
            self.forget()
            raise
        self.send("RELEASE one")
        return result

    def touch(self, at: str, runs: Collection[str]) -> None:
        with self._repeating():
            self.send(_TOUCH, (at, sorted(runs)))

    def commit(self) -> None:
        """Commit a transaction; on the server's disk when this returns."""
        with self._repeating():
            self._send_rows()
            if self._writer:
                self.send(_MARK, (self._writer, self._batch))
            committed = self.send("COMMIT")
            self._unlock()
            self._leave_pipeline()
            # A transaction that has failed is undone, and that is not an error.
            if committed.statusmessage != "COMMIT":
                raise psycopg.OperationalError("the transaction was undone")
        self._note_locks()
        self._careful = False
        self._lost_at = None

    def _note_locks(self) -> None:
        for values, cursor in self._locking:
            if cursor.rowcount == 1:
                self._locks[values[1]] = values
        for (key,) in self._unlocks:
            self._locks.pop(key, None)

    def _send_rows(self) -> None:
        for statement, rows in self._rows.items():
            columns, insert = sql.BULK_INSERT[statement]
            objects = [dict(zip(columns, row, strict=True)) for row in rows]
            self.send(insert, (_encode(objects).decode(),))
        self._rows.clear()

    def roll_back(self) -> None:
        self._undo()
        with suppress(psycopg.Error):
            self._unlock()

    def _undo(self) -> None:
        self.forget()
        self._careful = False
        with suppress(psycopg.Error):
            self._leave_pipeline()
        if not self._raw.closed:
            # Not as a statement: this forgets what is prepared, which of a failed batch may not be there.
            self._raw.rollback()

    def _unlock(self) -> None:
        for values in self._unlocks:
            self.send(_UNLOCK_AT_END, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._careful = True
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            self.roll_back()
            raise

    def violation(self, error: Exception) -> store.KeyViolation | None:
        match error:
            case psycopg.errors.ForeignKeyViolation():
                return "unknown run"
            case psycopg.errors.UniqueViolation():
                return "duplicate"
        return None

    def damages(self) -> list[str]:
        """Nothing: the server checks by itself."""
        return []

    def shrink(self) -> None:
        for table in sql.TABLES:
            self.send(f"VACUUM FULL {table}")

    def close(self) -> None:
        """End the session, and with it every lock of its runs."""
        self.reopen = None
        if self._writer:
            with suppress(psycopg.Error):
                self.send(_FORGET_WRITER, (self._writer,))
        self._raw.close()

    @contextmanager
    def _repeating(self) -> Iterator[None]:
        """In a batch that is sent without waiting, any error asks for the careful way."""
        careful = self._pipeline is None
        try:
            yield
        except psycopg.Error as error:
            if careful or self._was_lost(error):
                raise
            self._undo()
            self._careful = True
            raise store.Repeat from None

    def _leave_pipeline(self) -> None:
        pipeline, self._pipeline = self._pipeline, None
        if pipeline:
            pipeline.__exit__(None, None, None)


def connect(place: ServerUrl) -> PostgresConnection:
    retry = _RETRY.search(place.url)
    url = _RETRY.sub(lambda found: found[1] if found[3] else "", place.url)
    try:
        given = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise InvalidInput(
            f"{place} is not a URL of PostgreSQL; write postgresql://user@host/database,"
            " or with seconds to wait for a lost server postgresql://user@host/database?retry=120"
        ) from None
    parameters: dict[str, Any] = {**_PARAMETERS, **given}
    parameters["options"] = f"{given.get('options', '')} {_OPTIONS}".strip()
    try:
        raw = psycopg.connect(**parameters, autocommit=True, cursor_factory=psycopg.RawCursor)
    except psycopg.Error as error:
        said = _first_line(str(error).rpartition("FATAL:")[2] or str(error))
        raise JournalError(
            f"cannot open {place}: {said}; start the server, create the database with `createdb`, or"
            " correct address, user and password, in the URL, PGPASSWORD or ~/.pgpass"
        ) from None
    return PostgresConnection(raw, float(retry[2]) if retry else _RETRY_FOR)


def _first_line(message: str) -> str:
    lines = [line.strip() for line in message.strip().splitlines()]
    return lines[0] if lines else "it did not say why"
