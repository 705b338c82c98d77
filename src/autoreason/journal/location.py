"""Where a journal is, and the database there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from autoreason.errors import InvalidInput
from autoreason.files import Place, ServerUrl, data_folder
from autoreason.journal.store import Store

_POSTGRES = ("postgresql", "postgres")


def locate(url: str | Path | ServerUrl | None) -> Place:
    """What a URL or path names; without one, AUTOREASON_JOURNAL or the default."""
    if isinstance(url, ServerUrl):
        return url
    given = str(url or os.environ.get("AUTOREASON_JOURNAL") or "")
    if not given:
        return data_folder() / "journal.db"
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://|(sqlite):", given)
    if not scheme:
        path = Path(given)
    elif scheme[1] and scheme[1].lower() in _POSTGRES:
        return ServerUrl(given)
    elif given.startswith("sqlite:///"):
        path = Path("/" + unquote(given.removeprefix("sqlite:///")).lstrip("/"))
    else:
        raise InvalidInput(
            f"cannot keep a journal at {given}; give a path, sqlite:///folder/journal.db or"
            " postgresql://user@host/database"
        )
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise InvalidInput(f"{given} names an unknown home folder; write the whole path") from None


def open_store(place: Place) -> Store:
    """The database at a place; nothing is opened yet."""
    if isinstance(place, Path):
        from autoreason.journal.sqlite import SqliteStore

        return SqliteStore(place)
    from autoreason.journal.postgres import PostgresStore

    return PostgresStore(place)
