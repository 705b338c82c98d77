"""Worlds and protocols for tests."""

from __future__ import annotations

from typing import Any

from autoreason.settings import Settings
from autoreason.studies.simulation import named_protocol
from autoreason.studies.world import Judges, World, load_world


def world(name: str = "harm-new", **judges: Any) -> World:
    """A built-in world, with other judges where any are given."""
    from msgspec.structs import replace

    found = load_world(name)
    return replace(found, judges=replace(found.judges, **judges))


SHARP = Judges(noise=0.0)
"""Judges who see nothing but the truth."""


def settings(protocol: Any = "robust", **changes: Any) -> Settings:
    return named_protocol(protocol, changes).settings
