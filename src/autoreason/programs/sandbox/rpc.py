"""Calls between tests and a program in another process: values, messages, the tests' client, the program's server.

Standard library only: this runs inside jails. Plain built-in types are sent, all other objects stay and send a handle.
Messages are JSON and nothing is ever looked up by a name in them, so the program can only cause values and raised
exceptions, never anything that could end the tests or equal what it is not.
"""

from __future__ import annotations

import builtins
import json
import linecache
import operator
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
MAX_MESSAGE_BYTES = 16 << 20
MAX_DEPTH = 200
MAX_TEXT = 4000
"""Characters of a value, call or traceback that are reported."""
_HEADER = 4
_MAX_HANDLE = 1 << 63
"""No honest side needs as many; a number without limit would fill every message."""

CHANNEL_RUNNERS = {
    "candidate": ("rpc", "serve"),
    "tests": ("test_driver", "drive"),
    "artifact": ("test_driver", "serve_artifact"),
    "evaluator": ("test_driver", "score"),
}
"""Roles whose code has a channel, and the functions that run it: each is given the code and the channel."""


def cache_source(name: str, source: str) -> None:
    """Let tracebacks show a program's lines, although there is no such file."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


RegisterObject = Callable[[object], int]
"""Stores an object that cannot be sent, and returns its handle."""
LookUpObject = Callable[[int], object]


class UnsendableValue(Exception):
    """A value that cannot be sent, and why."""


class ValueTooLarge(UnsendableValue):
    """A value that is too deep or too large to be sent."""


class MalformedMessage(Exception):
    """A message arrived that no honest side sends."""


class ChannelClosed(Exception):
    """The other side has closed the channel."""


def encode(value: object, register: RegisterObject, depth_left: int = MAX_DEPTH) -> Any:
    """A value in JSON types; an object without a plain form is registered, and its handle sent."""
    kind = type(value)
    if kind in _SCALAR_TYPES:
        return value
    if not depth_left:
        raise ValueTooLarge(f"a value nested more than {MAX_DEPTH} deep cannot be sent")
    base = next((each for each in kind.__mro__ if each in _ENCODERS), None)
    if base is None:
        return {"k": register(value)}
    return _ENCODERS[base](value, lambda inner: encode(inner, register, depth_left - 1))


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
        if type(content) is not int or not 0 <= content < _MAX_HANDLE:
            raise MalformedMessage("not a handle")
        return look_up(content)
    if tag in _SCALAR_DECODERS:
        return _SCALAR_DECODERS[tag](content)
    if tag not in _CONTAINER_DECODERS or type(content) is not list:
        raise MalformedMessage("not a value")
    return _CONTAINER_DECODERS[tag]([_decode(each, look_up, depth_left - 1) for each in content])


def _complex(parts: Any) -> complex:
    real, imaginary = parts
    if type(real) is not float or type(imaginary) is not float:
        raise MalformedMessage("not a complex number")
    return complex(real, imaginary)


def _slice(parts: list[Any]) -> slice:
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


_UNSET = object()
_TRACE_ATTRIBUTE = "_trace_in_the_program"
_SMALL_INT_BITS = 64


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
        value = self._remote_client.request("getattr", self, name)
        return self._remote_client.label(value, f"{self._remote_client.name_of(self)}.{name}")

    def __setattr__(self, name: str, value: object) -> None:
        self._remote_client.request("setattr", self, name, value)


class RemoteObject(RemoteHandle):
    """An object of the program that can be used as a value."""

    __slots__ = ()

    def __getitem__(self, key: object) -> object:
        return self._remote_client.request("getitem", self, key)

    # Used by `in`, too: the tests compare, so no object can claim to contain what it does not.
    def __iter__(self) -> Iterator[object]:
        return self._remote_client.query("iter", self, RemoteObject)

    def __next__(self) -> object:
        """The next value of an iterator; `StopIteration` is raised here and nowhere else."""
        values = self._remote_client.query("next", self, list)
        if len(values) > 1:
            raise self._remote_client._protocol_error("more than one value at a time")
        if not values:
            raise StopIteration
        return values[0]

    def __len__(self) -> int:
        return self._remote_client.query("len", self, int)

    def __bool__(self) -> bool:
        return self._remote_client.query("bool", self, bool)

    def __str__(self) -> str:
        return self._remote_client.text_of(self, "str")

    def __repr__(self) -> str:
        return self._remote_client.text_of(self, "repr")


class ProgramClient:
    """Requests names, calls and values from the program."""

    handle: type[RemoteHandle] = RemoteObject

    def __init__(self, channel: int) -> None:
        self._channel: int | None = channel
        self._remote_objects: dict[int, RemoteHandle] = {}
        self._labels: dict[int, str] = {}
        self._call: tuple[int, tuple[object, ...], dict[str, object]] | None = None
        self._returned: object = _UNSET
        self._received_large = False
        """Whether the program has sent anything that can be deep or large."""
        self.program_error = ""
        self.tests_error = ""

    def names(self, wanted: list[str]) -> dict[str, object]:
        sent = self._exchange(["names", wanted])
        if type(sent) is not dict or not sent.keys() <= set(wanted):
            raise self._protocol_error("names that were not requested")
        return {name: self.label(self._decode_value(value), name) for name, value in sent.items()}

    def call(self, number: int, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Call a remote object; a call that returns None may have changed its arguments."""
        self._call, self._returned = (number, args, kwargs), _UNSET
        encoded = [self._encode_value(each) for each in args]
        named = {name: self._encode_value(each) for name, each in kwargs.items()}
        reply = self._exchange(["call", number, encoded, named])
        if type(reply) is not dict or "is" not in reply:
            raise self._protocol_error("an invalid reply")
        self._returned = self._decode_value(reply["is"])
        if self._returned is None:
            self.apply_changes(dict(enumerate(args)) | kwargs, reply.get("changed"))
        return self._returned

    def request(self, operation: str, target: RemoteHandle, *operands: object) -> object:
        sent = [self._encode_value(each) for each in operands]
        return self._decode_value(self._exchange([operation, target._remote_handle, *sent]))

    def query(self, operation: str, target: RemoteHandle, kind: type[T]) -> T:
        """A length, truth, text, iterator or item, of exactly the type it has to be."""
        value = self.request(operation, target)
        if type(value) is not kind:
            raise self._protocol_error(f"no {kind.__name__} where one was requested")
        return value

    def text_of(self, target: RemoteHandle, operation: str) -> str:
        """A remote object as text: by the program while it answers, by its name afterwards."""
        if self._channel is None or self.program_error:
            return f"<{self.name_of(target)}>"
        return self.query(operation, target, str)

    def label(self, value: object, name: str) -> object:
        """The same value, which is shown under that name if it stays in the program."""
        if isinstance(value, RemoteHandle):
            self._labels.setdefault(value._remote_handle, name)
        return value

    def name_of(self, target: RemoteHandle) -> str:
        return self._labels.get(target._remote_handle, "object")

    def close(self) -> tuple[str, str]:
        """Send no more requests; return the last call and its result, both as text."""
        called = returned = ""
        if self._returned is not _UNSET:
            returned = self._describe(self._returned)
        # Arguments are shown by the tests themselves, without asking the program.
        self._channel = None
        if self._call is not None:
            number, args, kwargs = self._call
            named = (f"{name}={_short_text(each)}" for name, each in kwargs.items())
            arguments = ", ".join([*map(_short_text, args), *named])
            called = f"{self._labels.get(number, 'object')}({arguments})"[:MAX_TEXT]
        return called, returned

    def _describe(self, value: object) -> str:
        try:
            text = _short_text(value)
            if type(value) is RemoteObject:
                kind = self.query("type", value, str)
                text = f"{text} (a {kind}, which equals nothing in the tests)"
        except (TestsAborted, Exception):
            # The program can no longer show it.
            self._channel = None
            text = _short_text(value)
        return text

    def _encode_value(self, value: object) -> Any:
        try:
            return encode(value, self._handle_of)
        except UnsendableValue as error:
            raise self._send_error(error) from None

    def _handle_of(self, value: object) -> int:
        if isinstance(value, RemoteHandle):
            return value._remote_handle
        what = f"a {type(value).__name__} cannot be passed to the program"
        raise UnsendableValue(what) if trace_of(value) is None else _UnsendableException(what)

    def apply_changes(self, passed: dict[Any, object], changed: Any) -> None:
        """Apply the program's changes of its copies to lists, dictionaries and sets."""
        for each in changed if type(changed) is list else ():
            match each:
                case [int(at) | str(at), encoded] if at in passed:
                    _update(passed[at], self._decode_value(encoded))
                case _:
                    raise self._protocol_error("a change of something that is not an argument")

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
                self._received_large = True
                raise self._build_raised(name, message, trace)
            case _:
                raise self._protocol_error("an invalid reply")

    def _build_raised(self, name: str, message: Any, trace: str) -> BaseException:
        try:
            error = build_exception(name, decode(message, _reject))
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


