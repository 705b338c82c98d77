"""Finds the database that a place names."""

from __future__ import annotations

from pathlib import Path

from autoreason.journal.store import Store
from autoreason.paths import Place


def open_store(place: Place) -> Store:
    """The database at a place; nothing is opened yet."""
    if isinstance(place, Path):
        from autoreason.journal.sqlite_store import SqliteStore

        return SqliteStore(place)
    from autoreason.journal.postgres import PostgresStore

    return PostgresStore(place)
