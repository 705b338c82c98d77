"""Folders on the user's machine, and servers elsewhere."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

_PASSWORD = re.compile(r"(?<=://)([^/?#@:]*):[^?#]*(?=@)")
_PASSWORD_OPTION = re.compile(r"([?&])(?:ssl)?password=[^&]*(&|$)")


@dataclass(frozen=True)
class ServerUrl:
    """A database of PostgreSQL; shown without its password."""

    url: str

    def __str__(self) -> str:
        return hide_password(self.url)

    def __repr__(self) -> str:
        return f"ServerUrl({str(self)!r})"


Place = Path | ServerUrl
"""The file of a journal, or the server it is on."""


def hide_password(word: str) -> str:
    """A word as it may be shown: where it is a URL, without its password."""
    if "://" not in word:
        return word
    return _PASSWORD_OPTION.sub(r"\1", _PASSWORD.sub(r"\1", word)).rstrip("?&")


def data_folder() -> Path:
    """What must be kept: the journal."""
    return _folder("XDG_DATA_HOME", ".local/share", "Library/Application Support")


def certificates_folder() -> Path:
    """The certificates of judges."""
    return data_folder() / "certificates"


def cache_folder() -> Path:
    """What can be fetched again: model weights."""
    return _folder("XDG_CACHE_HOME", ".cache", "Library/Caches")


def config_folder() -> Path:
    """The user's keys and defaults."""
    return _folder("XDG_CONFIG_HOME", ".config", "Library/Preferences")


def config_file() -> Path:
    """The user's defaults."""
    return config_folder() / "config.toml"


def _folder(variable: str, usual: str, on_a_mac: str) -> Path:
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen) / "autoreason"
    return Path.home() / (on_a_mac if sys.platform == "darwin" else usual) / "autoreason"
