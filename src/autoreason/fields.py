"""What classes and signatures say of their values: type, range, default and sentence, read and enforced."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta, Struct

from autoreason.errors import InvalidInput

AnyStruct = TypeVar("AnyStruct", bound=Struct)
_WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Decimal: "a Decimal",
    Callable: "a function",
    Mapping: "a dict",
    dict: "a dict",
    Path: "a path",
}
_MAX_SHOWN = 40


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
    defaults, hints = {}, get_type_hints(owner, include_extras=True)
    if issubclass(owner, Struct):
        hints = {name: hints[name] for name in owner.__struct_fields__}
        for field in msgspec.structs.fields(owner):
            # An empty list or dictionary is made anew for each value.
            made = field.default_factory() if callable(field.default_factory) else None
            defaults[field.name] = made if field.default is msgspec.NODEFAULT else field.default
    docs = {}
    for name, hint in hints.items():
        notes = list(_notes(hint))
        docs[name] = FieldDoc(
            type=read_hints(owner)[name],
            sentence=next((each for each in notes if isinstance(each, str)), ""),
            default=defaults.get(name),
            span=next(((each.ge, each.le) for each in notes if isinstance(each, Meta)), None),
        )
    return docs


@cache
def read_hints(of: Any) -> dict[str, Any]:
    return get_type_hints(of)


def _notes(hint: Any) -> Iterator[Any]:
    """What annotations say, inside of a union too: `Annotated[Temperature | None, "How …"]`."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        yield from notes
        yield from _notes(inner)
    elif get_origin(hint) in (Union, UnionType):
        for each in get_args(hint):
            yield from _notes(each)


@cache
def _alternatives(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return tuple(one for each in get_args(hint) for one in _alternatives(each))
    return (hint,)


@cache
def _spans(kind: type) -> list[tuple[str, Any, Any]]:
    return [(name, *doc.span) for name, doc in read_docs(kind).items() if doc.span]


def check_ranges(kind: type, values: Mapping[str, Any]) -> None:
    for name, low, high in _spans(kind):
        value = values.get(name)
        # In this form, because NaN is in no range.
        if isinstance(value, int | float) and not low <= value <= high:
            raise InvalidInput(f"`{name}` is {value}; give a number from {low} to {high}")


def make_struct(
    kind: type[AnyStruct],
    values: Mapping[str, Any],
    what: str = "",
    part: str = "option",
    *,
    strict: bool = True,
) -> AnyStruct:
    """A struct from its fields by name; what cannot be used is one sentence, which `what` begins."""
    check_known(values, kind.__struct_fields__, f"{what}unknown {part}")
    try:
        return msgspec.convert(dict(values), kind, strict=strict, from_attributes=True)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, InvalidInput):
            raise error.__cause__ from None
        check_ranges(kind, values)
        raise InvalidInput(f"{what}{plainly(error, kind)}; change it") from None


_FIELD = re.compile(r"Object (?:(missing required)|contains unknown) field (`.+`)")
_CHOICE = re.compile("Invalid enum value (.+)")
_STEP = re.compile(r"\.(\w+)|\[")
_PLAIN = {
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "`key: value` pairs",
}


def plainly(error: Exception, kind: Any) -> str:
    """msgspec's `Expected int, got str - at $.max_words`, of a value of a kind, as a sentence about the key."""
    if not isinstance(error, msgspec.ValidationError):
        return str(error)
    what, _, where = str(error).partition(" - at `$")
    key = where.strip(".`")
    named = f"`{key}`" if key else "it"
    if found := _FIELD.fullmatch(what):
        inside = f" in `{key}`" if key else ""
        return f"{found[2]} is missing{inside}" if found[1] else f"unknown key {found[2]}{inside}"
    if found := _CHOICE.fullmatch(what):
        return f"{named} must be {_describe_choices(kind, where)}, not {found[1]}"
    if what.startswith("Expected "):
        plain = re.sub(
            "`([^`]+?)(?: [|] null)?`",
            lambda found: " or ".join(_PLAIN.get(each, each) for each in found[1].split(" | ")),
            what.removeprefix("Expected "),
        )
        return f"{named} must be {plain.replace(', got ', ', not ')}"
    return f"`{key}`: {what[0].lower()}{what[1:]}" if key else what


