"""What was read of runs is kept beside the journal: an audit of many goes on where it was interrupted."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import msgspec

from autoreason.journal import Journal
from autoreason.studies.audit.own_runs import read_run
from autoreason.studies.audit.record import AuditedRun
from autoreason.version import __version__

_FORM = f"3, {__version__}"
"""What was kept in another form is read again."""
_MAKE = "CREATE TABLE IF NOT EXISTS readings (run TEXT PRIMARY KEY, stamp TEXT NOT NULL, runs BLOB NOT NULL)"
_FIND = "SELECT runs FROM readings WHERE run = ? AND stamp = ?"
_KEEP = "INSERT OR REPLACE INTO readings VALUES (?, ?, ?)"
_WAIT = 1.0
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[AuditedRun]).decode


class Readings:
    """Runs of a journal as they are audited, each read from its record once."""

    def __init__(self, journal: Journal, kept: sqlite3.Connection | None) -> None:
        self._journal = journal
        self._kept = kept
        self._stamps = journal.stamps()

    def __len__(self) -> int:
        return len(self._stamps)

    def __iter__(self) -> Iterator[str]:
        """The names of all runs, oldest first."""
        return iter(self._stamps)

    def read(self, run: str) -> list[AuditedRun]:
        """What the journal holds of one run; see `read_run`."""
        stamp = f"{_FORM}, {self._stamps[run]}"
        if found := self._find(run, stamp):
            return found
        read = read_run(run, self._journal)
        # What a live run has asked for is not lost yet.
        if self._kept and not self._journal.lock_owner(run):
            with suppress(sqlite3.Error):
                self._kept.execute(_KEEP, (run, stamp, _encode(read)))
        return read

    def _find(self, run: str, stamp: str) -> list[AuditedRun] | None:
        if self._kept is None:
            return None
        with suppress(sqlite3.Error, msgspec.DecodeError):
            for (runs,) in self._kept.execute(_FIND, (run, stamp)):
                return _decode(runs)
        return None


@contextmanager
def readings_of(journal: Journal) -> Iterator[Readings]:
    """The runs of a journal; where nothing can be written beside it, nothing is kept."""
    try:
        os.close(os.open(journal.readings, os.O_CREAT | os.O_RDWR, 0o600))
        kept = sqlite3.connect(journal.readings, timeout=_WAIT, isolation_level=None)
    except (OSError, sqlite3.Error):
        yield Readings(journal, None)
        return
    with closing(kept):
        try:
            # Losing what was kept costs seconds; waiting for the disk after every run costs more.
            kept.execute("PRAGMA synchronous = OFF")
            kept.execute(_MAKE)
        except sqlite3.Error:
            yield Readings(journal, None)
        else:
            yield Readings(journal, kept)