def failure_trace(error: BaseException) -> str:
    """The program's own traceback where it raised; otherwise that of its caller."""
    if isinstance(error, TestsAborted):
        return ""
    own, within = trace_of(error), error.__traceback__ and error.__traceback__.tb_next
    text = "".join(traceback.format_exception(type(error), error, within)) if own is None else own
    return text[-MAX_TEXT:]


def _reject(what: object) -> NoReturn:
    raise MalformedMessage(f"not a plain value but {type(what).__name__}")


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


MODULE_NAME = "solution"
"""Not `__main__`: code under the usual guard must not run here."""


def serve(code: CodeType, channel: int) -> None:
    """Run a program as a module and answer requests over the channel until it is closed.

    It is in one process with a program that can change it at will. The other side trusts nothing here.
    """
    module = ModuleType(MODULE_NAME)
    module.__file__ = code.co_filename
    sys.modules[MODULE_NAME] = module
    try:
        exec(code, module.__dict__)
    except Exception as error:
        print(_trace(error), end="", file=sys.stderr, flush=True)
        raise SystemExit(1) from None
    serve_names(module.__dict__, channel)


def serve_names(names: dict[str, Any], channel: int) -> None:
    server = ProgramServer(names)
    try:
        while True:
            answer = server.answer(receive(channel))
            try:
                send(channel, answer)
            except ValueTooLarge as error:
                send(channel, _encode_error(error))
    except (ChannelClosed, MalformedMessage):
        # Exit at once: a regular exit would wait for threads that are still busy.
        os._exit(0)


