"""Strategies by name: our own, those of installed packages, and one's own class in one's own file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING

from autoreason.errors import InvalidInput
from autoreason.tournament.strategy import COMMON_PROMPTS, Strategy

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

ENTRY_POINTS = "autoreason.strategies"
"""The group under which a package announces strategies of its own."""
RIVALS = {
    "autoreason": "autoreason.tournament.loop:Tournament",
    "single": "autoreason.strategies.sampling:Single",
    "conservative": "autoreason.strategies.iteration:Conservative",
    "improve": "autoreason.strategies.iteration:Improve",
    "harsh": "autoreason.strategies.iteration:Harsh",
    "critique_revise": "autoreason.strategies.iteration:CritiqueRevise",
    "best_of_n": "autoreason.strategies.sampling:BestOfN",
    "self_refine": "autoreason.strategies.self_refine:SelfRefine",
}
"""Ways from a task to a text, each imported when it is asked for."""
_PLUGGED_IN = "autoreason_strategy_"


def find_strategy(
    name: str, others: dict[str, str] | None = None, parent: str = "Strategy"
) -> type[Strategy]:
    """The class behind a name; one clear sentence where there is none, or where it has not this parent."""
    places = RIVALS | (others or {})
    if name in places:
        module, _, kind = places[name].partition(":")
        return _strategy(getattr(importlib.import_module(module), kind), name, parent)
    if ":" in name:
        return _strategy(_from_file(name), name, parent)
    for point in _entry_points():
        if point.name == name:
            return _strategy(_from_package(point), name, parent)
    raise InvalidInput(
        f"no strategy {name!r}; there are {', '.join([*RIVALS, *announced()])}, "
        "or name your own as file.py:Class"
    )


def announced() -> list[str]:
    """Strategies that installed packages bring."""
    return sorted(point.name for point in _entry_points())


def _entry_points() -> EntryPoints:
    # Looking through every installed package takes its time, and few runs name one of theirs.
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


def is_own(name: str) -> bool:
    """Whether a name is of a class in somebody's own file."""
    return ":" in name and name not in RIVALS


def absolute(name: str) -> str:
    """A name that means the same in another folder."""
    file, _, kind = name.rpartition(":")
    if not is_own(name):
        return name
    return f"{Path(file).expanduser().resolve()}:{kind}"


def called(name: str) -> str:
    """A strategy as people read it: one's own by file and class, without the folder."""
    return Path(name).name


def prompts_of(kind: type[Strategy]) -> tuple[str, ...] | None:
    """Every prompt a strategy uses; None is all there are."""
    return None if kind.prompts is None else (*COMMON_PROMPTS, *kind.prompts)


def _from_file(name: str) -> object:
    file, _, kind = name.rpartition(":")
    path = Path(file).expanduser()
    if not path.is_file():
        raise InvalidInput(f"no file {file} to take the strategy {kind} from; check the name")
    path = path.resolve()
    module = _load(path, path.stat().st_mtime_ns)
    if not hasattr(module, kind):
        raise InvalidInput(f"{file} has no class {kind}; check the name behind the colon")
    found: object = getattr(module, kind)
    return found


@cache
def _load(path: Path, changed: int) -> ModuleType:  # noqa: ARG001
    """A file, as it was last changed, as a module; whatever it raises is told with its place."""
    # Files of the same name in two folders are two modules.
    name = f"{_PLUGGED_IN}{path.stem}_{hash(path):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{path} is no Python file; name one that ends in .py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and the like look their module up by its name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InvalidInput(
            f"{path} cannot be loaded: {described(error, str(path))}; correct it"
        ) from error
    return module


def _from_package(point: EntryPoint) -> object:
    try:
        kind: object = point.load()
    except (Exception, SystemExit) as error:
        raise InvalidInput(
            f"the strategy {point.name} of an installed package cannot be loaded: {described(error)}; "
            "correct or remove the package"
        ) from error
    return kind


def _strategy(kind: object, name: str, parent: str) -> type[Strategy]:
    if not (isinstance(kind, type) and issubclass(kind, Strategy)):
        raise InvalidInput(f"{name} is no strategy; make it a subclass of autoreason.{parent}")
    if kind.run is Strategy.run:
        raise InvalidInput(f"{name} says nothing of what it does; give it a `run` of its own")
    return kind


def described(error: BaseException, file: str | None = None) -> str:
    """An exception and the line of `file` it came through last, for the author of that line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SyntaxError) and error.filename:
        return f"SyntaxError ({error.msg}) at {Path(error.filename).name}:{error.lineno}"
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    theirs = [place for place in places if place[0] == file] or places
    at = f" at {Path(theirs[-1][0]).name}:{theirs[-1][1]}" if theirs else ""
    said = str(error).splitlines()[0] if str(error) else "no message"
    return f"{type(error).__name__} ({said}){at}"
