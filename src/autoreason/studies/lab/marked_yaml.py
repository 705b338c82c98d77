"""YAML whose every key and item has a place, so that what is wrong with it can be pointed at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
import yaml

from autoreason.bounded_yaml import BoundedLoader
from autoreason.errors import InvalidInput, plainly

Path = tuple[str | int, ...]
"""Keys and numbers of items, from the outside in."""
Kind = TypeVar("Kind")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]+)`")
_NO_SUCH = re.compile(r"Invalid enum value '(.*)'")
_KEY = re.compile(r"`(\w+)`")
_FIELDS = "__struct_fields__"
_MERGE = "tag:yaml.org,2002:merge"


class MarkedYaml:
    """A document, read: its value, and where everything in it is."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._places: dict[Path, yaml.Mark] = {}
        self._open: list[yaml.Node] = []
        """Collections that are being read, from the outside in."""
        loader = BoundedLoader(text)
        try:
            node = loader.get_single_node()
            self.value = self._read(loader, node, ()) if node else {}
        except yaml.MarkedYAMLError as error:
            where = _place(error.problem_mark) if error.problem_mark else ""
            what = error.problem or "it cannot be read"
            raise InvalidInput(
                f"{name}{where}: this is not valid YAML: {what}; correct it"
            ) from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InvalidInput(f"{name} is not valid YAML ({error}); correct it") from None
        finally:
            loader.dispose()

    def _read(self, loader: yaml.SafeLoader, node: yaml.Node, path: Path) -> Any:
        self._places.setdefault(path, node.start_mark)
        if not isinstance(node, yaml.CollectionNode):
            return loader.construct_object(node)
        if node in self._open:
            raise self.fault(path, "this contains itself; write out what is meant")
        self._open.append(node)
        try:
            return self._read_collection(loader, node, path)
        finally:
            self._open.pop()

    def _read_collection(
        self, loader: yaml.SafeLoader, node: yaml.CollectionNode, path: Path
    ) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self._read(loader, each, (*path, at)) for at, each in enumerate(node.value)]
        found: dict[str, Any] = {}
        for key_node, each in node.value:
            merges = key_node.tag == _MERGE
            key = "<<" if merges else str(loader.construct_object(key_node))
            below = (*path, key)
            self._places[below] = key_node.start_mark
            if merges:
                raise self.fault(below, "keys cannot be merged with `<<`; write them out")
            found[key] = self._read(loader, each, below)
        return found

    def fault(self, path: Path, sentence: str) -> InvalidInput:
        """An error that begins with the place of a key, or of the nearest thing around it that is there."""
        while path and path not in self._places:
            path = path[:-1]
        place = _place(self._places[path]) if path in self._places else ""
        error = InvalidInput(f"{self.name}{place}: {sentence}")
        error.file_keys = (".".join(map(str, path)), *map(str, path[-1:]))
        return error

    def blame(self, path: Path, error: InvalidInput) -> InvalidInput:
        """An error about something below a path, at the first of its keys that the sentence names."""
        named = [(*path, key) for key in _KEY.findall(str(error)) if (*path, key) in self._places]
        return self.fault(named[0] if named else path, str(error))

    def convert(
        self, path: Path, value: Any, kind: type[Kind], choices: Sequence[str] = ()
    ) -> Kind:
        """A value as a type has it; an unknown key, a missing one and a wrong value have their places.

        `choices` are what a key takes that has only some names to choose from.
        """
        try:
            return msgspec.convert(value, kind, strict=False)
        except msgspec.ValidationError as error:
            if isinstance(error.__cause__, InvalidInput):
                raise self.blame(path, error.__cause__) from None
            what, _, where = str(error).partition(" - at `$")
            steps = [key or int(at) for key, at in _STEP.findall(where)]
            below = (*path, *steps)
            if missing := _MISSING.match(what):
                sentence = f"there is no `{missing[1]}`; add it"
            elif unknown := _UNKNOWN.match(what):
                below = (*below, unknown[1])
                known = ", ".join(_keys_at(kind, steps))
                sentence = f"unknown key `{unknown[1]}`; known are {known}"
            elif value_given := _NO_SUCH.match(what):
                noun = next(step for step in reversed(steps) if isinstance(step, str))
                sentence = (
                    f"there is no {noun.removesuffix('s')} {value_given[1]}; "
                    f"there are {', '.join(choices)}"
                )
            else:
                sentence = f"{plainly(error)}; change it"
            raise self.fault(below, sentence) from None


def _keys_at(kind: Any, steps: Sequence[str | int]) -> tuple[str, ...]:
    """The keys that a type takes at a place below it."""
    for key in steps:
        if isinstance(key, str):
            hint = get_type_hints(kind)[key]
            kind = next(each for each in (hint, *get_args(hint)) if hasattr(each, _FIELDS))
    keys: tuple[str, ...] = getattr(kind, _FIELDS)
    return keys


def _place(mark: yaml.Mark) -> str:
    return f", line {mark.line + 1}, column {mark.column + 1}"
