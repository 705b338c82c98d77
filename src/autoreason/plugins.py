"""Code that users bring: `file.py:Name`, or `module:Name` of what is installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any, Literal

from autoreason.errors import InvalidInput
from autoreason.fields import describe as describe_type
from autoreason.fields import is_of

PluginKind = Literal["strategy", "model", "contract check"]
"""What can be extended."""


def load(kind: PluginKind, name: str, built_in: Mapping[str, str] | None = None) -> object:
    """What a name stands for: built in (`module:name`), or code of the user's own.

    Raises:
        InvalidInput: there is none, or it cannot be loaded.
    """
    if place := (built_in or {}).get(name):
        module, _, attribute = place.partition(":")
        return getattr(importlib.import_module(module), attribute)
    if not is_own(name):
        there_are = f"there are {', '.join(built_in)}, or name" if built_in else "name"
        raise InvalidInput(f"no {kind} {name!r}; {there_are} your own as file.py:Name")
    place, _, attribute = name.rpartition(":")
    path = Path(place).expanduser().resolve() if is_in_file(name) else None
    try:
        found = _module(path, path.stat().st_mtime_ns) if path else importlib.import_module(place)
    except (Exception, SystemExit) as error:
        why = describe(error, str(path) if path else None)
        raise InvalidInput(f"the {kind} {name} cannot be loaded: {why}; correct it") from error
    if not hasattr(found, attribute):
        raise InvalidInput(f"{place} has no {attribute}; check the name behind the colon")
    value: object = getattr(found, attribute)
    return value


def load_function(kind: PluginKind, name: str, takes: str, returns: object) -> Callable[..., Any]:
    """The same for a function: what it raises, or returns of another type, is one sentence for its author.

    `takes` are its arguments in words, `returns` is the type of its result; a generator gives a list.
    """
    found = load(kind, name)
    what = f"the {kind} {name}"
    if not callable(found):
        raise InvalidInput(f"{what} is not a function; make it one of {takes}")
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
        if not is_of(result, returns):
            raise InvalidInput(f"{what} has no valid result; return {describe_type(returns)}")
        return result

    return checked


def is_own(name: str) -> bool:
    """Whether a name is code of the user's own: `file.py:Name` or `module:Name`."""
    return ":" in name


def is_in_file(name: str) -> bool:
    """Whether such a name is of a file, not of a module."""
    place = name.rpartition(":")[0]
    is_module = all(part.isidentifier() for part in place.split("."))
    return is_own(name) and (place.endswith(".py") or not is_module)


def absolute(name: str) -> str:
    """A name that means the same in another folder."""
    file, _, attribute = name.rpartition(":")
    return f"{Path(file).expanduser().resolve()}:{attribute}" if is_in_file(name) else name


def short(name: str) -> str:
    return Path(name).name


def describe(error: BaseException, file: str | None = None) -> str:
    """An exception and the last line of `file` it came through, for the author of that line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SyntaxError) and error.filename:
        return f"SyntaxError ({error.msg}) at {Path(error.filename).name}:{error.lineno}"
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    inside = [place for place in places if file in (None, place[0])]
    at = f" at {Path(inside[-1][0]).name}:{inside[-1][1]}" if inside else ""
    return f"{type(error).__name__} ({first_line(error)}){at}"


def first_line(error: BaseException) -> str:
    """What an exception says, whatever a user's class makes of that, as text that can be recorded."""
    try:
        lines = str(error).splitlines()
    except Exception:
        lines = ["its message cannot be shown"]
    return lines[0].encode(errors="backslashreplace").decode() if lines else "no message"


@cache
def _module(path: Path, changed: int) -> ModuleType:  # noqa: ARG001
    # Files of the same name in two folders are two modules.
    name = f"autoreason_plugin_{path.stem}_{hash(path):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and the like look their module up by its name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
