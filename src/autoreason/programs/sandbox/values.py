"""Values between a program and its tests: plain built-in types are sent, all other objects stay and send a handle.

Standard library only: this runs inside the jail. Messages are JSON and nothing is ever looked up by a name in them,
so their sender can choose a value and no more.
"""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

MAX_MESSAGE_BYTES = 16 << 20
"""Bytes of one message."""
MAX_DEPTH = 200
"""Levels of nested lists."""
_HEADER = 4
_MAX_HANDLE = 1 << 63
"""No honest side needs as many; a number without limit would fill every message."""

RegisterObject = Callable[[object], int]
"""Stores an object that cannot be sent, and returns its handle."""
LookUpObject = Callable[[int], object]
"""Returns the object that a handle stands for."""


class UnsendableValue(Exception):
    """A value that cannot be sent, and why."""


class ValueTooLarge(UnsendableValue):
    """A value that is too deep or too large to be sent."""


class _NestedTooDeep(Exception):
    """A value has more nested lists than can be sent."""


class MalformedMessage(Exception):
    """A message arrived that no honest side sends."""


class ChannelClosed(Exception):
    """The other side has closed the channel."""


_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = 100


def short_repr(value: object) -> str:
    """A value of any size as text on one short line."""
    return _repr.repr(value)


def too_large_error(value: object) -> ValueTooLarge:
    """The error for a value that is larger than a message may be."""
    return ValueTooLarge(
        f"a {type(value).__name__} of more than {MAX_MESSAGE_BYTES >> 20} MiB cannot be sent: {short_repr(value)}"
    )


def encode(value: object, register: RegisterObject) -> Any:
    """A value in JSON types; an object without a plain form is registered, and its handle sent."""
    try:
        return _encode(value, register, MAX_DEPTH)
    except _NestedTooDeep:
        raise ValueTooLarge(
            f"a {type(value).__name__} nested more than {MAX_DEPTH} deep cannot be sent: {short_repr(value)}"
        ) from None


def _encode(value: object, register: RegisterObject, depth_left: int) -> Any:
    kind = type(value)
    if kind in _SCALAR_TYPES:
        return value
    if not depth_left:
        raise _NestedTooDeep
    base = next((each for each in kind.__mro__ if each in _ENCODERS), None)
    if base is None:
        return {"k": register(value)}
    return _ENCODERS[base](value, lambda inner: _encode(inner, register, depth_left - 1))


_SCALAR_TYPES = (type(None), bool, int, float, str)
# Methods of the base class itself, so that a subclass cannot change what it is sent as.
_ENCODERS: dict[type, Callable[[Any, Callable[[object], Any]], Any]] = {
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


def decode(sent: Any, look_up: LookUpObject) -> Any:
    """The value that was sent, of exactly a built-in type; `MalformedMessage` where it is none."""
    try:
        return _decode(sent, look_up, MAX_DEPTH)
    except (TypeError, ValueError, OverflowError) as error:
        raise MalformedMessage(f"not a value: {error}") from None


def _decode(sent: Any, look_up: LookUpObject, depth_left: int) -> Any:
    kind = type(sent)
    if kind in _SCALAR_TYPES:
        return sent
    if not depth_left:
        raise MalformedMessage("nested too deep")
    if kind is list:
        return [_decode(each, look_up, depth_left - 1) for each in sent]
    if kind is not dict or len(sent) != 1:
        raise MalformedMessage("not a value")
    [(tag, content)] = sent.items()
    if tag == "k":
        return look_up(_handle_number(content))
    if tag in _SCALAR_DECODERS:
        return _SCALAR_DECODERS[tag](content)
    if tag not in _CONTAINER_DECODERS or type(content) is not list:
        raise MalformedMessage("not a value")
    return _CONTAINER_DECODERS[tag](_decode(each, look_up, depth_left - 1) for each in content)


def _handle_number(value: object) -> int:
    if type(value) is not int or not 0 <= value < _MAX_HANDLE:
        raise MalformedMessage("not a handle")
    return value


def _complex(parts: Any) -> complex:
    real, imaginary = parts
    if type(real) is not float or type(imaginary) is not float:
        raise MalformedMessage("not a complex number")
    return complex(real, imaginary)


def _slice(parts: Iterable[Any]) -> slice:
    start, stop, step = parts
    return slice(start, stop, step)


_SCALAR_DECODERS: dict[str, Callable[[Any], object]] = {
    "b": lambda digits: bytes.fromhex(digits),
    "a": lambda digits: bytearray.fromhex(digits),
    "c": _complex,
    "r": lambda parts: range(*parts),
}
_CONTAINER_DECODERS: dict[str, Callable[[Any], object]] = {
    "t": tuple,
    "s": set,
    "z": frozenset,
    "d": dict,
    "l": _slice,
}


def encode_message(message: Any) -> bytes:
    """A message as it is sent."""
    return json.dumps(message, separators=(",", ":")).encode("ascii")


def send(channel: int, message: Any) -> None:
    """Write one message; `ChannelClosed` where the other side no longer reads."""
    body = encode_message(message)
    if len(body) > MAX_MESSAGE_BYTES:
        raise ValueTooLarge(f"values of more than {MAX_MESSAGE_BYTES >> 20} MiB cannot be sent")
    rest = memoryview(len(body).to_bytes(_HEADER, "big") + body)
    try:
        while rest:
            rest = rest[os.write(channel, rest) :]
    except OSError:
        raise ChannelClosed from None


def receive(channel: int) -> Any:
    """Read one message; `ChannelClosed` at the end, `MalformedMessage` where it is none."""
    size = int.from_bytes(_read(channel, _HEADER), "big")
    if size > MAX_MESSAGE_BYTES:
        raise MalformedMessage("a message too large")
    body = _read(channel, size)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedMessage("a message that is not JSON") from None


def _read(channel: int, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        try:
            part = os.read(channel, min(size - len(parts), 1 << 20))
        except OSError:
            raise ChannelClosed from None
        if not part:
            raise ChannelClosed
        parts += part
    return bytes(parts)
