"""Copies runs from one journal to another, each in one transaction, and compares what arrived."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from shlex import quote
from typing import NamedTuple

from autoreason.errors import InvalidInput, JournalError, RecordDamaged
from autoreason.journal import shared_texts, sql, writes
from autoreason.journal.connections import Change, Connection, Repeat, Row
from autoreason.journal.databases import open_store
from autoreason.journal.journal import Journal
from autoreason.journal.maintenance import OnProgress, pack
from autoreason.journal.rows import escape, unescape
from autoreason.journal.run_names import suite_name
from autoreason.journal.store import Source, Store, journal_errors
from autoreason.settings import Settings


class Copied(NamedTuple):
    """Which runs were copied, oldest first, which were there already, and which were left out."""

    copied: list[str]
    there: list[str]
    damaged: dict[str, str]
    """For each run that could not be copied or compared, a sentence."""
    live: list[str]
    """Those that a process writes to, and the cells of such a suite."""
    conflicts: dict[str, str]
    """For each run or suite that differs in the target, a sentence."""
    differing: list[str]
    """Runs of these that are not copied: those that differ, and new cells of such a suite."""


class _Side(NamedTuple):
    store: Store
    reader: Source


def copy_runs(
    source: Journal,
    target: Journal,
    on_progress: OnProgress,
    on_copied: Callable[[str], object] = lambda _: None,
) -> Copied:
    """Copy every run that is sound and not live; those that the target has already are left as they are.

    It can be repeated.
    """
    if source.place == target.place:
        raise InvalidInput(f"{source.place} is both; name another journal to copy to")
    stamps = list(source.stamps())
    live = _live(stamps, source)
    runs = [run for run in stamps if run not in set(live)]
    known = set(target.stamps()).intersection(runs)
    new = [run for run in runs if run not in known]
    here, there = open_store(source.place), open_store(target.place)
    with (
        closing(here.open_reader()) as reader,
        closing(there.open_reader()) as result,
        closing(there.open_writer()) as connection,
    ):
        transfer = _Transfer(source, _Side(here, reader), _Side(there, result), connection, live)
        for done, run in enumerate(run for run in runs if run in known):
            on_progress("comparing", done, len(known))
            transfer.compare(run)
        for done, run in enumerate(new):
            on_progress("copying runs", done, len(new))
            if transfer.copy(run):
                on_copied(run)
    on_progress("copying runs", len(new), len(new))
    return transfer.result


def _live(runs: Iterable[str], journal: Journal) -> list[str]:
    """Those of these runs that a process writes to now."""
    locked = journal.locked_runs()
    return [run for run in runs if not locked.isdisjoint((run, suite_name(run)))]


class _Transfer:
    """Copies one run after another."""

    def __init__(
        self,
        source: Journal,
        origin: _Side,
        arrived: _Side,
        connection: Connection,
        live: list[str],
    ) -> None:
        self._source = source
        self._origin, self._arrived = origin, arrived
        self._connection = connection
        self.result = Copied([], [], {}, live, {}, [])

    def compare(self, run: str) -> None:
        """Compare a run that both have."""
        try:
            same = _digest(self._origin, run) == _digest(self._arrived, run)
        except RecordDamaged as error:
            self.result.damaged[run] = f"{run} cannot be compared: {error}"
            return
        if same:
            self.result.there.append(run)
        elif _live([run], self._source):
            self.result.live.append(run)
        else:
            self.result.differing.append(run)
            self.result.conflicts.setdefault(suite_name(run) or run, self._describe_conflict(run))

    def _describe_conflict(self, run: str) -> str:
        """What the target has in place of a run, or of the suite of a cell, and what to do."""
        ((*_, created, updated),) = (row[:5] for row in _run_row(self._origin, run))
        ((*_, began, changed),) = (row[:5] for row in _run_row(self._arrived, run))
        name, place = suite_name(run) or run, self._arrived.store.place
        if created != began or updated == changed:
            return f"{place} has another run {name}, which is left as it is; delete one of them, then copy again"
        if updated < changed:
            return f"{place} has a later state of {name}, which is left as it is"
        delete = f"autoreason runs delete {name} --journal {quote(str(place))}"
        return f"{place} has an earlier state of {name}; to replace it: `{delete}`, then copy again"

    def copy(self, run: str) -> bool:
        """Copy a run; false where it is left out."""
        if suite_name(run) in self.result.conflicts:
            self.result.differing.append(run)
            return False
        try:
            sent = _digest(self._origin, run)
            with journal_errors(self._arrived.store, run):
                _write_run(self._connection, self._origin, run, self._source.settings(run))
        except RecordDamaged as error:
            self.result.damaged[run] = f"{_not_copied(run)}: {error}"
            return False
        same = sent == _digest(self._arrived, run)
        if _live([run], self._source) or not (same or sent == _digest(self._origin, run)):
            # A process has begun to write to it.
            _write(self._connection, writes.delete_run(run))
            self.result.live.append(run)
            return False
        if not same:
            raise JournalError(
                f"{run} has not arrived as it was sent; delete it in {self._arrived.store.place},"
                " then copy again"
            )
        self.result.copied.append(run)
        return True


def _not_copied(run: str) -> str:
    suite = suite_name(run)
    return f"{run} is not copied, and {suite} lacks this cell" if suite else f"{run} is not copied"


def _write_run(connection: Connection, origin: _Side, run: str, settings: Settings | None) -> None:
    """Write a run with everything recorded of it, as it was, in one transaction."""

    def change(connection: Connection) -> None:
        ((name, title, *rest),) = _run_row(origin, run)
        connection.execute(sql.COPY_RUN, (name, _stored(title), *rest))
        if settings:
            writes.describe_run(run, settings, str(_stored(title)))(connection)
        for table in sql.COPIED_TABLES:
            for _, *values in _rows(origin, run, table):
                plain = len(values) - table.packed
                small = [_stored(value) for value in values[:plain]]
                packed = [connection.put(pack(text)) for text in values[plain:]]
                connection.execute(table.write, (run, *small, *packed))

    _write(connection, change)


def _write(connection: Connection, change: Change[None]) -> None:
    try:
        try:
            _commit(connection, change)
        except Repeat:
            _commit(connection, change)
    except BaseException:
        connection.roll_back()
        raise


def _commit(connection: Connection, change: Change[None]) -> None:
    connection.begin()
    connection.apply(change)
    connection.commit()


def _stored(value: object) -> object:
    """Texts of older journals may contain what PostgreSQL cannot store."""
    return escape(value) if isinstance(value, str) and "\x00" in value else value


def _run_row(side: _Side, run: str) -> list[Row]:
    with journal_errors(side.store, run):
        return _without_bytes(side.reader.connection.execute(sql.RUN_ROW, (run,)).fetchall())


def _rows(side: _Side, run: str, table: sql.CopiedTable) -> Iterator[Row]:
    """Rows of a run with their texts filled in, a few at a time."""
    after: int | None = 0
    while after is not None:
        with journal_errors(side.store, run):
            connection = side.reader.connection
            stored = connection.execute(table.read, (run, after)).fetchall()
            rows = shared_texts.fill_rows(connection, _without_bytes(stored))
            side.reader.check()
        yield from rows
        after = rows[-1][0] if rows else None


def _without_bytes(rows: list[Row]) -> list[Row]:
    """Rows as they are; SQLite stores bytes in a column of texts."""
    if any(isinstance(value, bytes) for row in rows for value in row):
        raise ValueError("bytes in place of a text")
    return rows


def _digest(side: _Side, run: str) -> bytes:
    """A digest of everything recorded of a run, whatever it is stored in."""
    digest = blake2b()
    for row in _run_row(side, run):
        digest.update(_plain(row))
    for table in sql.COPIED_TABLES:
        for _, *values in _rows(side, run, table):
            digest.update(_plain(values))
        digest.update(b"\n")
    return digest.digest()


def _plain(values: list[object] | Row) -> bytes:
    return repr([unescape(each) if isinstance(each, str) else each for each in values]).encode()