def _describe_choices(kind: Any, path: str) -> str:
    """`'calls', 'tokens' or 'cost'`, of the field that a path of msgspec leads to."""
    for name in _STEP.findall(path):
        kinds = _alternatives(kind)
        if name:
            hints = [read_hints(each) for each in kinds if isinstance(each, type)]
            kind = next(each[name] for each in hints if name in each)
        else:
            inner = [get_args(each) for each in kinds if get_origin(each) in (dict, list, tuple)]
            kind = next(each for each in reversed(inner[0]) if each is not ...)
    choices = (each for each in _alternatives(kind) if get_origin(each) is Literal)
    return describe(Union[*choices])


def check_known(given: Iterable[str], known: Sequence[str], what: str) -> None:
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, 1)
            meant = f"did you mean `{close[0]}`?" if close else f"known are {', '.join(known)}"
            raise InvalidInput(f"{what} `{name}`; {meant}")


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
        check_known(options, list(known), "unknown option")
        for name, value in options.items():
            if value is not None:
                check_type(name, value, known[name])
        check_ranges(unpacked, options)


def check_fields(value: Struct) -> None:
    """The same for the fields of a struct, which its class does not look at."""
    hints, names = read_hints(type(value)), value.__struct_fields__
    usual = dict(zip(reversed(names), reversed(value.__struct_defaults__), strict=False))
    for name in names:
        given = getattr(value, name)
        # Most fields of most structs are their defaults, whose types are known.
        if name not in usual or given is not usual[name]:
            check_type(name, given, hints[name])


def check_type(name: str, value: object, hint: Any) -> None:
    """Refuse a value that is not of a type, with what to give in its place."""
    if is_of(value, hint):
        return
    texts = value if isinstance(value, tuple | list) else [value]
    if any(isinstance(each, str) and ("\0" in each or not _is_unicode(each)) for each in texts):
        raise InvalidInput(f"`{name}` contains a null or half of a character; give UTF-8 text")
    shown = repr(value) if isinstance(value, str | int | float | Decimal | NoneType) else ""
    if not 0 < len(shown) <= _MAX_SHOWN:
        shown = _with_article(type(value).__name__)
    raise InvalidInput(f"`{name}` is {shown}; give {describe(hint)}")


def is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of a type that msgspec may not know: models, functions and open journals, too."""
    if isinstance(value, str | Path) and Path in _alternatives(hint):
        # A name of a file may have bytes that are not text.
        return _is_unicode(str(value), "surrogateescape") and "\0" not in str(value)
    return any(_is_one(value, each, get_args(each)) for each in _alternatives(hint))


def _is_one(value: Any, hint: Any, inner: tuple[Any, ...]) -> bool:
    kind = get_origin(hint) or hint
    if kind is Any:
        return True
    if kind is Literal:
        return value in inner
    if kind is Callable:
        return callable(value)
    if kind in (Sequence, tuple):
        several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return several and (not inner or all(is_of(each, inner[0]) for each in value))
    if kind in (Mapping, dict):
        items = value.items() if isinstance(value, Mapping) else [(None, None)]
        return all(is_of(key, inner[0]) and is_of(each, inner[1]) for key, each in items)
    if kind in (float, Decimal):
        return (isinstance(value, kind) or _is_one(value, int, ())) and _is_finite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is str:
        return isinstance(value, str) and _is_unicode(value)
    if getattr(kind, "_is_protocol", False):
        names = [name for name in vars(kind) if not name.startswith("_")]
        return not isinstance(value, type) and all(hasattr(value, name) for name in names)
    return isinstance(value, kind)


def _is_unicode(text: str, errors: str = "strict") -> bool:
    try:
        text.encode(errors=errors)
    except UnicodeEncodeError:
        return False
    return True


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except (ValueError, OverflowError):
        return False


def describe(hint: Any) -> str:
    """A type in words: `text`, `a number or True`."""
    given = (each for each in _alternatives(hint) if each is not NoneType)
    *first, last = (word for each in given for word in _in_words(each))
    return f"{', '.join(first)} or {last}" if first else last


def _in_words(hint: Any) -> list[str]:
    kind = get_origin(hint) or hint
    if kind is Literal:
        return list(map(repr, get_args(hint)))
    if kind in (Sequence, tuple):
        return [f"a list of {describe(get_args(hint)[0])}" if get_args(hint) else "a list"]
    if kind in (Mapping, dict) and get_args(hint)[1:] not in ((), (Any,)):
        return [f"a dict with names as keys and {describe(get_args(hint)[1])} as values"]
    if getattr(kind, "_is_protocol", False):
        return [f"a {kind.__name__.lower()} object"]
    return [_WORDS.get(kind) or _with_article(kind.__name__)]


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"
