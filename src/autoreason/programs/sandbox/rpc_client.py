"""The tests' client for the program in another process: its names, calls and values.

Standard library only: this runs inside a jail. The program can only cause values and raised exceptions, never
anything that could end the tests or equal what it is not.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any, NoReturn

from autoreason.programs.sandbox.values import (
    ChannelClosed,
    MalformedMessage,
    UnsendableValue,
    ValueTooLarge,
    decode,
    encode,
    receive,
    send,
    short_repr,
)

MAX_TEXT = 4000
"""Characters of a value, call or traceback that are reported."""
_UNSET = object()
_TRACE_ATTRIBUTE = "_trace_in_the_program"
"""The attribute of an exception that has its traceback in the program."""
_SMALL_INT_BITS = 64
"""Bits of an integer that counts as small."""


class TestsAborted(BaseException):
    """The tests cannot continue; not an `Exception`, so that they cannot catch it as one they expect."""


class _UnsendableException(UnsendableValue):
    """The tests pass on an exception of the program, which cannot be sent."""


class RemoteHandle:
    """An object that stayed in the program; equal to itself alone, it can be called and has attributes."""

    __slots__ = ("_remote_client", "_remote_handle")

    _remote_client: ProgramClient
    _remote_handle: int

    def __init__(self, client: ProgramClient, number: int) -> None:
        object.__setattr__(self, "_remote_client", client)
        object.__setattr__(self, "_remote_handle", number)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._remote_client.call(self._remote_handle, args, kwargs)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._remote_client.attribute(self._remote_handle, name)

    def __setattr__(self, name: str, value: object) -> None:
        self._remote_client.request(
            "set_attribute", self._remote_handle, name, self._remote_client.encode_value(value)
        )


class RemoteObject(RemoteHandle):
    """An object of the program that can be used as a value."""

    __slots__ = ()

    def __getitem__(self, key: object) -> object:
        return self._remote_client.request(
            "get_item", self._remote_handle, self._remote_client.encode_value(key)
        )

    # Used by `in`, too: the tests compare, so no object can claim to contain what it does not.
    def __iter__(self) -> Iterator[object]:
        return self._remote_client.iterator(self._remote_handle)

    def __next__(self) -> object:
        return self._remote_client.next_item(self._remote_handle)

    def __len__(self) -> int:
        length: int = self._remote_client.query(self._remote_handle, "len", int)
        return length

    def __bool__(self) -> bool:
        truth: bool = self._remote_client.query(self._remote_handle, "bool", bool)
        return truth

    def __str__(self) -> str:
        return self._remote_client.text_of(self._remote_handle, "str")

    def __repr__(self) -> str:
        return self._remote_client.text_of(self._remote_handle, "repr")


class ProgramClient:
    """Requests names, calls and values from the program."""

    handle: type[RemoteHandle] = RemoteObject
    """What stands for objects that stay in the program."""

    def __init__(self, channel: int) -> None:
        self._channel: int | None = channel
        self._remote_objects: dict[int, RemoteHandle] = {}
        self._labels: dict[int, str] = {}
        self._call: tuple[int, tuple[object, ...], dict[str, object]] | None = None
        self._returned: object = _UNSET
        self._received_large = False
        """Whether the program has sent anything that can be deep or large."""
        self.program_error = ""
        """Why the program no longer answers."""
        self.tests_error = ""
        """Why the tests cannot be run."""

    def names(self, wanted: list[str]) -> dict[str, object]:
        """The program's values of these names."""
        values_by_name = self._exchange(["names", wanted])
        if type(values_by_name) is not dict or not values_by_name.keys() <= set(wanted):
            raise self._protocol_error("names that were not requested")
        values = {name: self._decode_value(value) for name, value in values_by_name.items()}
        for name, value in values.items():
            self._label(value, name)
        return values

    def call(self, number: int, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Call a remote object; a call that returns None may have changed its arguments."""
        self._call, self._returned = (number, args, kwargs), _UNSET
        encoded = [self.encode_value(each) for each in args]
        named = {name: self.encode_value(each) for name, each in kwargs.items()}
        reply = self._exchange(["call", number, encoded, named])
        if type(reply) is not dict or "is" not in reply:
            raise self._protocol_error("an invalid reply")
        self._returned = self._decode_value(reply["is"])
        if self._returned is None:
            self.apply_changes(dict(enumerate(args)) | kwargs, reply.get("changed"))
        return self._returned

    def attribute(self, number: int, name: str) -> object:
        """An attribute of a remote object."""
        value = self.request("attribute", number, name)
        self._label(value, f"{self._labels.get(number, 'object')}.{name}")
        return value

    def request(self, *operation: Any) -> object:
        """Request one value."""
        return self._decode_value(self._exchange(list(operation)))

    def iterator(self, number: int) -> RemoteObject:
        """An iterator over a remote object, itself a remote object."""
        iterator = self.request("iterate", number)
        if type(iterator) is not RemoteObject:
            raise self._protocol_error("no iterator where one was requested")
        return iterator

    def next_item(self, number: int) -> object:
        """The next value of a remote iterator; `StopIteration` is raised here and nowhere else."""
        self._received_large = True
        next_item = self._exchange(["next_item", number])
        if type(next_item) is not list or len(next_item) > 1:
            raise self._protocol_error("more than one value at a time")
        if not next_item:
            raise StopIteration
        return self._decode_value(next_item[0])

    def query(self, number: int, how: str, kind: type) -> Any:
        """A length, truth or text, of exactly the type it has to be."""
        value = self.request("query", number, how)
        if type(value) is not kind:
            raise self._protocol_error(f"no {kind.__name__} where one was requested")
        return value

    def text_of(self, number: int, how: str) -> str:
        """A remote object as text: by the program while it answers, by its name afterwards."""
        if self._channel is None or self.program_error:
            return f"<{self._labels.get(number, 'object')}>"
        return str(self.query(number, how, str))

    def encode_value(self, value: object) -> Any:
        """A value as it is sent to the program."""
        try:
            return encode(value, self._handle_of)
        except UnsendableValue as error:
            raise self._send_error(error) from None

    def close(self) -> tuple[str, str]:
        """Send no more requests; return the last call and its result, both as text."""
        if self._call is None:
            self._channel = None
            return "", ""
        returned = "" if self._returned is _UNSET else self._safe_repr(self._returned)
        if type(self._returned) is RemoteObject:
            kind = self._query_or(self._returned, "type", "value")
            returned = f"{returned} (a {kind}, which equals nothing in the tests)"
        # Arguments are shown by the tests themselves, without asking the program.
        self._channel = None
        number, args, kwargs = self._call
        arguments = [
            *map(_short_text, args),
            *(f"{name}={_short_text(each)}" for name, each in kwargs.items()),
        ]
        called = f"{self._labels.get(number, 'object')}({', '.join(arguments)})"
        return called[:MAX_TEXT], returned

    def _safe_repr(self, value: object) -> str:
        """A value as text; with labels for remote objects that the program can no longer show."""
        try:
            return _short_text(value)
        except (TestsAborted, Exception):
            channel, self._channel = self._channel, None
            try:
                return _short_text(value)
            finally:
                self._channel = channel

    def _query_or(self, target: RemoteObject, how: str, default: str) -> str:
        try:
            return str(self.query(target._remote_handle, how, str))
        except (TestsAborted, Exception):
            return default

    def _label(self, value: object, name: str) -> None:
        if isinstance(value, RemoteHandle):
            self._labels.setdefault(value._remote_handle, name)

    def _handle_of(self, value: object) -> int:
        if isinstance(value, RemoteHandle):
            return value._remote_handle
        what = f"a {type(value).__name__} cannot be passed to the program: {short_repr(value)}"
        raise UnsendableValue(what) if trace_of(value) is None else _UnsendableException(what)

    def apply_changes(self, passed: dict[Any, object], changed: Any) -> None:
        """Apply the program's changes of its copies to lists, dictionaries and sets."""
        for each in changed if type(changed) is list else ():
            match each:
                case [int(at) | str(at), encoded] if at in passed:
                    _update(passed[at], self._decode_value(encoded))
                case _:
                    raise self._protocol_error("a change of something that is no argument")

    def _decode_value(self, encoded: Any) -> Any:
        try:
            value = decode(encoded, self._remote_object)
        except MalformedMessage as error:
            raise self._protocol_error(f"a message that is {error}") from None
        self._received_large = self._received_large or not _is_small(value)
        return value

    def _remote_object(self, number: int) -> RemoteHandle:
        return self._remote_objects.setdefault(number, self.handle(self, number))

    def _exchange(self, request: list[Any]) -> Any:
        if self.program_error or self._channel is None:
            raise TestsAborted
        try:
            send(self._channel, request)
            reply = receive(self._channel)
        except UnsendableValue as error:
            raise self._send_error(error) from None
        except ChannelClosed:
            self.program_error = "the program ended before it had answered"
            raise TestsAborted from None
        except MalformedMessage as error:
            raise self._protocol_error(str(error)) from None
        match reply:
            case {"value": value}:
                return value
            case {"raised": str(name), "message": message, "trace": str(trace)}:
                raise self._build_raised(name, message, trace)
            case _:
                raise self._protocol_error("an invalid reply")

    def _build_raised(self, name: str, message: Any, trace: str) -> BaseException:
        self._received_large = True
        try:
            error = build_exception(name, decode(message, _reject_handle))
        except MalformedMessage as malformed:
            return self._protocol_error(f"a message that is {malformed}")
        vars(error)[_TRACE_ATTRIBUTE] = trace[-MAX_TEXT:]
        return error

    def _protocol_error(self, what: str) -> TestsAborted:
        self.program_error = f"the program sent {what}"
        return TestsAborted()

    def _send_error(self, error: UnsendableValue) -> TestsAborted:
        # Tests pass on values of the program: it must not avoid a verdict by sending too large ones.
        if isinstance(error, _UnsendableException) or (
            isinstance(error, ValueTooLarge) and self._received_large
        ):
            self.program_error = str(error)
        else:
            self.tests_error = str(error)
        return TestsAborted()


def trace_of(error: object) -> str | None:
    """The traceback of an exception that the program raised; None for anything else."""
    return vars(error).get(_TRACE_ATTRIBUTE) if isinstance(error, BaseException) else None


def _reject_handle(number: int) -> NoReturn:
    raise MalformedMessage(f"not a plain value but handle {number}")


def _is_small(value: object) -> bool:
    """Whether a value is neither deep nor large, nor can yield such a value."""
    if type(value) is int:
        return value.bit_length() <= _SMALL_INT_BITS
    return isinstance(value, RemoteHandle | bool | float | None)


def _update(old: Any, new: Any) -> None:
    if type(old) is not type(new):
        return
    if type(old) in (list, bytearray):
        old[:] = new
    elif type(old) in (dict, set):
        old.clear()
        old.update(new)


def _short_text(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} …"


def build_exception(name: str, message: object) -> Exception:
    """An exception of the built-in class of that name; one with a meaning to Python becomes a RuntimeError."""
    kind = vars(builtins).get(name)
    reserved = (StopIteration, StopAsyncIteration, Warning)
    if not isinstance(kind, type) or not issubclass(kind, Exception) or issubclass(kind, reserved):
        return RuntimeError(f"{name}: {message}")
    try:
        return kind(message)
    except TypeError:
        return ValueError(message)
