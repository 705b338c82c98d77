"""Maintenance of a journal: checking it, backing it up, copying its runs to another, and freeing unused space."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from autoreason.errors import InvalidInput, JournalError, RecordDamaged, RunLocked
from autoreason.files import Place
from autoreason.journal import sql, sqlite
from autoreason.journal.journal import Journal, open_store
from autoreason.journal.run_names import owning_run, suite_name
from autoreason.journal.store import Connection, DbRow, Source, Store, damage_error, journal_errors
from autoreason.journal.writer import Writer, delete_run

OnProgress = Callable[[str, int, int], None]
"""Called with what is done, how much of it is finished, and how much there is."""


class Damage(NamedTuple):
    run: str | None
    """The run it is in; None where that is not known."""
    what: str


def check(journal: Journal, on_progress: OnProgress) -> list[Damage]:
    """Check the whole file and read every record of every run."""
    store = open_store(journal.place)
    on_progress("the file", 0, 1)
    damages: list[Damage] = []
    with closing(store.open_reader()) as reader:
        try:
            with journal_errors(store):
                damages += [Damage(None, each) for each in reader.connection.damages()]
        except JournalError as error:
            damages.append(Damage(None, str(error)))
        try:
            with journal_errors(store):
                runs = [run for (run,) in reader.connection.execute(sql.RUN_IDS)]
        except JournalError as error:
            return [*damages, Damage(None, str(error))]
    for done, run in enumerate(runs):
        on_progress("runs", done, len(runs))
        try:
            _read_everything(journal, run)
        except JournalError as error:
            damages.append(Damage(run, str(error)))
    on_progress("runs", len(runs), len(runs))
    return damages


def _read_everything(journal: Journal, run: str) -> None:
    for number, event in enumerate(journal.events(run), start=1):
        if event.seq != number:
            raise damage_error(journal.place, f"event {number} is missing", run)
    reads = journal.check_texts, journal.calls, journal.answers, journal.in_flight
    for read in (*reads, journal.questions, journal.pending_commands, journal.row):
        read(run)


def back_up(path: Place, target: Path) -> None:
    """Copy a journal as it is now, also while runs go on; the copy appears complete or not at all."""
    if not isinstance(path, Path):
        raise InvalidInput(
            f"{path} is on a server; back it up with pg_dump, or copy its runs to a file with"
            " `autoreason runs copy`"
        )
    store = sqlite.SqliteStore(path)
    if not store.exists():
        raise InvalidInput(f"there is no journal at {path} to copy")
    if target.exists():
        raise InvalidInput(f"{target} exists already; name another file")
    new = target.with_name(target.name + ".new")
    try:
        sqlite.create_private(new)
        with (
            journal_errors(store),
            closing(store.open_reader()) as reader,
            closing(sqlite3.connect(new)) as copy,
        ):
            # In one step: a write between two steps would restart the copy.
            reader.connection.backup(copy)
        sqlite.to_disk(new)
        new.replace(target)
    except OSError as error:
        raise InvalidInput(f"cannot write {target}: {error.strerror}; name another file") from None
    finally:
        with suppress(OSError):
            sqlite.remove(new)


def compact(place: Place, on_progress: OnProgress) -> tuple[int, int]:
    """Give back the space of deleted runs; returns a journal's size before and after, in bytes."""
    store = open_store(place)
    if not store.exists():
        raise InvalidInput(f"there is no journal at {place} to compact")
    with Journal(place) as journal:
        for live in sorted(journal.locked_runs()):
            raise RunLocked(f"{live} is live; wait, or end it with `autoreason tell {live} stop`")
    before = store.size()
    on_progress("rewriting the file", 0, 1)
    with journal_errors(store), closing(store.open_writer()) as connection:
        connection.shrink()
    return before, store.size()


# Copying runs to another journal.


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
    replayed: Sequence[str] = ()
    """Those that the caller has replayed from the target."""
    differences: Mapping[str, str] = {}
    """For each run whose replay is not as recorded, a sentence."""
    failed: Mapping[str, str] = {}
    """For each run that cannot be replayed, a sentence."""


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
        closing(Writer(there.open_writer(), there)) as writer,
    ):
        transfer = _Transfer(source, _Side(here, reader), _Side(there, result), writer, live)
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
    """Copies one run after another, each in one transaction, and compares what arrived."""

    def __init__(
        self, source: Journal, origin: _Side, arrived: _Side, writer: Writer, live: list[str]
    ) -> None:
        self._source, self._writer = source, writer
        self._origin, self._arrived = origin, arrived
        self.result = Copied([], [], {}, live, {}, [])

    def compare(self, run: str) -> None:
        try:
            same = _record(self._origin, run) == _record(self._arrived, run)
        except RecordDamaged as error:
            self.result.damaged[run] = f"{run} cannot be compared: {error}"
            return
        if same:
            self.result.there.append(run)
        elif _live([run], self._source):
            self.result.live.append(run)
        else:
            name, place = owning_run(run), self._arrived.store.place
            delete = f"autoreason runs delete {name} --journal {quote(str(place))}"
            self.result.differing.append(run)
            self.result.conflicts[name] = (
                f"{place} has another {name}, which is left as it is; to replace it, also where it"
                f" is the later one: `{delete}`, then copy again"
            )

    def copy(self, run: str) -> bool:
        """Copy a run; false where it is left out."""
        suite = suite_name(run)
        if suite in self.result.conflicts:
            self.result.differing.append(run)
            return False
        try:
            sent = _record(self._origin, run)
        except RecordDamaged as error:
            lacks = f", and {suite} lacks this cell" if suite else ""
            self.result.damaged[run] = f"{run} is not copied{lacks}: {error}"
            return False

        def insert(connection: Connection) -> None:
            for statement, rows in zip(_INSERTS, sent, strict=True):
                connection.executemany(statement, rows)

        self._writer.commit_now("", insert)
        same = sent == _record(self._arrived, run)
        if _live([run], self._source) or not (same or sent == _record(self._origin, run)):
            # A process has begun to write to it.
            self._writer.commit_now("", delete_run(run))
            self.result.live.append(run)
            return False
        if not same:
            raise JournalError(
                f"{run} has not arrived as it was sent; delete it in {self._arrived.store.place},"
                " then copy again"
            )
        self.result.copied.append(run)
        return True


_INSERTS = (sql.INSERT_RUN, *sql.INSERT.values())


def _record(side: _Side, run: str) -> list[list[DbRow]]:
    """Everything recorded of a run, in the order of `_INSERTS`, whatever it is stored in."""
    with journal_errors(side.store, run):
        statements = (sql.RUN_ROW, *map(sql.rows_of, sql.INSERT))
        found = [side.reader.connection.execute(each, (run,)).fetchall() for each in statements]
        # SQLite stores bytes in a column of texts.
        if any(isinstance(value, bytes) for rows in found for row in rows for value in row):
            raise ValueError("bytes in place of a text")
        return found
