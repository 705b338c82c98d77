"""Code that users bring: what installed packages announce, and `file.py:Name`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from autoreason.errors import InvalidInput
from autoreason.type_hints import type_problem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

Kind = Literal[
    "strategies", "models", "voting_rules", "judge_styles", "stop_rules", "contract_checks"
]
"""What can be extended; a package announces its own under the entry point `autoreason.KIND`."""
_NOUNS: Mapping[Kind, str] = {
    "strategies": "strategy",
    "models": "model",
    "voting_rules": "voting rule",
    "judge_styles": "judge style",
    "stop_rules": "stop rule",
    "contract_checks": "contract check",
}
_MODULE_PREFIX = "autoreason_plugin_"


def load(kind: Kind, name: str, built_in: Mapping[str, str] | None = None) -> object:
    """What a name stands for: built in (`module:name`), in a file, or of an installed package.

    Raises:
        InvalidInput: there is none, or it cannot be loaded.
    """
    if place := (built_in or {}).get(name):
        module, _, attribute = place.partition(":")
        return getattr(importlib.import_module(module), attribute)
    if is_in_file(name):
        return _from_file(kind, name)
    for point in _entry_points(kind):
        if point.name == name:
            return _from_package(kind, point)
    known = [*(built_in or {}), *installed(kind)]
    there_are = f"there are {', '.join(known)}, or name" if known else "name"
    raise InvalidInput(f"no {_NOUNS[kind]} {name!r}; {there_are} your own as file.py:Name")


def load_function(
    kind: Kind, name: str, takes: str, returns: object, built_in: Iterable[str] = ()
) -> Callable[..., Any]:
    """The same for a function: what it raises, or returns of another type, is one sentence for its author.

    `takes` are its arguments in words, `returns` is the type of its result; a generator gives a list.
    """
    found = load(kind, name, dict.fromkeys(built_in, ""))
    what = f"the {_NOUNS[kind]} {name}"
    if not callable(found):
        raise InvalidInput(f"{what} is no function; make it one of {takes}")
    function: Callable[..., Any] = found
    file = absolute(name).rpartition(":")[0] if is_in_file(name) else None

    @wraps(function)
    def checked(*arguments: object) -> Any:
        try:
            result = function(*arguments)
            if isinstance(result, Iterator):
                result = list(result)
        except (Exception, SystemExit) as error:
            raise InvalidInput(f"{what} raised {describe(error, file)}; correct it") from error
        if problem := type_problem("result", result, returns):
            raise InvalidInput(f"{what} has no valid result: {problem}")
        return result

    return checked


def installed(kind: Kind) -> list[str]:
    """The names that installed packages announce."""
    return sorted(point.name for point in _entry_points(kind))


def is_in_file(name: str) -> bool:
    """Whether a name is `file.py:Name`."""
    return ":" in name


def absolute(name: str) -> str:
    """A name that means the same in another folder."""
    file, _, attribute = name.rpartition(":")
    return f"{Path(file).expanduser().resolve()}:{attribute}" if is_in_file(name) else name


def short(name: str) -> str:
    """A name as people read it: without the folder."""
    return Path(name).name


def describe(error: BaseException, file: str | None = None) -> str:
    """An exception and the last line of `file` it came through, for the author of that line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SyntaxError) and error.filename:
        return f"SyntaxError ({error.msg}) at {Path(error.filename).name}:{error.lineno}"
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    inside = [place for place in places if place[0] == file] or places
    at = f" at {Path(inside[-1][0]).name}:{inside[-1][1]}" if inside else ""
    return f"{type(error).__name__} ({first_line(error)}){at}"


def first_line(error: BaseException) -> str:
    """What an exception says, whatever a user's class makes of that, as text that can be recorded."""
    try:
        lines = str(error).splitlines()
    except Exception:
        lines = ["its message cannot be shown"]
    return lines[0].encode(errors="backslashreplace").decode() if lines else "no message"


def _entry_points(kind: Kind) -> EntryPoints:
    # Looking through every installed package takes its time, and few runs name one of them.
    from importlib.metadata import entry_points

    return entry_points(group=f"autoreason.{kind}")


def _from_file(kind: Kind, name: str) -> object:
    file, _, attribute = name.rpartition(":")
    path = Path(file).expanduser()
    if not path.is_file():
        raise InvalidInput(
            f"no file {file} to take the {_NOUNS[kind]} {attribute} from; check the name"
        )
    path = path.resolve()
    module = _module(path, path.stat().st_mtime_ns)
    if not hasattr(module, attribute):
        raise InvalidInput(f"{file} has no {attribute}; check the name behind the colon")
    found: object = getattr(module, attribute)
    return found


@cache
def _module(path: Path, changed: int) -> ModuleType:  # noqa: ARG001
    """A file, as it was last changed, as a module."""
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
            f"{path} cannot be loaded: {describe(error, str(path))}; correct it"
        ) from error
    return module


def _from_package(kind: Kind, point: EntryPoint) -> object:
    try:
        found: object = point.load()
    except (Exception, SystemExit) as error:
        raise InvalidInput(
            f"the {_NOUNS[kind]} {point.name} of an installed package cannot be loaded: "
            f"{describe(error)}; correct or remove the package"
        ) from error
    return found