class ProgramServer:
    """A program's names, and those of its objects that the tests have handles for."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}

    def answer(self, request: Any) -> Any:
        try:
            match request:
                case ["names", wanted]:
                    return {"value": self.names(wanted)}
                case ["call", number, args, kwargs]:
                    return {"value": self._call(number, args, kwargs)}
                case ["arguments_after", number, sent]:
                    arguments = self._decode(sent)
                    self._objects[number](*arguments)
                    return {"value": self._encode(arguments)}
            operation, number, *operands = request
            value = _OPERATIONS[operation](self._objects[number], *map(self._decode, operands))
            return {"value": self._encode(value)}
        except SystemExit:
            raise
        except BaseException as error:
            return _encode_error(error)

    def _register(self, value: object) -> int:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return self._numbers[id(value)]

    def _encode(self, value: object) -> Any:
        return encode(value, self._register)

    def _decode(self, sent: Any) -> Any:
        return decode(sent, self._objects.__getitem__)

    def names(self, wanted: list[str]) -> dict[str, Any]:
        """The program's globals of these names, as far as it has them; as handles where they cannot be sent.

        The tests may only use the same name for a variable: that must not cost the program anything.
        """
        values, share = {}, MAX_MESSAGE_BYTES // (len(wanted) + 1)
        for name in (each for each in wanted if each in self._names):
            value, sent = self._names[name], None
            with suppress(ValueTooLarge, MemoryError):
                sent = [self._encode(value)]
            small = sent is not None and len(encode_message(sent)) <= share
            values[name] = sent[0] if sent and small else {"k": self._register(value)}
        return values

    def _call(self, number: int, sent: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        """What a call returns; where that is None, also how it changed its arguments."""
        args = [self._decode(each) for each in sent]
        kwargs = {name: self._decode(each) for name, each in named.items()}
        value = self._objects[number](*args, **kwargs)
        if value is not None:
            return {"is": self._encode(value)}
        before: dict[Any, Any] = dict(enumerate(sent)) | named
        after = {at: self._encode(each) for at, each in (*enumerate(args), *kwargs.items())}
        return {
            "is": None,
            "changed": [[at, new] for at, new in after.items() if new != before[at]],
        }


def _next(iterator: Any) -> list[object]:
    value = next(iterator, _UNSET)
    return [] if value is _UNSET else [value]


_OPERATIONS: dict[str, Callable[..., object]] = {
    "getattr": getattr,
    "setattr": setattr,
    "getitem": operator.getitem,
    "iter": iter,
    "next": _next,
    "len": len,
    "bool": bool,
    "str": str,
    "repr": repr,
    "type": lambda target: type(target).__name__,
}


def _encode_error(error: BaseException) -> Any:
    if isinstance(error, UnsendableValue):
        # Where in this module it was raised helps no one.
        error = Exception(str(error))
    kind = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
    return {"raised": kind, "message": _message(error), "trace": _trace(error)}


def _message(error: BaseException) -> Any:
    """The message of an exception; a missing key itself, whose text would be quoted again on the other side."""
    with suppress(Exception):
        if type(error).__str__ is KeyError.__str__ and len(error.args) == 1:
            return encode(error.args[0], _reject)
    with suppress(Exception):
        return str(error)
    return ""


def _trace(error: BaseException) -> str:
    within = error.__traceback__
    while within and within.tb_frame.f_code.co_filename == __file__:
        within = within.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, within))
    except Exception:
        return type(error).__name__
