"""Where a journal and its files are."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from autoreason.errors import InvalidInput
from autoreason.paths import data_folder


def locate(url: str | None) -> Path:
    """The file a URL or path names; without one, AUTOREASON_JOURNAL or the default."""
    given = url or os.environ.get("AUTOREASON_JOURNAL")
    if not given:
        return data_folder() / "journal.db"
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://|(sqlite):", given)
    if not scheme:
        path = Path(given)
    elif given.startswith("sqlite:///"):
        path = Path("/" + unquote(given.removeprefix("sqlite:///")).lstrip("/"))
    else:
        raise InvalidInput(
            f"cannot keep a journal at {given}; only sqlite is known, as"
            " sqlite:///folder/journal.db or a plain path"
        )
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise InvalidInput(f"{given} names an unknown home folder; write the whole path") from None


def locks_folder(path: Path) -> Path:
    """The folder with the locks of a journal's runs."""
    return path.with_name(path.name + ".locks")


def readings_file(path: Path) -> Path:
    """The file in which an audit caches what it has read of a journal's runs."""
    return path.with_name(path.name + ".readings")
