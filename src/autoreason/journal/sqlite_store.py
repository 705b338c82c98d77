"""A journal in a file of SQLite, with the locks of its runs next to it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from autoreason.errors import JournalError
from autoreason.journal import file, location, locks
from autoreason.journal.error_messages import explain_sqlite_error
from autoreason.journal.reader import Reader
from autoreason.journal.shared_texts import JournalConnection
from autoreason.journal.store import Commit, Read, Sleep


class SqliteStore:
    """A file of SQLite."""

    Error = sqlite3.Error

    def __init__(self, place: Path) -> None:
        self.place = place
        self._locks = location.locks_folder(place)

    def exists(self) -> bool:
        """Whether there is a journal; any other file in its place is refused."""
        return file.exists(self.place)

    def create(self) -> None:
        """Create an empty journal where there is none."""
        file.create(self.place)

    def open_reader(self) -> Reader:
        """Read it, also where nothing can be written."""
        return Reader(self.place)

    def open_writer(self, *, alone: bool = False) -> JournalConnection:  # noqa: ARG002
        """A connection whose commits reach the disk; SQLite lets one process write at a time."""
        return file.open_for_writing(self.place)

    def size(self) -> int:
        """Bytes of the file and of what is not in it yet."""
        files = (self.place, file.log_of(self.place))
        return sum(each.stat().st_size for each in files if each.exists())

    def explain(self, error: Exception, run: str | None = None) -> JournalError:
        """An error of SQLite as one sentence about this journal."""
        return explain_sqlite_error(error, self.place, run)

    @asynccontextmanager
    async def lock_run(
        self,
        run: str,
        commit: Commit,  # noqa: ARG002
        sleep: Sleep,  # noqa: ARG002
        read: Read,  # noqa: ARG002
    ) -> AsyncIterator[None]:
        """Lock a run for writing."""
        with locks.lock_run(self._locks, run):
            yield

    def lock_owner(self, run: str, read: Read) -> locks.LockOwner | None:  # noqa: ARG002
        """The process that has a run locked; None where there is none."""
        return locks.lock_owner(self._locks, run)

    def locked_runs(self, read: Read) -> frozenset[str]:  # noqa: ARG002
        """Every run that is locked now."""
        return locks.locked_runs(self._locks)
