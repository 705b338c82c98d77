"""YAML whose every key and item has a place, so that what is wrong with it can be pointed at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
import yaml

from autoreason.errors import InvalidInput, plainly

Path = tuple[str | int, ...]
"""Keys and numbers of items, from the outside in."""
Kind = TypeVar("Kind")
_FIRST = re.compile(r"\$\.(\w+)")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_KEY = re.compile(r"`(\w+)`")


class MarkedYaml:
    """A document, read: its value, and where everything in it is."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._places: dict[Path, yaml.Mark] = {}
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            self.value = self._read(loader, node, ()) if node else None
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
        if isinstance(node, yaml.SequenceNode):
            return [self._read(loader, each, (*path, at)) for at, each in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            return loader.construct_object(node)
        found: dict[str, Any] = {}
        for key_node, each in node.value:
            key = str(loader.construct_object(key_node))
            below = (*path, key)
            self._places[below] = key_node.start_mark
            if key in found:
                raise self.fault(below, f"`{key}` is given twice; remove one of them")
            found[key] = self._read(loader, each, below)
        return found

    def fault(self, path: Path, sentence: str) -> InvalidInput:
        """An error that begins with the place of a key, or of the nearest thing around it that is there."""
        while path and path not in self._places:
            path = path[:-1]
        place = _place(self._places[path]) if path in self._places else ""
        return InvalidInput(f"{self.name}{place}: {sentence}")

    def blame(self, path: Path, error: InvalidInput) -> InvalidInput:
        """An error about something below a path, at the first of its keys that the sentence names."""
        named = [(*path, key) for key in _KEY.findall(str(error)) if (*path, key) in self._places]
        return self.fault(named[0] if named else path, str(error))

    def mapping(self, path: Path, value: Any, known: Iterable[str] = ()) -> dict[str, Any]:
        """Keys and values; one that is not known is refused."""
        if not isinstance(value, dict):
            raise self.fault(path, f"{_title(path)} must be `key: value` lines")
        names = list(known)
        for key in value:
            if names and key not in names:
                raise self.fault((*path, key), f"unknown key `{key}`; known are {', '.join(names)}")
        return value

    def convert(self, path: Path, value: Any, kind: type[Kind]) -> Kind:
        """Keys and values as a struct has them."""
        fields = self.mapping(path, value, kind.__struct_fields__)  # type: ignore[attr-defined]
        try:
            return msgspec.convert(fields, kind, strict=False)
        except msgspec.ValidationError as error:
            if isinstance(error.__cause__, InvalidInput):
                raise self.blame(path, error.__cause__) from None
            if missing := _MISSING.match(str(error)):
                raise self.fault(path, f"there is no `{missing[1]}`; add it") from None
            first = _FIRST.search(str(error))
            below = (*path, first[1]) if first else path
            raise self.fault(below, f"{plainly(error)}; change it") from None


def require(values: Mapping[str, Any], key: str, document: MarkedYaml, path: Path = ()) -> Any:
    """The value of a key that must be there."""
    if values.get(key) in (None, "", [], {}):
        raise document.fault(path, f"there is no `{key}`; add it")
    return values[key]


def _title(path: Path) -> str:
    return f"`{path[-1]}`" if path else "the file"


def _place(mark: yaml.Mark) -> str:
    return f", line {mark.line + 1}, column {mark.column + 1}"
