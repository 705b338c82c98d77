"""The tests' side of function tests: they run here, and what they call is in another process.

Standard library only: this runs inside a jail of its own. How the process ends is the verdict, and only the tests
decide that: the program is heard as values and as raised exceptions, never as anything that could end the tests or
equal what it is not.
"""

from __future__ import annotations

import builtins
import json
import linecache
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any, NoReturn

from autoreason.sandbox.values import (
    Gone,
    Malformed,
    TooMuch,
    Uncrossable,
    decode,
    encode,
    receive,
    send,
)

PASSED = 0
FAILED = 10
"""An assertion does not hold, or the tests stumbled over what they were given."""
RAISED = 11
"""The program raised something the tests did not expect, or lacks what they call."""
LOST = 12
"""The program is gone, or sent what is no message."""
UNFIT = 13
"""The tests themselves cannot be held."""
EXHAUSTED = 14
"""The program, or a value of its, ran out of memory."""
_LONGEST = 4000
_NOTHING = object()
_TESTS, _SETUP = "tests.py", "setup.py"
"""What they are called in tracebacks; the latter where the tests come apart from what precedes them."""


class Ended(BaseException):
    """The tests cannot go on; nothing in them may take it for an exception they expect."""


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

    def __iter__(self) -> Iterator[object]:
        return self._held_by.iterate(self._held_number)

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
        self.raised: tuple[BaseException | None, str] = (None, "")
        """What the program raised last, and its own traceback."""
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
            self._change(args, reply.get("changed"))
        return self._returned

    def attribute(self, number: int, name: str) -> object:
        """An attribute of something held."""
        value = self.ask("attribute", number, name)
        self._label(value, f"{self._labels.get(number, 'object')}.{name}")
        return value

    def ask(self, *question: Any) -> object:
        """Ask for one value."""
        return self._received(self._exchange(list(question)))

    def iterate(self, number: int) -> Iterator[object]:
        """Go through something held, one at a time."""
        iterator = self._exchange(["begin", number])
        while True:
            following = self._exchange(["following", iterator])
            if type(following) is not list or len(following) > 1:
                raise self._forged("more than one value at a time")
            if not following:
                return
            yield self._received(following[0])

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
        """Ask no more; tell the last call and what it returned."""
        self._channel = None
        if self._call is None:
            return "", ""
        number, args, kwargs = self._call
        given = [*map(_short, args), *(f"{name}={_short(each)}" for name, each in kwargs.items())]
        called = f"{self._labels.get(number, 'object')}({', '.join(given)})"
        return called[:_LONGEST], "" if self._returned is _NOTHING else _short(self._returned)

    def _label(self, value: object, name: str) -> None:
        if type(value) is Held:
            self._labels.setdefault(value._held_number, name)

    def _number(self, value: object) -> int:
        if type(value) is not Held:
            raise Uncrossable(f"a {type(value).__name__} cannot be passed to the program")
        return value._held_number

    def _change(self, args: tuple[object, ...], changed: Any) -> None:
        """Do to lists, dictionaries and sets what the program did to its copies."""
        for each in changed if type(changed) is list else ():
            match each:
                case [int(at), sent] if 0 <= at < len(args):
                    _update(args[at], self._received(sent))
                case _:
                    raise self._forged("a change of what is no argument")

    def _received(self, sent: Any) -> Any:
        try:
            value = decode(sent, self._ticket)
        except Malformed as error:
            raise self._forged(f"what is {error}") from None
        self._given = self._given or type(value) not in (Held, type(None), bool, int, float)
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
            case {"raised": str(name), "message": str(message), "trace": str(trace)}:
                self.raised = (made(name, message), trace)
                raise self.raised[0]
            case _:
                raise self._forged("a reply that is none")

    def _forged(self, what: str) -> Ended:
        self.lost = f"the program sent {what}"
        return Ended()

    def _cannot(self, error: Uncrossable) -> Ended:
        # Tests pass on what the program returned: it must not get out of a verdict by returning too much.
        if isinstance(error, TooMuch) and self._given:
            self.lost = str(error)
        else:
            self.unfit = str(error)
        return Ended()


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
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def made(name: str, message: str) -> Exception:
    """An exception of the built-in class of that name; one that steers Python itself becomes a RuntimeError."""
    kind = vars(builtins).get(name)
    steers = (StopIteration, StopAsyncIteration, Warning)
    if not isinstance(kind, type) or not issubclass(kind, Exception) or issubclass(kind, steers):
        return RuntimeError(f"{name}: {message}")
    try:
        return kind(message)
    except TypeError:
        return ValueError(message)


