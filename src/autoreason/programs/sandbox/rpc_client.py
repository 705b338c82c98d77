"""How tests ask the program, which is in another process, for its names, calls and values.

Standard library only: this runs inside a jail. The program is heard as values and as raised exceptions, never as
anything that could end the tests or equal what it is not.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any, NoReturn

from autoreason.programs.sandbox.values import (
    Gone,
    Malformed,
    TooMuch,
    Uncrossable,
    decode,
    encode,
    receive,
    send,
    shown,
)

LONGEST = 4000
"""Characters of a value, call or traceback that are told."""
_NOTHING = object()
_TRACE = "_trace_in_the_program"
"""Where an exception of the program's carries its traceback there."""
_SMALL = 64
"""Bits of an integer that takes no room worth mentioning."""


class Ended(BaseException):
    """The tests cannot go on; nothing in them may take it for an exception they expect."""


class _HandedBack(Uncrossable):
    """The tests pass on what the program raised, and that cannot be sent."""


class Held:
    """Something of the program's that stayed there; equal to itself alone."""

    __slots__ = ("_held_by", "_held_number")

    _held_by: Driver
    _held_number: int

    def __init__(self, by: Driver, number: int) -> None:
        object.__setattr__(self, "_held_by", by)
        object.__setattr__(self, "_held_number", number)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._held_by.call(self._held_number, args, kwargs)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._held_by.attribute(self._held_number, name)

    def __setattr__(self, name: str, value: object) -> None:
        self._held_by.ask("change", self._held_number, name, self._held_by.sent(value))

    def __getitem__(self, key: object) -> object:
        return self._held_by.ask("item", self._held_number, self._held_by.sent(key))

    # What `in` asks for, too: the tests compare, so nothing can claim to contain what it does not.
    def __iter__(self) -> Iterator[object]:
        return self._held_by.iterator(self._held_number)

    def __next__(self) -> object:
        return self._held_by.following(self._held_number)

    def __len__(self) -> int:
        length: int = self._held_by.told(self._held_number, "len", int)
        return length

    def __bool__(self) -> bool:
        truth: bool = self._held_by.told(self._held_number, "bool", bool)
        return truth

    def __str__(self) -> str:
        return self._held_by.shown(self._held_number, "str")

    def __repr__(self) -> str:
        return self._held_by.shown(self._held_number, "repr")


