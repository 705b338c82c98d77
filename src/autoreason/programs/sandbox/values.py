"""Values between a program and its tests: plain built-in types cross, everything else stays and sends a ticket.

Standard library only: this runs inside the jail. What arrives is JSON and nothing is ever looked up by a name that
came with it, so whoever writes it can choose a value and no more.
"""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

LARGEST = 16 << 20
"""Bytes of one message."""
DEEPEST = 200
"""Lists within lists."""
_HEADER = 4
_TICKETS = 1 << 63
"""Nobody honest counts as far; a number without end would take room in every message."""

Keep = Callable[[object], int]
"""Puts something aside that cannot cross, and gives the number of its ticket."""
Ticket = Callable[[int], object]
"""What stands for something that stayed on the other side."""


class Uncrossable(Exception):
    """A value that cannot be sent, and why."""


class TooMuch(Uncrossable):
    """A value that is too deep or too large to be sent."""


class _TooDeep(Exception):
    """There are more lists within lists than can be sent."""


class Malformed(Exception):
    """Something arrived that nobody honest sends."""


class Gone(Exception):
    """The other side has closed the channel."""


_shortening = reprlib.Repr()
_shortening.maxstring = _shortening.maxother = _shortening.maxlong = 100


def shown(value: object) -> str:
    """A value as text, however large it is, on one short line."""
    return _shortening.repr(value)


def too_large(value: object) -> TooMuch:
    """What is said of a value that takes more than a message may."""
    return TooMuch(
        f"a {type(value).__name__} of more than {LARGEST >> 20} MiB cannot cross: {shown(value)}"
    )


def encode(value: object, keep: Keep) -> Any:
    """A value as JSON knows it; what has no plain form is kept, and its ticket sent."""
    try:
        return _encode(value, keep, DEEPEST)
    except _TooDeep:
        raise TooMuch(
            f"a {type(value).__name__} nested more than {DEEPEST} deep cannot cross: {shown(value)}"
        ) from None


def _encode(value: object, keep: Keep, deeper: int) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if not deeper:
        raise _TooDeep
    base = next((each for each in kind.__mro__ if each in _PLAIN), None)
    if base is None:
        return {"k": keep(value)}
    return _PLAIN[base](value, lambda inner: _encode(inner, keep, deeper - 1))


_AS_THEY_ARE = (type(None), bool, int, float, str)
# Methods of the base class itself, so that a subclass cannot change what it is sent as.
_PLAIN: dict[type, Callable[[Any, Callable[[object], Any]], Any]] = {
    int: lambda value, _: int.__int__(value),
    float: lambda value, _: float.__float__(value),
    str: lambda value, _: str.__str__(value),
    list: lambda value, inner: [inner(each) for each in list.__iter__(value)],
    tuple: lambda value, inner: {"t": [inner(each) for each in tuple.__iter__(value)]},
    set: lambda value, inner: {"s": [inner(each) for each in set.__iter__(value)]},
    frozenset: lambda value, inner: {"z": [inner(each) for each in frozenset.__iter__(value)]},
    dict: lambda value, inner: {"d": [[inner(k), inner(v)] for k, v in dict.items(value)]},
    slice: lambda value, inner: {"l": [inner(value.start), inner(value.stop), inner(value.step)]},
    bytes: lambda value, _: {"b": bytes.hex(value)},
    bytearray: lambda value, _: {"a": bytearray.hex(value)},
    complex: lambda value, _: {"c": [value.real, value.imag]},
    range: lambda value, _: {"r": [value.start, value.stop, value.step]},
}


def decode(sent: Any, ticket: Ticket) -> Any:
    """The value that was sent, of exactly a built-in type; `Malformed` where it is none."""
    try:
        return _decode(sent, ticket, DEEPEST)
    except (TypeError, ValueError, OverflowError) as error:
        raise Malformed(f"not a value: {error}") from None


def _decode(sent: Any, ticket: Ticket, deeper: int) -> Any:
    kind = type(sent)
    if kind in _AS_THEY_ARE:
        return sent
    if not deeper:
        raise Malformed("nested too deep")
    if kind is list:
        return [_decode(each, ticket, deeper - 1) for each in sent]
    if kind is not dict or len(sent) != 1:
        raise Malformed("not a value")
    [(sign, inside)] = sent.items()
    if sign == "k":
        return ticket(_whole(inside))
    if sign in _SCALARS:
        return _SCALARS[sign](inside)
    if sign not in _GATHERED or type(inside) is not list:
        raise Malformed("not a value")
    return _GATHERED[sign](_decode(each, ticket, deeper - 1) for each in inside)


def _whole(number: object) -> int:
    if type(number) is not int or not 0 <= number < _TICKETS:
        raise Malformed("not a ticket")
    return number


def _complex(parts: Any) -> complex:
    real, imaginary = parts
    if type(real) is not float or type(imaginary) is not float:
        raise Malformed("not a complex number")
    return complex(real, imaginary)


def _slice(parts: Iterable[Any]) -> slice:
    start, stop, step = parts
    return slice(start, stop, step)


_SCALARS: dict[str, Callable[[Any], object]] = {
    "b": lambda digits: bytes.fromhex(digits),
    "a": lambda digits: bytearray.fromhex(digits),
    "c": _complex,
    "r": lambda parts: range(*parts),
}
_GATHERED: dict[str, Callable[[Any], object]] = {
    "t": tuple,
    "s": set,
    "z": frozenset,
    "d": dict,
    "l": _slice,
}


def written(message: Any) -> bytes:
    """A message as it crosses."""
    return json.dumps(message, separators=(",", ":")).encode("ascii")


def send(channel: int, message: Any) -> None:
    """Write one message; `Gone` where nobody reads any more."""
    body = written(message)
    if len(body) > LARGEST:
        raise TooMuch(f"values of more than {LARGEST >> 20} MiB cannot cross")
    rest = memoryview(len(body).to_bytes(_HEADER, "big") + body)
    try:
        while rest:
            rest = rest[os.write(channel, rest) :]
    except OSError:
        raise Gone from None


def receive(channel: int) -> Any:
    """Read one message as JSON knows it; `Gone` at the end, `Malformed` where it is none."""
    size = int.from_bytes(_read(channel, _HEADER), "big")
    if size > LARGEST:
        raise Malformed("a message too large")
    body = _read(channel, size)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("a message that is not JSON") from None


def _read(channel: int, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        try:
            part = os.read(channel, min(size - len(parts), 1 << 20))
        except OSError:
            raise Gone from None
        if not part:
            raise Gone
        parts += part
    return bytes(parts)
