"""Maintenance of a journal: checking it, copying it, and freeing unused space."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from autoreason.errors import InvalidInput, JournalError, RunLocked
from autoreason.journal import file, shared_texts, sql
from autoreason.journal.connections import Connection, PackedJson
from autoreason.journal.databases import open_store
from autoreason.journal.error_messages import damage_error, sqlite_errors
from autoreason.journal.journal import Journal
from autoreason.journal.reader import Reader
from autoreason.journal.store import Store, journal_errors
from autoreason.paths import Place

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
    store = open_store(journal.place)
    with closing(store.open_reader()) as reader:
        connection = reader.connection
        on_progress("the file", 0, 1)
        damages = list(_in_file(connection, store))
        changed = set(_changed_pieces(connection, damages, store, on_progress))
        try:
            with journal_errors(store):
                runs = [run for (run,) in connection.execute(sql.RUN_IDS)]
        except JournalError as error:
            return [*damages, Damage(None, str(error))]
        for done, run in enumerate(runs):
            on_progress("runs", done, len(runs))
            damages += _in_run(journal, connection, run, changed)
        on_progress("runs", len(runs), len(runs))
    return damages


def _in_file(connection: Connection, store: Store) -> Iterator[Damage]:
    try:
        errors = [line for (line,) in connection.execute(sql.INTEGRITY) if line != "ok"]
        orphans = connection.execute(sql.FOREIGN_KEYS).fetchall()
    except store.Error as error:
        yield Damage(None, str(store.explain(error)))
        return
    yield from (Damage(None, " ".join(str(line).split())) for line in errors[:_SHOWN])
    if orphans:
        yield Damage(None, f"{len(orphans):,} records belong to no run")


def _changed_pieces(
    connection: Connection, damages: list[Damage], store: Store, on_progress: OnProgress
) -> Iterator[str]:
    """References to pieces whose text no longer matches its digest."""
    numbers = [number for (number,) in _rows(connection, sql.PIECE_IDS, damages, store)]
    for done in range(0, len(numbers), _BATCH):
        on_progress("texts", done, len(numbers))
        for number in numbers[done : done + _BATCH]:
            try:
                ((digest, text),) = connection.execute(sql.PIECE, (number,))
                intact = shared_texts.digest_of(text) == digest
            except (store.Error, ValueError, AttributeError):
                intact = False
            if not intact:
                yield str(number)


def _rows(
    connection: Connection, statement: str, damages: list[Damage], store: Store
) -> list[tuple[Any, ...]]:
    try:
        return connection.execute(statement).fetchall()
    except store.Error as error:
        # A journal of schema 1 has no pieces, and needs none.
        if "no such table" not in str(error):
            damages.append(Damage(None, str(store.explain(error))))
        return []


def _in_run(journal: Journal, connection: Connection, run: str, changed: set[str]) -> list[Damage]:
    reads: tuple[Callable[[str], object], ...] = (
        lambda run: _check_order(journal, run),
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
    if changed and any(changed.intersection(shared_texts.references_in(text)) for text in stored):
        return [Damage(run, f"a text of {run} is not what was written; restore a copy")]
    return []


def _check_order(journal: Journal, run: str) -> None:
    """Read every event; they are numbered from 1 without a gap."""
    for number, event in enumerate(journal.events(run), start=1):
        if event.seq != number:
            raise damage_error(journal.place, f"event {number} is missing", run)


def back_up(path: Place, target: Path) -> None:
    """Copy a journal as it is now, also while runs go on; the copy appears complete or not at all."""
    if not isinstance(path, Path):
        raise InvalidInput(
            f"{path} is on a server; back it up with pg_dump, or copy its runs to a file with"
            " `autoreason runs copy`"
        )
    if not file.exists(path):
        raise InvalidInput(f"there is no journal at {path} to copy")
    if target.exists():
        raise InvalidInput(f"{target} exists already; name another file")
    new = target.with_name(target.name + ".new")
    try:
        file.create_private(new)
        with (
            sqlite_errors(path),
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


def compact(place: Place, on_progress: OnProgress) -> tuple[int, int]:
    """Make a journal as small as possible; returns its size before and after, in bytes."""
    store = open_store(place)
    if not store.exists():
        raise InvalidInput(f"there is no journal at {place} to compact")
    with Journal(place) as journal:
        refuse_live(journal)
    before = store.size()
    with journal_errors(store), closing(store.open_writer(alone=True)) as connection:
        _drop_orphans(connection, on_progress)
        on_progress("rewriting the file", 0, 1)
        connection.shrink()
    return before, store.size()


def refuse_live(journal: Journal) -> None:
    """Refuse to go on while a process writes to any of the runs."""
    live = sorted(journal.locked_runs())
    if live:
        raise RunLocked(
            f"{live[0]} is live; wait for it, or end it with `autoreason tell {live[0]} stop`"
        )


def pack(json: str) -> PackedJson | str:
    """JSON as a connection stores it."""
    try:
        return shared_texts.pack(json, shared_texts.long_texts(msgspec.json.decode(json)))
    except msgspec.DecodeError:
        # Damaged: it stays as it is, so that it can still be repaired.
        return json


def _drop_orphans(connection: Connection, on_progress: OnProgress) -> None:
    on_progress("texts that no run needs", 0, 1)
    with connection.transaction():
        needed = {
            number
            for statement in sql.PACKED
            for row in connection.stream(statement)
            for text in row
            for number in shared_texts.references_in(text)
        }
        orphans = [row for row in connection.stream(sql.PIECE_IDS) if str(row[0]) not in needed]
        connection.drop_pieces(orphans)
