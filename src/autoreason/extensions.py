"""Kinds of events and of work that other rooms define, by the names that records have for them."""

from __future__ import annotations

from importlib import import_module

_HOMES: dict[str, str] = {}


def register(home: str, *names: str) -> None:
    """Say which module defines these classes; it is imported when a record has one of them."""
    _HOMES.update(dict.fromkeys(names, home))


def find_class(name: str) -> type | None:
    """The class of that name; None where no module defines one."""
    home = _HOMES.get(name)
    kind: type | None = getattr(import_module(home), name) if home else None
    return kind
