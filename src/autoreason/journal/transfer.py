"""Copies runs from one journal to another, each in one transaction, and compares what arrived."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import blake2b
from typing import NamedTuple

from autoreason.errors import InvalidInput, JournalError
from autoreason.journal import shared_texts, sql
from autoreason.journal.connections import Change, Connection, Repeat, Row
from autoreason.journal.databases import open_store
from autoreason.journal.journal import Journal
from autoreason.journal.maintenance import OnProgress, pack, refuse_live
from autoreason.journal.rows import escape, unescape
from autoreason.journal.store import Source, Store, journal_errors


class Copied(NamedTuple):
    """Which runs were copied, oldest first, and which were there already."""

    copied: list[str]
    there: list[str]


class _Side(NamedTuple):
    store: Store
    reader: Source


def copy_runs(
    source: Journal,
    target: Journal,
    on_progress: OnProgress,
    on_copied: Callable[[str], object] = lambda _: None,
) -> Copied:
    """Copy every run; those that the target has already must be the same. Interrupted, it can be repeated."""
    if source.place == target.place:
        raise InvalidInput(f"{source.place} is both; name another journal to copy to")
    refuse_live(source)
    runs = list(source.stamps())
    known = set(target.stamps()).intersection(runs)
    new = [run for run in runs if run not in known]
    here, there = open_store(source.place), open_store(target.place)
    with closing(here.open_reader()) as reader, closing(there.open_reader()) as result:
        origin, copy = _Side(here, reader), _Side(there, result)
        for done, run in enumerate(sorted(known)):
            on_progress("comparing", done, len(known))
            if _digest(origin, run) != _digest(copy, run):
                raise InvalidInput(
                    f"{target.place} has another run {run}; delete one of them, nothing was copied"
                )
        with closing(there.open_writer()) as connection:
            for done, run in enumerate(new):
                on_progress("copying runs", done, len(new))
                with journal_errors(there, run):
                    _write_run(connection, origin, run)
                if _digest(origin, run) != _digest(copy, run):
                    raise JournalError(
                        f"{run} was written to while it was copied; delete it in {target.place},"
                        " then copy again"
                    )
                on_copied(run)
    on_progress("copying runs", len(new), len(new))
    return Copied(new, [run for run in runs if run in known])


def _write_run(connection: Connection, origin: _Side, run: str) -> None:
    """Write a run with everything recorded of it, as it was, in one transaction."""

    def change(connection: Connection) -> None:
        ((name, title, *rest),) = _run_row(origin, run)
        connection.execute(sql.COPY_RUN, (name, _stored(title), *rest))
        for table in sql.COPIED_TABLES:
            for _, *values in _rows(origin, run, table):
                plain = len(values) - table.packed
                small = [_stored(value) for value in values[:plain]]
                packed = [connection.put(pack(text)) for text in values[plain:]]
                connection.execute(table.write, (run, *small, *packed))

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
        return side.reader.connection.execute(sql.RUN_ROW, (run,)).fetchall()


def _rows(side: _Side, run: str, table: sql.CopiedTable) -> Iterator[Row]:
    """Rows of a run with their texts filled in, a few at a time."""
    after: int | None = 0
    while after is not None:
        with journal_errors(side.store, run):
            connection = side.reader.connection
            stored = connection.execute(table.read, (run, after)).fetchall()
            rows = shared_texts.fill_rows(connection, stored)
            side.reader.check()
        yield from rows
        after = rows[-1][0] if rows else None


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
