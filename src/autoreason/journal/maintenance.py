"""Maintenance of a journal: checking it, copying it, and freeing unused space."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from autoreason.errors import InvalidInput, JournalError, RunLocked
from autoreason.journal import file, location, locks, shared_texts, sql
from autoreason.journal.error_messages import explain_sqlite_error, journal_errors
from autoreason.journal.journal import Journal
from autoreason.journal.reader import Reader

OnProgress = Callable[[str, int, int], None]
"""Called with what is done, how much of it is finished, and how much there is."""
_BATCH = 500
_SHOWN = 5


class Damage(NamedTuple):
    """A record that does not read as it was written."""

    run: str | None
    """The run it is in; None where that is not known."""
    what: str


def check(journal: Journal, on_progress: OnProgress) -> list[Damage]:
    """Check the whole file and read every record of every run."""
    path = journal.path
    with closing(Reader(path)) as reader:
        connection = reader.connection
        on_progress("the file", 0, 1)
        damages = list(_in_file(connection, path))
        changed = set(_changed_pieces(connection, damages, path, on_progress))
        try:
            with journal_errors(path):
                runs = [run for (run,) in connection.execute(sql.RUN_IDS)]
        except JournalError as error:
            return [*damages, Damage(None, str(error))]
        for done, run in enumerate(runs):
            on_progress("runs", done, len(runs))
            damages += _in_run(journal, connection, run, changed)
        on_progress("runs", len(runs), len(runs))
    return damages


def _in_file(connection: sqlite3.Connection, path: Path) -> Iterator[Damage]:
    try:
        errors = [line for (line,) in connection.execute(sql.INTEGRITY) if line != "ok"]
        orphans = connection.execute(sql.FOREIGN_KEYS).fetchall()
    except sqlite3.Error as error:
        yield Damage(None, str(explain_sqlite_error(error, path)))
        return
    yield from (Damage(None, " ".join(str(line).split())) for line in errors[:_SHOWN])
    if orphans:
        yield Damage(None, f"{len(orphans):,} records belong to no run")


def _changed_pieces(
    connection: sqlite3.Connection, damages: list[Damage], path: Path, on_progress: OnProgress
) -> Iterator[int]:
    """Pieces whose text no longer matches its digest."""
    numbers = [number for (number,) in _rows(connection, sql.PIECE_IDS, damages, path)]
    for done in range(0, len(numbers), _BATCH):
        on_progress("texts", done, len(numbers))
        for number in numbers[done : done + _BATCH]:
            try:
                ((digest, text),) = connection.execute(sql.PIECE, (number,))
                intact = shared_texts.digest_of(text) == digest
            except (sqlite3.Error, ValueError, AttributeError):
                intact = False
            if not intact:
                yield number


def _rows(
    connection: sqlite3.Connection, statement: str, damages: list[Damage], path: Path
) -> list[tuple[Any, ...]]:
    try:
        return connection.execute(statement).fetchall()
    except sqlite3.Error as error:
        # A journal of schema 1 has no pieces, and needs none.
        if "no such table" not in str(error):
            damages.append(Damage(None, str(explain_sqlite_error(error, path))))
        return []


def _in_run(
    journal: Journal, connection: sqlite3.Connection, run: str, changed: set[int]
) -> list[Damage]:
    reads: tuple[Callable[[str], object], ...] = (
        journal.events,
        journal.calls,
        journal.replies,
        journal.answers,
        journal.in_flight,
        journal.pending_commands,
        journal.spent,
        journal.row,
    )
    for read in reads:
        try:
            read(run)
        except JournalError as error:
            return [Damage(run, str(error))]
    stored = [text for row in connection.execute(sql.STORED, (run, run)) for text in row]
    if changed and any(changed.intersection(shared_texts.numbers_in(text)) for text in stored):
        return [Damage(run, f"a text of {run} is not what was written; restore a copy")]
    return []


def back_up(path: Path, target: Path) -> None:
    """Copy a journal as it is now, also while runs go on; the copy appears complete or not at all."""
    if not file.exists(path):
        raise InvalidInput(f"there is no journal at {path} to copy")
    if target.exists():
        raise InvalidInput(f"{target} exists already; name another file")
    new = target.with_name(target.name + ".new")
    try:
        file.create_private(new)
        with (
            journal_errors(path),
            closing(Reader(path)) as reader,
            closing(sqlite3.connect(new)) as copy,
        ):
            # In one step: a write between two steps would restart the copy.
            reader.connection.backup(copy)
            reader.check()
        file.to_disk(new)
        new.replace(target)
    except OSError as error:
        raise InvalidInput(f"cannot write {target}: {error.strerror}; name another file") from None
    finally:
        with suppress(OSError):
            file.remove(new)


def compact(path: Path, on_progress: OnProgress) -> tuple[int, int]:
    """Make the file as small as possible; returns its size before and after, in bytes."""
    if not file.exists(path):
        raise InvalidInput(f"there is no journal at {path} to compact")
    live = sorted(locks.locked_runs(location.locks_folder(path)))
    if live:
        raise RunLocked(
            f"{live[0]} is live; wait for it, or end it with `autoreason stop {live[0]}`"
        )
    before = _size(path)
    with journal_errors(path), closing(file.open_for_writing(path)) as connection:
        for table in sql.PACKED_TABLES:
            _store_once(connection, table, on_progress)
        _drop_orphans(connection, on_progress)
        on_progress("rewriting the file", 0, 1)
        connection.execute(sql.VACUUM)
        connection.execute(sql.CHECKPOINT)
    return before, _size(path)


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in (path, file.log_of(path)) if each.exists())


def _store_once(
    connection: shared_texts.JournalConnection, table: sql.PackedTable, on_progress: OnProgress
) -> None:
    """Replace the long texts of older rows by references to pieces."""
    rows = [row for (row,) in connection.execute(table.whole)]
    for done in range(0, len(rows), _BATCH):
        on_progress(f"older {table.name}", done, len(rows))
        with connection.transaction():
            for row in rows[done : done + _BATCH]:
                (texts,) = connection.execute(table.read, (row,)).fetchall()
                packed = [_pack(text) for text in texts]
                connection.execute(table.write, (*map(connection.put, packed), row))


def _pack(json: str) -> shared_texts.PackedJson | str:
    try:
        return shared_texts.pack(json, shared_texts.long_texts(msgspec.json.decode(json)))
    except msgspec.DecodeError:
        # Damaged: it stays as it is, so that it can still be repaired.
        return json


def _drop_orphans(connection: shared_texts.JournalConnection, on_progress: OnProgress) -> None:
    on_progress("texts that no run needs", 0, 1)
    with connection.transaction():
        needed = {
            number
            for table in sql.PACKED_TABLES
            for row in connection.execute(table.all)
            for text in row
            for number in shared_texts.numbers_in(text)
        }
        orphans = [row for row in connection.execute(sql.PIECE_IDS) if row[0] not in needed]
        connection.executemany(sql.DROP_PIECE, orphans)
