"""A world: how revisions move the quality of a text, and how judges see it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from autoreason.errors import InvalidInput, plainly
from autoreason.task import read_text

Share = Annotated[float, Meta(ge=0, le=1)]
Spread = Annotated[float, Meta(ge=0)]
_FOLDER = Path(__file__).parent / "worlds"


class WorldPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers of a world that belong together."""

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            if not isfinite(getattr(self, field)):
                raise InvalidInput(f"`{field}` is not a finite number; give one")


class Revision(WorldPart, frozen=True, kw_only=True):
    """What becomes of a text when it is revised against a critique. The first draft has quality 0."""

    gain: float = 0.0
    """Mean change of quality."""
    pull: Share = 0.0
    """How much of the way back to the author's own level a revision goes."""
    level: float = 0.0
    """The quality the author writes by itself."""
    spread: Spread = 1.0
    """Standard deviation of the change."""
    growth: float = 0.0
    """Mean change of length."""
    growth_spread: Spread = 0.0


class Drafts(WorldPart, frozen=True, kw_only=True):
    """Drafts in addition to the first, which has quality 0."""

    spread: Spread = 1.0
    """Standard deviation of their quality around the first draft's."""


class Critics(WorldPart, frozen=True, kw_only=True):
    """How often critics who must quote find nothing to fix; in prose they always find something."""

    silent: Share = 0.0
    """In a text of quality `at` or better; half way there from the first draft, half as often."""
    at: Annotated[float, Meta(gt=0)] = 1.0


class Synthesis(WorldPart, frozen=True, kw_only=True):
    """What a synthesis adds to the middle between its two texts."""

    gain: float = 0.0
    spread: Spread = 0.5


class Judges(WorldPart, frozen=True, kw_only=True):
    """What a judge sees instead of the true quality, all in the units of quality."""

    noise: Spread = 1.0
    """Standard deviation of a judge's own error."""
    shared: Spread = 0.0
    """Standard deviation of the error that all judges make alike about a text, as long as it is incumbent."""
    first: float = 0.0
    """What the first position is worth."""
    last: float = 0.0
    """What the last position is worth."""
    newer: float = 0.0
    """What it is worth to have been written in this very pass."""
    lasting: Share = 0.0
    """The share of that which every further pass leaves."""
    longer: float = 0.0
    """What a unit of length is worth."""


class World(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a simulated run needs to know of its surroundings."""

    about: str
    kind: Literal["help", "drift", "harm"]
    """What revisions do on the whole: they improve, they wander, or they do harm."""
    drafts: Drafts = Drafts()
    revision: Revision = Revision()
    critics: Critics = Critics()
    synthesis: Synthesis = Synthesis()
    judges: Judges = Judges()
    name: str = ""


def built_in_worlds() -> tuple[str, ...]:
    """The names of the worlds that come with the library, those where revisions help first."""
    return tuple(path.stem.partition("-")[2] for path in sorted(_FOLDER.glob("*.yaml")))


def load_world(source: str) -> World:
    """A built-in world by name, or one from a YAML file."""
    names = built_in_worlds()
    if source in names:
        (path,) = _FOLDER.glob(f"[0-9][0-9]-{source}.yaml")
        return read_world(path.read_text("utf-8"), source, source)
    if not Path(source).suffix and not Path(source).is_file():
        raise InvalidInput(f"no world `{source}`; give a file or one of {', '.join(names)}")
    return read_world(read_text(Path(source), "world"), Path(source).stem, source)


def load_worlds(names: Sequence[str] = ()) -> list[World]:
    """These worlds, each once; without a name every built-in one."""
    return [load_world(name) for name in dict.fromkeys(names or built_in_worlds())]


def read_world(text: str, name: str, source: str) -> World:
    """A world from YAML; what is wrong with it is one sentence about `source`."""
    from autoreason.bounded_yaml import load_yaml

    try:
        fields = load_yaml(text)
    except ValueError as error:
        raise InvalidInput(f"{source} is not YAML ({error}); fix it") from None
    if not isinstance(fields, dict):
        raise InvalidInput(f"{source} has no fields; give at least `about` and `kind`")
    try:
        return msgspec.convert({"name": name, **fields}, World)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{source}: {plainly(error)}; fix it") from None
