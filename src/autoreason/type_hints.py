"""Values compared with type hints: an argument of another type is refused with its name and what to give."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct

from autoreason.errors import InvalidInput

_EXPECTED = {
    str: "text",
    int: "a whole number",
    float: "a number",
    Decimal: "a Decimal",
    bool: "True or False",
    Callable: "a function",
    Mapping: "a dict",
    dict: "a dict",
    Sequence: "a list",
    tuple: "a list",
    Path: "a path",
}
_PLAIN = (str, int, float, NoneType)
_MAX_SHOWN = 40


class _Fault(NamedTuple):
    """A value that is not of its type, and the name it has for the caller."""

    name: str
    value: object
    hint: Any
    problem: str = ""
    """What is wrong although the type is right, and what to give."""


def check_call(
    function: Callable[..., Any], options: Mapping[str, object] | None = None, /, **arguments: Any
) -> None:
    """Refuse arguments that are not what the signature says; `options` are the keyword arguments.

    An option that is None is one that is not given.
    """
    hints = read_hints(function)
    for name, value in arguments.items():
        check_type(name, value, hints[name])
    if options:
        (unpacked,) = (get_args(each)[0] for each in hints.values() if get_origin(each) is Unpack)
        known = read_hints(unpacked)
        for name, value in options.items():
            if name not in known:
                from difflib import get_close_matches

                close = get_close_matches(name, known, 1)
                meant = f"did you mean `{close[0]}`?" if close else f"known are {', '.join(known)}"
                raise InvalidInput(f"unknown option `{name}`; {meant}")
            if value is not None:
                check_type(name, value, known[name])


def check_type(name: str, value: object, hint: Any) -> None:
    """Refuse a value that is not of a type, with what to give in its place."""
    if problem := type_problem(name, value, hint):
        raise InvalidInput(problem)


def type_problem(name: str, value: object, hint: Any) -> str:
    """What of a value is not of its type, and what to give in its place; empty where all is."""
    if fault := _find_fault(name, value, hint):
        problem = fault.problem or f"is {_show(fault.value)}; give {describe(fault.hint)}"
        return f"`{fault.name}` {problem}"
    return ""


def check_fields(value: Struct) -> None:
    """The same for the fields of a struct, which its class does not look at."""
    hints = read_hints(type(value))
    for name in value.__struct_fields__:
        check_type(name, getattr(value, name), hints[name])


@cache
def read_hints(of: Any) -> dict[str, Any]:
    """The types that a function or a class names, read once."""
    return get_type_hints(of)


def _find_fault(name: str, value: object, hint: Any) -> _Fault | None:
    alternatives = _alternatives(hint)
    possible = [each for each in alternatives if _is_kind(value, each)]
    if not possible:
        too_large = any(each in (float, Decimal) for each in alternatives) and _is_too_large(value)
        return _Fault(name, value, hint, "is too large; give less" if too_large else "")
    if problem := _character_problem(value, in_path=Path in alternatives):
        return _Fault(name, value, hint, problem)
    faults = [_find_inner_fault(name, value, each) for each in possible]
    return None if None in faults else faults[0]


def _character_problem(value: object, *, in_path: bool) -> str:
    """What no text that is recorded and no path of a file may contain."""
    if not isinstance(value, str | Path):
        return ""
    try:
        # A name of a file may have bytes that are no text.
        str(value).encode(errors="surrogateescape" if in_path else "strict")
    except UnicodeEncodeError:
        return "contains half of a character (a lone surrogate); give UTF-8 text"
    if in_path and "\0" in str(value):
        return "contains a null character; leave it out"
    return ""


@cache
def _alternatives(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return tuple(one for each in get_args(hint) for one in _alternatives(each))
    return (hint,)


def _is_kind(value: object, hint: Any) -> bool:
    """Whether a value is of a type, whatever is inside of it."""
    kind = get_origin(hint) or hint
    if kind is Any:
        return True
    if kind is Literal:
        return value in get_args(hint)
    if kind is Callable:
        return callable(value)
    if kind in (Sequence, tuple):
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if kind in (float, Decimal):
        return (isinstance(value, kind) or _is_kind(value, int)) and _is_finite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if getattr(kind, "_is_protocol", False):
        names = [name for name in vars(kind) if not name.startswith("_")]
        return not isinstance(value, type) and all(hasattr(value, name) for name in names)
    return isinstance(value, kind)


def _is_finite(value: Any) -> bool:
    """Whether a number is one, and not too large for a float."""
    try:
        return math.isfinite(value)
    except (ValueError, OverflowError):
        return False


def _is_too_large(value: object) -> bool:
    finite = value.is_finite() if isinstance(value, Decimal) else isinstance(value, int)
    return finite and not _is_finite(value)


def _find_inner_fault(name: str, value: Any, hint: Any) -> _Fault | None:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    items: list[tuple[str, object, Any]] = []
    if isinstance(value, Struct):
        hints = read_hints(type(value))
        fields = value.__struct_fields__
        items = [(f"{name}.{each}", getattr(value, each), hints[each]) for each in fields]
    elif kind in (Mapping, dict) and inner:
        items = [(f"a key of {name}", key, inner[0]) for key in value]
        items += [(f"{name}[{key!r}]", each, inner[1]) for key, each in value.items()]
    elif kind in (Sequence, tuple) and inner:
        items = [(f"{name}[{place}]", each, inner[0]) for place, each in enumerate(value)]
    faults = (_find_fault(*item) for item in items)
    return next(filter(None, faults), None)


def _show(value: object) -> str:
    if isinstance(value, _PLAIN) and len(repr(value)) <= _MAX_SHOWN:
        return repr(value)
    if isinstance(value, Decimal) and not value.is_finite():
        return str(value)
    return _with_article(type(value).__name__)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def describe(hint: Any) -> str:
    """A type in words: `text`, `a number or True`."""
    given = [each for each in _alternatives(hint) if each is not NoneType]
    words = [word for each in given for word in _describe_one(each)]
    first, last = words[:-1], words[-1]
    return f"{', '.join(first)} or {last}" if first else last


def _describe_one(hint: Any) -> list[str]:
    kind = get_origin(hint) or hint
    if kind is Literal:
        return [repr(each) for each in get_args(hint)]
    if getattr(kind, "_is_protocol", False):
        return [f"a {kind.__name__.lower()} object"]
    return [_EXPECTED.get(kind) or _with_article(kind.__name__)]
