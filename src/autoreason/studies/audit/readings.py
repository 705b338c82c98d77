"""A cache of runs as they are audited, next to the journal: an interrupted audit of many goes on."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import msgspec

from autoreason.journal import Journal
from autoreason.studies.audit.audited_record import AuditedRun
from autoreason.studies.audit.own_runs import read_run
from autoreason.version import __version__

_VERSION = f"4, {__version__}"
"""What was stored in another form is read again."""
_CREATE = "CREATE TABLE IF NOT EXISTS readings (run TEXT PRIMARY KEY, stamp TEXT NOT NULL, runs BLOB NOT NULL)"
_FIND = "SELECT runs FROM readings WHERE run = ? AND stamp = ?"
_INSERT = "INSERT OR REPLACE INTO readings VALUES (?, ?, ?)"
_WAIT = 1.0
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[AuditedRun]).decode


class Readings:
    """Runs of a journal as they are audited, each read from its record once."""

    def __init__(self, journal: Journal, cache: sqlite3.Connection | None) -> None:
        self._journal = journal
        self._cache = cache
        self._stamps = journal.stamps()

    def __len__(self) -> int:
        return len(self._stamps)

    def __iter__(self) -> Iterator[str]:
        """The names of all runs, oldest first."""
        return iter(self._stamps)

    def read(self, run: str) -> list[AuditedRun]:
        """One run of the journal; see `read_run`."""
        stamp = f"{_VERSION}, {self._stamps[run]}"
        if cached := self._find(run, stamp):
            return cached
        runs = read_run(run, self._journal)
        # What a live run has asked for may still be answered.
        if self._cache and not self._journal.lock_owner(run):
            with suppress(sqlite3.Error):
                self._cache.execute(_INSERT, (run, stamp, _encode(runs)))
        return runs

    def _find(self, run: str, stamp: str) -> list[AuditedRun] | None:
        if self._cache is None:
            return None
        with suppress(sqlite3.Error, msgspec.DecodeError):
            for (runs,) in self._cache.execute(_FIND, (run, stamp)):
                return _decode(runs)
        return None


@contextmanager
def readings_of(journal: Journal) -> Iterator[Readings]:
    """The runs of a journal; where nothing can be written next to it, nothing is cached."""
    try:
        os.close(os.open(journal.readings, os.O_CREAT | os.O_RDWR, 0o600))
        cache = sqlite3.connect(journal.readings, timeout=_WAIT, isolation_level=None)
    except (OSError, sqlite3.Error):
        yield Readings(journal, None)
        return
    with closing(cache):
        try:
            # Losing the cache costs seconds; waiting for the disk after every run costs more.
            cache.execute("PRAGMA synchronous = OFF")
            cache.execute(_CREATE)
        except sqlite3.Error:
            yield Readings(journal, None)
        else:
            yield Readings(journal, cache)
