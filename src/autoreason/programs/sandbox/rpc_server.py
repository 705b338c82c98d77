"""The program's side of function tests: it is run as a module, and then answers calls until the tests are over.

Standard library only: this runs inside the jail, beside a program that can do to it whatever it likes. Nothing here is
trusted by the other side.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any

from autoreason.programs.sandbox.depth import rightly_named
from autoreason.programs.sandbox.values import (
    LARGEST,
    Gone,
    Malformed,
    TooMuch,
    Uncrossable,
    decode,
    encode,
    receive,
    send,
    too_large,
    written,
)

NAME = "solution"
"""Not `__main__`: what a program does only when it is run as a script is not wanted here."""

_TICKET = 32
"""Bytes that are enough for a ticket beside its name."""


def serve(code: CodeType, channel: int) -> None:
    """Run a program as a module and answer what is asked over the channel, until there is nobody to ask."""
    module = ModuleType(NAME)
    module.__file__ = code.co_filename
    sys.modules[NAME] = module
    try:
        exec(code, module.__dict__)
    except Exception as error:
        print(_trace(rightly_named(error)), end="", file=sys.stderr, flush=True)
        raise SystemExit(1) from None
    served = Served(module.__dict__)
    try:
        while True:
            _reply(channel, served, receive(channel))
    except (Gone, Malformed):
        # No leave is taken: a thread that is still busy would be waited for.
        os._exit(0)


def _reply(channel: int, served: Served, asked: Any) -> None:
    answer = served.answer(asked)
    try:
        send(channel, answer)
    except TooMuch:
        send(channel, _raised(too_large(served.last)))


class Served:
    """A program's names, and the objects of its own that the tests hold tickets for."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._kept: list[object] = []
        self._numbers: dict[int, int] = {}
        self.last: object = None
        """What was sent last."""

    def answer(self, asked: Any) -> Any:
        """The reply to one question: a value, or what was raised."""
        operation, *operands = asked
        try:
            return {"value": _OPERATIONS[operation](self, *operands)}
        except SystemExit:
            raise
        except BaseException as error:
            return _raised(error)

    def keep(self, value: object) -> int:
        """The number under which something is held; the same thing has the same number."""
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._kept)
            self._kept.append(value)
        return self._numbers[id(value)]

    def _sent(self, value: object) -> Any:
        self.last = value
        return encode(value, self.keep)

    def _given(self, sent: Any) -> Any:
        return decode(sent, self._kept.__getitem__)

    def names(self, wanted: list[str]) -> Any:
        """The program's globals of these names, as far as it has them; those that cannot cross are held."""
        found = {}
        room = LARGEST - len(written(wanted)) - _TICKET * (len(wanted) + 1)
        for name in wanted:
            if name in self._names:
                found[name], size = self._within(room, self._names[name])
                room -= size
        return found

    def _within(self, room: int, value: object) -> tuple[Any, int]:
        """A value and the bytes it takes, or a ticket for it, which has a place of its own."""
        # The tests may only have a name of their own that is the same: it must not cost the program anything.
        with suppress(TooMuch, MemoryError):
            sent = self._sent(value)
            size = len(written(sent))
            if size <= room:
                return sent, size
        return {"k": self.keep(value)}, 0

    def call(self, number: int, sent: list[Any], named: dict[str, Any]) -> Any:
        """What a call returns; where that is None, also what it did to what it was given."""
        args = [self._given(each) for each in sent]
        kwargs = {name: self._given(each) for name, each in named.items()}
        function: Any = self._kept[number]
        value = function(*args, **kwargs)
        if value is not None:
            return {"is": self._sent(value)}
        before: dict[Any, Any] = dict(enumerate(sent)) | named
        after = {at: self._sent(each) for at, each in (*enumerate(args), *kwargs.items())}
        return {
            "is": None,
            "changed": [[at, new] for at, new in after.items() if new != before[at]],
        }

    def attribute(self, number: int, name: str) -> Any:
        """An attribute of something held."""
        return self._sent(getattr(self._kept[number], name))

    def change(self, number: int, name: str, value: Any) -> None:
        """Set an attribute of something held."""
        setattr(self._kept[number], name, self._given(value))

    def item(self, number: int, key: Any) -> Any:
        """An item of something held."""
        held: Any = self._kept[number]
        return self._sent(held[self._given(key)])

    def begin(self, number: int) -> Any:
        """A ticket for an iterator over something held."""
        held: Any = self._kept[number]
        return {"k": self.keep(iter(held))}

    def following(self, number: int) -> Any:
        """The next of an iterator, or nothing at its end."""
        held: Any = self._kept[number]
        value = next(held, _END)
        return [] if value is _END else [self._sent(value)]

    def told(self, number: int, how: str) -> Any:
        """Something held as a built-in function tells it: its length, truth or text."""
        return self._sent(_TOLD[how](self._kept[number]))


_END = object()
_TOLD: dict[str, Callable[[Any], object]] = {
    "len": len,
    "bool": bool,
    "str": str,
    "repr": repr,
    "type": lambda held: type(held).__name__,
}
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "names": Served.names,
    "call": Served.call,
    "attribute": Served.attribute,
    "change": Served.change,
    "item": Served.item,
    "begin": Served.begin,
    "following": Served.following,
    "told": Served.told,
}


def _raised(error: BaseException) -> Any:
    error = rightly_named(error)
    if isinstance(error, Uncrossable):
        # Where in our own code it came up is nobody's help.
        error = Exception(str(error))
    return {"raised": _nearest(error), "message": _message(error), "trace": _trace(error)}


def _nearest(error: BaseException) -> str:
    """The built-in class that an exception belongs to most closely."""
    return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")


def _message(error: BaseException) -> Any:
    """What an exception says; a missing key itself, whose text would be quoted once more on the other side."""
    with suppress(Exception):
        if type(error).__str__ is KeyError.__str__ and len(error.args) == 1:
            return encode(error.args[0], _no_ticket)
    with suppress(Exception):
        return str(error)
    return ""


def _no_ticket(value: object) -> int:
    raise Uncrossable(f"a {type(value).__name__} cannot be raised")


def _trace(error: BaseException) -> str:
    """The traceback from the program's first line on."""
    within = error.__traceback__
    while within and within.tb_frame.f_code.co_filename == __file__:
        within = within.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, within))
    except Exception:
        return type(error).__name__
