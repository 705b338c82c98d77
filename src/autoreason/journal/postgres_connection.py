"""A session on a PostgreSQL server, and its errors as sentences."""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from secrets import randbits
from time import monotonic, sleep
from typing import Any, TypeVar

import msgspec

from autoreason.errors import InvalidInput, JournalError, RunLocked, WritingFailed
from autoreason.journal import postgres_sql as sql
from autoreason.journal.connections import Repeat, Row, Violation
from autoreason.journal.error_messages import NAME_ANOTHER, closed_error, damage_error
from autoreason.journal.shared_texts import PieceWriter, digest_of
from autoreason.journal.sql import DROP_PIECE
from autoreason.paths import ServerUrl

try:
    import psycopg
except ImportError:
    raise InvalidInput(
        "a journal on PostgreSQL needs psycopg; run `pip install '.[postgres]'` in the clone, or name a file"
    ) from None

DriverError = psycopg.Error
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
    " -c tcp_user_timeout=10000"
    " -c synchronous_commit=on -c lock_timeout=60s"
)
_RETRY = re.compile(r"([?&])retry=(\d{1,9})(&|$)")
_PATIENCE = 120.0
"""Seconds for which a lost connection is tried again, unless the URL says otherwise."""
_RETRY_PAUSE = 0.25
_MAX_ROWS = 1000
"""Rows that are sent together."""
_encode = msgspec.json.Encoder().encode
_STREAMED = 1000


class _Never(Exception):
    """What is never raised."""


class PostgresConnection(PieceWriter):
    """A connection to a server. Statements of a batch are sent without waiting for one another.

    An error in such a batch may be that of any of its changes; the batch is then undone and applied
    again carefully: each change waits for its statements, and is undone alone if it fails.
    """

    def __init__(self, raw: psycopg.Connection[Row], patience: float) -> None:
        super().__init__()
        self._raw = raw
        self._patience = patience
        self._pipeline: AbstractContextManager[psycopg.Pipeline] | None = None
        self._careful = False
        self._pieces: dict[str, str] = {}
        self._rows: dict[str, list[Row]] = {}
        """New in this transaction, by the statement that inserts them; sent before it is committed, as pieces are."""
        self._unlocks: list[Row] = []
        """Locks to release when this transaction has ended."""
        self._locking: list[tuple[Row, psycopg.Cursor[Row]]] = []
        """Locks that this transaction asks for."""
        self._locks: dict[int, Row] = {}
        """Locks of this session, by key."""
        self._writer = self._batch = 0
        self.reopen: Callable[[], PostgresConnection] | None = None
        """Opens another session in place of one that was lost."""
        self._lost_at: float | None = None
        """None again after the next commit."""
        self._taken: RunLocked | None = None
        """Why it cannot go on, whatever is tried next."""
        self._nothing = raw.cursor()

    @property
    def IntegrityError(self) -> type[Exception]:
        """What is raised where a row breaks a rule of its table."""
        return _Never if self._pipeline else psycopg.IntegrityError

    @property
    def closed(self) -> bool:
        """Whether it was closed, or lost."""
        return self._raw.closed

    @property
    def lost(self) -> bool:
        """Whether the session was lost, as far as that shows without asking the server."""
        with suppress(psycopg.Error):
            while not self.closed and select.select([self._raw], [], [], 0)[0]:
                self._raw.pgconn.consume_input()
        return self.closed

    @property
    def connection(self) -> PostgresConnection:
        """To read with."""
        return self

    def check(self) -> None:
        """Nothing to check: the server shows what is committed."""

    def identify(self, reopen: Callable[[], PostgresConnection]) -> None:
        """Note every commit under a number, which this session has locked."""
        self._writer, self.reopen = randbits(62), reopen
        self._take(self._writer)

    def _take(self, key: int) -> bool:
        ((taken,),) = self.send(sql.ALONE, (key,)).fetchall()
        return bool(taken)

    def recover(self, error: Exception) -> bool:
        """Go on in another session after this one was lost; returns whether its last transaction was committed."""
        if self._taken:
            raise self._taken
        since = self._lost_at = self._lost_at or monotonic()
        reopen = self.reopen if self._was_lost(error) else None
        if reopen is None or monotonic() >= since + self._patience:
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
            if monotonic() + _RETRY_PAUSE >= since + self._patience:
                raise error
            sleep(_RETRY_PAUSE)

    def _was_lost(self, error: Exception) -> bool:
        # A server that ends says so, and is gone a moment later.
        return self.lost or str(getattr(error, "sqlstate", "")).startswith("57P")

    def _take_over(self, other: PostgresConnection) -> bool:
        """Go on in this session, with the same locks."""
        # Until the lost session has ended, the server works on what it was sent.
        if self._writer and not other._take(self._writer):
            raise psycopg.OperationalError("the server has not noticed yet that it was lost")
        if marked := other.send(sql.MARKED, (self._writer, self._batch)).fetchall():
            self._note_locks()
        for run, key, owner in self._locks.values():
            # Another process may have had it until this moment.
            if not (other._take(key) and other.send(sql.IS_OWNER, (run, owner)).fetchall()):
                self._taken = RunLocked(
                    f"another process went on with {run} while the connection was lost; wait for it"
                )
                raise self._taken
        self._raw, other._raw = other._raw, self._raw
        return bool(marked)

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[Row]:
        """Send a statement of `sql`."""
        if statement == sql.UNLOCK_AT_END:
            self._unlocks.append(tuple(values))
            return self._nothing
        if self._pipeline and statement in sql.BULKS:
            rows = self._rows.setdefault(statement, [])
            rows.append(tuple(values))
            if len(rows) == _MAX_ROWS:
                self._send_rows()
            return self._nothing
        cursor = self.send(sql.translate(statement), values)
        if statement == sql.LOCK:
            self._locking.append((tuple(values), cursor))
        return cursor

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
            if self._writer:
                self.send(sql.MARK, (self._writer, self._batch))
            committed = self.send("COMMIT")
            self._unlock()
            self._leave_pipeline()
            # A transaction that has failed is undone, and that is no error.
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
        self._undo()
        with suppress(psycopg.Error):
            self._unlock()

    def _undo(self) -> None:
        self._forget()
        self._careful = False
        with suppress(psycopg.Error):
            self._leave_pipeline()
        if not self.closed:
            # Not as a statement: this forgets what is prepared, which of a failed batch may not be there.
            self._raw.rollback()

    def _unlock(self) -> None:
        for values in self._unlocks:
            self.send(sql.UNLOCK_AT_END, values)

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

    def drop_pieces(self, rows: Iterable[Row]) -> None:
        """Delete pieces; no other process writes while one compacts."""
        self.executemany(DROP_PIECE, rows)

    def shrink(self) -> None:
        """Rewrite the tables."""
        for table in sql.TABLES:
            self.send(f"VACUUM FULL {table}")

    def close(self) -> None:
        """End the session, and with it every lock of its runs."""
        self.reopen = None
        if self._writer:
            with suppress(psycopg.Error):
                self.send(sql.FORGET_WRITER, (self._writer,))
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
            raise Repeat from None

    def _leave_pipeline(self) -> None:
        pipeline, self._pipeline = self._pipeline, None
        if pipeline:
            pipeline.__exit__(None, None, None)

    def _store(self, piece: str) -> str:
        reference = digest_of(piece).hex()
        self._pieces[reference] = piece
        return reference


