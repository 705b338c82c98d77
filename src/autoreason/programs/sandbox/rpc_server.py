"""The program's side of function tests: it is run as a module, then answers calls until the tests end.

Standard library only: this runs inside the jail, in one process with a program that can change it at will. The other
side trusts nothing here.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any

from autoreason.programs.sandbox.depth import as_recursion_error
from autoreason.programs.sandbox.values import (
    MAX_MESSAGE_BYTES,
    ChannelClosed,
    MalformedMessage,
    UnsendableValue,
    ValueTooLarge,
    decode,
    encode,
    encode_message,
    receive,
    send,
    too_large_error,
)

NAME = "solution"
"""Not `__main__`: code under the usual guard must not run here."""

_HANDLE_BYTES = 32
"""Bytes that are enough for a handle in addition to its name."""


def serve(code: CodeType, channel: int) -> None:
    """Run a program as a module and answer requests over the channel until it is closed."""
    module = ModuleType(NAME)
    module.__file__ = code.co_filename
    sys.modules[NAME] = module
    try:
        exec(code, module.__dict__)
    except Exception as error:
        print(_trace(as_recursion_error(error)), end="", file=sys.stderr, flush=True)
        raise SystemExit(1) from None
    serve_names(module.__dict__, channel)


def serve_names(names: dict[str, Any], channel: int) -> None:
    """Answer requests for these names and what they lead to until the channel is closed."""
    server = ProgramServer(names)
    try:
        while True:
            _reply(channel, server, receive(channel))
    except (ChannelClosed, MalformedMessage):
        # Exit at once: a regular exit would wait for threads that are still busy.
        os._exit(0)


def _reply(channel: int, server: ProgramServer, request: Any) -> None:
    answer = server.answer(request)
    try:
        send(channel, answer)
    except ValueTooLarge:
        send(channel, _encode_error(too_large_error(server.last_sent)))


class ProgramServer:
    """A program's names, and those of its objects that the tests have handles for."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._objects: list[object] = []
        self._numbers: dict[int, int] = {}
        self.last_sent: object = None
        """The value sent last."""

    def answer(self, request: Any) -> Any:
        """The reply to one request: a value, or what was raised."""
        operation, *operands = request
        try:
            return {"value": _OPERATIONS[operation](self, *operands)}
        except SystemExit:
            raise
        except BaseException as error:
            return _encode_error(error)

    def register(self, value: object) -> int:
        """The handle of an object; the same object always has the same handle."""
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return self._numbers[id(value)]

    def _encode(self, value: object) -> Any:
        self.last_sent = value
        return encode(value, self.register)

    def _decode(self, sent: Any) -> Any:
        return decode(sent, self._objects.__getitem__)

    def names(self, wanted: list[str]) -> Any:
        """The program's globals of these names, as far as it has them; as handles where they cannot be sent."""
        values = {}
        bytes_left = (
            MAX_MESSAGE_BYTES - len(encode_message(wanted)) - _HANDLE_BYTES * (len(wanted) + 1)
        )
        for name in wanted:
            if name in self._names:
                values[name], size = self._encode_within(bytes_left, self._names[name])
                bytes_left -= size
        return values

    def _encode_within(self, bytes_left: int, value: object) -> tuple[Any, int]:
        """A value and its size in bytes, or a handle for it, whose size is reserved."""
        # The tests may only use the same name for a variable: that must not cost the program anything.
        with suppress(ValueTooLarge, MemoryError):
            sent = self._encode(value)
            size = len(encode_message(sent))
            if size <= bytes_left:
                return sent, size
        return {"k": self.register(value)}, 0

    def call(self, number: int, sent: list[Any], named: dict[str, Any]) -> Any:
        """What a call returns; where that is None, also how it changed its arguments."""
        args = [self._decode(each) for each in sent]
        kwargs = {name: self._decode(each) for name, each in named.items()}
        function: Any = self._objects[number]
        value = function(*args, **kwargs)
        if value is not None:
            return {"is": self._encode(value)}
        before: dict[Any, Any] = dict(enumerate(sent)) | named
        after = {at: self._encode(each) for at, each in (*enumerate(args), *kwargs.items())}
        return {
            "is": None,
            "changed": [[at, new] for at, new in after.items() if new != before[at]],
        }

    def arguments_after(self, number: int, sent: list[Any]) -> Any:
        """The arguments of a call as it left them."""
        args, function = self._decode(sent), self._objects[number]
        function(*args)  # type: ignore[operator]
        return self._encode(args)

    def attribute(self, number: int, name: str) -> Any:
        """An attribute of an object."""
        return self._encode(getattr(self._objects[number], name))

    def set_attribute(self, number: int, name: str, value: Any) -> None:
        """Set an attribute of an object."""
        setattr(self._objects[number], name, self._decode(value))

    def get_item(self, number: int, key: Any) -> Any:
        """An item of an object."""
        target: Any = self._objects[number]
        return self._encode(target[self._decode(key)])

    def iterate(self, number: int) -> Any:
        """A handle for an iterator over an object."""
        target: Any = self._objects[number]
        return {"k": self.register(iter(target))}

    def next_item(self, number: int) -> Any:
        """The next value of an iterator, or an empty list at its end."""
        target: Any = self._objects[number]
        value = next(target, _END)
        return [] if value is _END else [self._encode(value)]

    def query(self, number: int, how: str) -> Any:
        """The result of a built-in function on an object: its length, truth, text or type."""
        return self._encode(_QUERIES[how](self._objects[number]))


_END = object()
_QUERIES: dict[str, Callable[[Any], object]] = {
    "len": len,
    "bool": bool,
    "str": str,
    "repr": repr,
    "type": lambda target: type(target).__name__,
}
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "names": ProgramServer.names,
    "call": ProgramServer.call,
    "arguments_after": ProgramServer.arguments_after,
    "attribute": ProgramServer.attribute,
    "set_attribute": ProgramServer.set_attribute,
    "get_item": ProgramServer.get_item,
    "iterate": ProgramServer.iterate,
    "next_item": ProgramServer.next_item,
    "query": ProgramServer.query,
}


def _encode_error(error: BaseException) -> Any:
    error = as_recursion_error(error)
    if isinstance(error, UnsendableValue):
        # Where in this module it was raised helps no one.
        error = Exception(str(error))
    return {"raised": _builtin_class(error), "message": _message(error), "trace": _trace(error)}


def _builtin_class(error: BaseException) -> str:
    """The nearest built-in class of an exception."""
    return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")


def _message(error: BaseException) -> Any:
    """The message of an exception; a missing key itself, whose text would be quoted again on the other side."""
    with suppress(Exception):
        if type(error).__str__ is KeyError.__str__ and len(error.args) == 1:
            return encode(error.args[0], _reject_object)
    with suppress(Exception):
        return str(error)
    return ""


def _reject_object(value: object) -> int:
    raise UnsendableValue(f"a {type(value).__name__} cannot be raised")


def _trace(error: BaseException) -> str:
    """The traceback from the program's first line on."""
    within = error.__traceback__
    while within and within.tb_frame.f_code.co_filename == __file__:
        within = within.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, within))
    except Exception:
        return type(error).__name__
