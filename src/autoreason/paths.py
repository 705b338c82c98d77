"""Folders on the user's machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path


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
