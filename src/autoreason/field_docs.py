"""What classes say of their fields: type, range and default, and the sentence in the annotation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta


class FieldDoc(NamedTuple):
    """What a class says of one of its fields."""

    type: Any
    """Without its annotations."""
    sentence: str
    """In Markdown; empty where there is none."""
    default: Any
    """None where there is none."""
    span: tuple[Any, Any] | None
    """The least and the most that it may be."""

    @property
    def alternatives(self) -> tuple[Any, ...]:
        """The types that it may have, None aside."""
        return tuple(each for each in _alternatives(self.type) if each is not NoneType)

    @property
    def metavar(self) -> str:
        """A value in help: the choices, `N` for a whole number, `true|false`; else empty."""
        kind = self.alternatives[0]
        if get_origin(kind) is Literal:
            return f"[{'|'.join(get_args(kind))}]"
        return {bool: "true|false", int: "N", float: "X"}.get(kind, "")


@cache
def read_docs(owner: type) -> dict[str, FieldDoc]:
    """The fields of a struct or of a typed dictionary."""
    defaults = {}
    if issubclass(owner, msgspec.Struct):
        for field in msgspec.structs.fields(owner):
            # An empty list or dictionary is made anew for each value.
            made = field.default_factory() if callable(field.default_factory) else None
            defaults[field.name] = made if field.default is msgspec.NODEFAULT else field.default
    docs = {}
    for name, hint in get_type_hints(owner, include_extras=True).items():
        notes = list(_notes(hint))
        docs[name] = FieldDoc(
            type=get_type_hints(owner)[name],
            sentence=next((each for each in notes if isinstance(each, str)), ""),
            default=defaults.get(name),
            span=next(((each.ge, each.le) for each in notes if isinstance(each, Meta)), None),
        )
    return docs


def _notes(hint: Any) -> Iterator[Any]:
    """What annotations say, inside of a union too: `Annotated[Temperature | None, "How …"]`."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        yield from notes
        yield from _notes(inner)
    elif get_origin(hint) in (Union, UnionType):
        for each in get_args(hint):
            yield from _notes(each)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, UnionType):
        return tuple(one for each in get_args(hint) for one in _alternatives(each))
    return (hint,)