class Driver:
    """Asks the program for its names, calls and values."""

    def __init__(self, channel: int) -> None:
        self._channel: int | None = channel
        self._tickets: dict[int, Held] = {}
        self._labels: dict[int, str] = {}
        self._call: tuple[int, tuple[object, ...], dict[str, object]] | None = None
        self._returned: object = _NOTHING
        self._given = False
        """Whether the program has given anything that can be deep or large."""
        self.lost = ""
        """Why the program can no longer be asked."""
        self.unfit = ""
        """Why the tests cannot be held."""

    def names(self, wanted: list[str]) -> dict[str, object]:
        """What the program has under these names."""
        found = self._exchange(["names", wanted])
        if type(found) is not dict or not found.keys() <= set(wanted):
            raise self._forged("names that nobody asked for")
        values = {name: self._received(value) for name, value in found.items()}
        for name, value in values.items():
            self._label(value, name)
        return values

    def call(self, number: int, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Call something held; a call that returns None may have changed what it was given."""
        self._call, self._returned = (number, args, kwargs), _NOTHING
        sent = [self.sent(each) for each in args]
        named = {name: self.sent(each) for name, each in kwargs.items()}
        reply = self._exchange(["call", number, sent, named])
        if type(reply) is not dict or "is" not in reply:
            raise self._forged("a reply that is none")
        self._returned = self._received(reply["is"])
        if self._returned is None:
            self._change(dict(enumerate(args)) | kwargs, reply.get("changed"))
        return self._returned

    def attribute(self, number: int, name: str) -> object:
        """An attribute of something held."""
        value = self.ask("attribute", number, name)
        self._label(value, f"{self._labels.get(number, 'object')}.{name}")
        return value

    def ask(self, *question: Any) -> object:
        """Ask for one value."""
        return self._received(self._exchange(list(question)))

    def iterator(self, number: int) -> Held:
        """What goes through something held; it is held as well."""
        iterator = self.ask("begin", number)
        if type(iterator) is not Held:
            raise self._forged("no iterator where one was asked for")
        return iterator

    def following(self, number: int) -> object:
        """The next value of an iterator that is held; `StopIteration` is raised here and nowhere else."""
        self._given = True
        following = self._exchange(["following", number])
        if type(following) is not list or len(following) > 1:
            raise self._forged("more than one value at a time")
        if not following:
            raise StopIteration
        return self._received(following[0])

    def told(self, number: int, how: str, kind: type) -> Any:
        """A length, truth or text, of exactly the type it has to be."""
        value = self.ask("told", number, how)
        if type(value) is not kind:
            raise self._forged(f"no {kind.__name__} where one was asked for")
        return value

    def shown(self, number: int, how: str) -> str:
        """Something held, as the program shows it while it is asked; by its name afterwards."""
        if self._channel is None or self.lost:
            return f"<{self._labels.get(number, 'object')}>"
        return str(self.told(number, how, str))

    def sent(self, value: object) -> Any:
        """A value on its way to the program."""
        try:
            return encode(value, self._number)
        except Uncrossable as error:
            raise self._cannot(error) from None

    def hang_up(self) -> tuple[str, str]:
        """Ask no more; tell the last call and what it returned, as the program shows what stayed there."""
        if self._call is None:
            self._channel = None
            return "", ""
        returned = "" if self._returned is _NOTHING else self._shown(self._returned)
        if type(self._returned) is Held:
            kind = self._told_or(self._returned, "type", "value")
            returned = f"{returned} (a {kind}, which equals nothing in the tests)"
        # What the tests passed they have shown themselves; the program is not asked for it.
        self._channel = None
        number, args, kwargs = self._call
        given = [*map(_short, args), *(f"{name}={_short(each)}" for name, each in kwargs.items())]
        called = f"{self._labels.get(number, 'object')}({', '.join(given)})"
        return called[:LONGEST], returned

    def _shown(self, value: object) -> str:
        """A value as text; with labels for what the program cannot show any more."""
        try:
            return _short(value)
        except (Ended, Exception):
            channel, self._channel = self._channel, None
            try:
                return _short(value)
            finally:
                self._channel = channel

    def _told_or(self, held: Held, how: str, otherwise: str) -> str:
        try:
            return str(self.told(held._held_number, how, str))
        except (Ended, Exception):
            return otherwise

    def _label(self, value: object, name: str) -> None:
        if type(value) is Held:
            self._labels.setdefault(value._held_number, name)

    def _number(self, value: object) -> int:
        if type(value) is Held:
            return value._held_number
        what = f"a {type(value).__name__} cannot be passed to the program: {shown(value)}"
        raise Uncrossable(what) if trace_of(value) is None else _HandedBack(what)

    def _change(self, passed: dict[Any, object], changed: Any) -> None:
        """Do to lists, dictionaries and sets what the program did to its copies."""
        for each in changed if type(changed) is list else ():
            match each:
                case [int(at) | str(at), sent] if at in passed:
                    _update(passed[at], self._received(sent))
                case _:
                    raise self._forged("a change of what is no argument")

    def _received(self, sent: Any) -> Any:
        try:
            value = decode(sent, self._ticket)
        except Malformed as error:
            raise self._forged(f"what is {error}") from None
        self._given = self._given or not _takes_little(value)
        return value

    def _ticket(self, number: int) -> Held:
        return self._tickets.setdefault(number, Held(self, number))

    def _exchange(self, question: list[Any]) -> Any:
        if self.lost or self._channel is None:
            raise Ended
        try:
            send(self._channel, question)
            reply = receive(self._channel)
        except Uncrossable as error:
            raise self._cannot(error) from None
        except Gone:
            self.lost = "the program ended before it had answered"
            raise Ended from None
        except Malformed as error:
            raise self._forged(str(error)) from None
        match reply:
            case {"value": value}:
                return value
            case {"raised": str(name), "message": message, "trace": str(trace)}:
                raise self._raised(name, message, trace)
            case _:
                raise self._forged("a reply that is none")

    def _raised(self, name: str, message: Any, trace: str) -> BaseException:
        self._given = True
        try:
            error = made(name, decode(message, _no_ticket))
        except Malformed as malformed:
            return self._forged(f"what is {malformed}")
        vars(error)[_TRACE] = trace[-LONGEST:]
        return error

    def _forged(self, what: str) -> Ended:
        self.lost = f"the program sent {what}"
        return Ended()

    def _cannot(self, error: Uncrossable) -> Ended:
        # Tests pass on what the program gave: it must not get out of a verdict by giving too much.
        if isinstance(error, _HandedBack) or (isinstance(error, TooMuch) and self._given):
            self.lost = str(error)
        else:
            self.unfit = str(error)
        return Ended()


def trace_of(error: object) -> str | None:
    """The traceback in the program of an exception that it raised; None for anything else."""
    return vars(error).get(_TRACE) if isinstance(error, BaseException) else None


def _no_ticket(number: int) -> NoReturn:
    raise Malformed(f"not a plain value but ticket {number}")


def _takes_little(value: object) -> bool:
    """Whether a value is neither deep nor large, and nothing much can be taken from it."""
    if type(value) is int:
        return value.bit_length() <= _SMALL
    return type(value) in (Held, type(None), bool, float)


def _update(old: Any, new: Any) -> None:
    if type(old) is not type(new):
        return
    if type(old) in (list, bytearray):
        old[:] = new
    elif type(old) in (dict, set):
        old.clear()
        old.update(new)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def made(name: str, message: object) -> Exception:
    """An exception of the built-in class of that name; one that steers Python itself becomes a RuntimeError."""
    kind = vars(builtins).get(name)
    steers = (StopIteration, StopAsyncIteration, Warning)
    if not isinstance(kind, type) or not issubclass(kind, Exception) or issubclass(kind, steers):
        return RuntimeError(f"{name}: {message}")
    try:
        return kind(message)
    except TypeError:
        return ValueError(message)
