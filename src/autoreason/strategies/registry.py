"""Strategies by name: built in, of installed packages, or a class in a user's file."""

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
"""The entry point group in which a package registers strategies."""
BUILT_IN = {
    "autoreason": "autoreason.tournament.loop:Tournament",
    "single": "autoreason.strategies.sampling:Single",
    "conservative": "autoreason.strategies.iteration:Conservative",
    "improve": "autoreason.strategies.iteration:Improve",
    "harsh": "autoreason.strategies.iteration:Harsh",
    "critique_revise": "autoreason.strategies.iteration:CritiqueRevise",
    "best_of_n": "autoreason.strategies.sampling:BestOfN",
    "self_refine": "autoreason.strategies.self_refine:SelfRefine",
}
"""Built-in strategies by name, each imported when it is used."""
_MODULE_PREFIX = "autoreason_strategy_"


def find_strategy(
    name: str, others: dict[str, str] | None = None, parent: str = "Strategy"
) -> type[Strategy]:
    """The class behind a name; one clear sentence where there is none, or where it is no strategy."""
    places = BUILT_IN | (others or {})
    if name in places:
        module, _, kind = places[name].partition(":")
        return _check_class(getattr(importlib.import_module(module), kind), name, parent)
    if ":" in name:
        return _check_class(_from_file(name), name, parent)
    for point in _entry_points():
        if point.name == name:
            return _check_class(_from_package(point), name, parent)
    raise InvalidInput(
        f"no strategy {name!r}; there are {', '.join([*BUILT_IN, *installed_strategies()])}, "
        "or name your own as file.py:Class"
    )


def installed_strategies() -> list[str]:
    """Strategies of installed packages."""
    return sorted(point.name for point in _entry_points())


def _entry_points() -> EntryPoints:
    # Searching all installed packages is slow, and few runs use a strategy of one.
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


def is_user_file(name: str) -> bool:
    """Whether a name is of a class in a user's file."""
    return ":" in name and name not in BUILT_IN


def absolute_name(name: str) -> str:
    """The name with an absolute path, so that it means the same in another folder."""
    file, _, kind = name.rpartition(":")
    if not is_user_file(name):
        return name
    return f"{Path(file).expanduser().resolve()}:{kind}"


def display_name(name: str) -> str:
    """A strategy's name as it is shown: a user's class by file and class, without the folder."""
    return Path(name).name


def strategy_prompts(kind: type[Strategy]) -> tuple[str, ...] | None:
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
    """A file as a module, loaded again when it has changed; an error names its line."""
    # Files of the same name in two folders are two modules.
    name = f"{_MODULE_PREFIX}{path.stem}_{hash(path):x}"
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
            f"{path} cannot be loaded: {describe_error(error, str(path))}; correct it"
        ) from error
    return module


def _from_package(point: EntryPoint) -> object:
    try:
        kind: object = point.load()
    except (Exception, SystemExit) as error:
        raise InvalidInput(
            f"the strategy {point.name} of an installed package cannot be loaded: {describe_error(error)}; "
            "correct or remove the package"
        ) from error
    return kind


def _check_class(kind: object, name: str, parent: str) -> type[Strategy]:
    if not (isinstance(kind, type) and issubclass(kind, Strategy)):
        raise InvalidInput(f"{name} is no strategy; make it a subclass of autoreason.{parent}")
    if kind.run is Strategy.run:
        raise InvalidInput(f"{name} does not define `run`; add it")
    return kind


def describe_error(error: BaseException, file: str | None = None) -> str:
    """An exception and the last line of `file` it came through."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SyntaxError) and error.filename:
        return f"SyntaxError ({error.msg}) at {Path(error.filename).name}:{error.lineno}"
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    own_places = [place for place in places if place[0] == file] or places
    at = f" at {Path(own_places[-1][0]).name}:{own_places[-1][1]}" if own_places else ""
    message = str(error).splitlines()[0] if str(error) else "no message"
    return f"{type(error).__name__} ({message}){at}"