def drive(code: CodeType, channel: int) -> NoReturn:
    """Run the tests against the program at the other end, tell what failed, and leave with the verdict."""
    driver = Driver(channel)
    wanted, more = json.loads(sys.stdin.read())
    sys.stdout = sys.stderr
    status, error = PASSED, None
    try:
        codes = [_named(code, _SETUP), _compiled(more)] if more else [_named(code, _TESTS)]
        names = _surroundings(codes, driver, wanted)
        for each in codes:
            exec(each, names)
    except BaseException as raised:
        status, error = _judged(raised, driver), raised
    if driver.unfit or driver.lost:
        status = UNFIT if driver.unfit else LOST
    # The verdict stands; a report that cannot be made takes nothing from it.
    with suppress(BaseException):
        sys.stderr.flush()
        os.write(1, json.dumps(_report(error, driver)).encode())
    os._exit(status)


def _named(code: CodeType, name: str) -> CodeType:
    """The same code from a file of that name, so that nobody takes its lines for the program's."""
    _remember(name, linecache.getlines(code.co_filename))
    return _renamed(code, name)


def _renamed(code: CodeType, name: str) -> CodeType:
    inner = (_renamed(c, name) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=name, co_consts=tuple(inner))


def _compiled(source: str) -> CodeType:
    """Tests too long to come as a program; tracebacks show them all the same."""
    _remember(_TESTS, source.splitlines(keepends=True))
    return compile(source, _TESTS, "exec", dont_inherit=True)


def _remember(name: str, lines: list[str]) -> None:
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)


def _surroundings(codes: list[CodeType], driver: Driver, always: list[str]) -> dict[str, object]:
    """The globals of the tests: modules are ours, names nobody else defines are the program's."""
    module = ModuleType("tests")
    sys.modules["tests"] = module
    named = {name for code in codes for name in _names(code)}
    names = named - set(vars(builtins)) | set(always)
    ours = {name for name in names if name in sys.stdlib_module_names and name in sys.modules}
    module.__dict__.update((name, sys.modules[name]) for name in ours - set(always))
    module.__dict__.update(driver.names(sorted(names - ours | set(always))))
    return module.__dict__


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _judged(error: BaseException, driver: Driver) -> int:
    match error:
        case SystemExit():
            return FAILED if error.code else PASSED
        case MemoryError():
            return EXHAUSTED
        case ImportError() if error is not driver.raised[0]:
            driver.unfit = f"{error}"
            return UNFIT
        case NameError() if type(error) is NameError:
            return RAISED
    return RAISED if error is driver.raised[0] else FAILED


def _report(error: BaseException | None, driver: Driver) -> dict[str, str]:
    """What helps to see why: the last call, the line that failed, the traceback."""
    if error is None and not driver.lost:
        return {}
    called, got = driver.hang_up()
    return {
        "called": called,
        "got": got,
        "trace": _trace(error, driver),
        "line": _line(error),
        "reason": driver.unfit or driver.lost or _missing(error, driver),
    }


def _missing(error: BaseException | None, driver: Driver) -> str:
    """The name that the tests use and the program lacks, in words."""
    lacks = isinstance(error, NameError) and error is not driver.raised[0] and error.name
    return f"it defines no {lacks}" if lacks else ""


def _trace(error: BaseException | None, driver: Driver) -> str:
    """The program's own traceback where it raised; otherwise that of the tests."""
    if error is None or isinstance(error, Ended):
        return ""
    if error is driver.raised[0]:
        return driver.raised[1][-_LONGEST:]
    within = error.__traceback__.tb_next if error.__traceback__ else None
    return "".join(traceback.format_exception(type(error), error, within))[-_LONGEST:]


def _line(error: BaseException | None) -> str:
    """The line of the tests at which they failed."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    lines = [frame.line for frame in frames if frame.filename in (_TESTS, _SETUP)]
    return (lines[-1] or "")[:_LONGEST] if lines else ""