def connect(place: ServerUrl) -> PostgresConnection:
    """A new session, or a sentence on why there is none."""
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
        raise _explain_refusal(place, str(error)) from None
    raw.server_cursor_factory = psycopg.RawServerCursor
    return PostgresConnection(raw, float(retry[2]) if retry else _PATIENCE)


def explain_postgres_error(
    error: Exception, place: ServerUrl, run: str | None = None
) -> JournalError:
    """An error of the server as one sentence about this journal, with the remedy."""
    code = getattr(error, "sqlstate", None) or ""
    said = _first_line(str(error))
    if code == "53100":
        return WritingFailed(f"no space is left for {place}; free some, then resume")
    if code in ("42501", "25006"):
        return JournalError(
            f"{place} does not allow it ({said}); ask its owner for the right, or {NAME_ANOTHER}"
        )
    if code == "55P03":
        return JournalError(f"{place} is locked by another program; close that, then try again")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        if "connection is closed" in said:
            return closed_error(place)
        # Of these classes of errors: connections, and a server that is stopped.
        if code[:2] not in ("", "08", "57"):
            return WritingFailed(f"{place} failed ({said}); when it works again, resume")
        return WritingFailed(
            f"the connection to {place} was lost ({said}); when the server can be reached again,"
            " resume"
        )
    return damage_error(place, str(error), run)


def _explain_refusal(place: ServerUrl, message: str) -> JournalError:
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
    return JournalError(f"cannot open {place}: {said}; {remedy}")


def _first_line(message: str) -> str:
    lines = [line.strip() for line in message.strip().splitlines()]
    return lines[0] if lines else "it did not say why"
