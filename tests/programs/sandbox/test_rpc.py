"""Plain built-in values are sent unchanged; nothing else is."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections import Counter, OrderedDict, defaultdict, namedtuple
from collections.abc import Iterator
from enum import IntEnum, StrEnum
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.programs.sandbox import rpc
from autoreason.programs.sandbox.rpc import (
    MAX_DEPTH,
    ChannelClosed,
    MalformedMessage,
    ProgramClient,
    UnsendableValue,
    decode,
    encode,
    failure_trace,
)
from autoreason.programs.sandbox.test_driver import MAX_VALUE_TEXT, canonical, shorten

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4),
    max_leaves=8,
)
plain = st.recursive(
    hashable
    | st.sets(hashable, max_size=4)
    | st.binary().map(bytearray)
    | st.builds(slice, hashable, hashable, hashable),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(hashable, inner, max_size=4)
    ),
    max_leaves=12,
)


def refuse(value: object) -> int:
    raise UnsendableValue(type(value).__name__)


def none(number: int) -> object:
    raise AssertionError(number)


def across(value: object) -> Any:
    """A value as the other side gets it, through the bytes that are sent."""
    return decode(json.loads(json.dumps(encode(value, refuse))), none)


def shape(value: Any) -> Any:
    """The types of a value and of everything in it."""
    if isinstance(value, dict):
        return dict, sorted(repr((shape(k), shape(v))) for k, v in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        shapes = [repr(shape(each)) for each in value]
        return type(value), sorted(shapes) if isinstance(value, set | frozenset) else shapes
    return type(value)


@given(plain)
def test_a_plain_value_arrives_equal_and_of_the_same_types(value: object) -> None:
    arrived = across(value)
    assert arrived == value
    assert shape(arrived) == shape(value)


class Colour(IntEnum):
    RED = 3


class Word(StrEnum):
    YES = "yes"


class Liar(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter([42])

    def __eq__(self, other: object) -> bool:
        return True


Point = namedtuple("Point", "x y")


@cases(
    ("value", "arrived"),
    [
        (Colour.RED, 3),
        (Word.YES, "yes"),
        (Point(1, 2), (1, 2)),
        (Counter("aab"), {"a": 2, "b": 1}),
        (defaultdict(list, {1: [2]}), {1: [2]}),
        (OrderedDict(a=1), {"a": 1}),
        (Liar([1, 2]), [1, 2]),
    ],
)
def test_a_subclass_is_sent_as_the_plain_value_below_it(value: object, arrived: object) -> None:
    assert type(across(value)) is type(arrived)
    assert across(value) == arrived


def test_anything_else_stays_and_sends_a_handle() -> None:
    kept: list[object] = []

    def keep(value: object) -> int:
        kept.append(value)
        return len(kept) - 1

    held = object()
    assert decode(encode([1, held], keep), lambda number: ("handle", number)) == [1, ("handle", 0)]
    assert kept == [held]


def test_nesting_has_an_end_in_both_directions() -> None:
    value: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    assert across(value) == value
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(UnsendableValue):
        encode(endless, refuse)
    with pytest.raises(MalformedMessage):
        decode([value], none)


@cases(
    "sent",
    [
        *({}, {"x": 1}, {"t": 1}, {"t": [], "s": []}, {"s": [[1]]}, {"d": [1]}, {"d": [[1, 2, 3]]}),
        *({"k": -1}, {"k": True}, {"k": "1"}, {"k": 1 << 63}, {"b": "zz"}, {"b": 1}, {"c": [1, 2]}),
        *({"c": "ab"}, {"r": ["a"]}, {"r": [1, 2, 0]}, {"d": [[[1], 2]]}, {"z": {"z": []}}),
        *({"l": 1}, {"l": [1, 2]}, {"t": [{"d": {}}]}),
    ],
)
def test_what_nobody_honest_sends_is_refused(sent: object) -> None:
    with pytest.raises(MalformedMessage):
        decode(sent, none)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("tszdlbacrkx"), inner)
    ),
    max_leaves=10,
)
EXACT = (type(None), bool, int, float, complex, str, bytes, bytearray, range, slice, list, tuple)


@given(json_values)
def test_whatever_is_sent_becomes_exactly_built_in_types_or_is_refused(sent: object) -> None:
    try:
        arrived = decode(sent, lambda number: number)
    except MalformedMessage:
        return
    assert type(arrived) in (*EXACT, dict, set, frozenset)


def sent_through_a_pipe(data: bytes) -> Any:
    read, write = os.pipe()
    try:
        os.write(write, data)
        os.close(write)
        return rpc.receive(read)
    finally:
        os.close(read)


def test_a_channel_that_ends_is_told_from_one_that_sends_nonsense() -> None:
    with pytest.raises(ChannelClosed):
        sent_through_a_pipe(b"")
    with pytest.raises(ChannelClosed):
        sent_through_a_pipe(b"\0\0\0\x05[1")
    with pytest.raises(MalformedMessage):
        sent_through_a_pipe(b"\0\0\0\x02[1")
    with pytest.raises(MalformedMessage):
        sent_through_a_pipe(b"\xff\xff\xff\xff" + b"[" * 100)
    with pytest.raises(MalformedMessage):
        sent_through_a_pipe((60_000).to_bytes(4, "big") + b"[" * 60_000)
    assert sent_through_a_pipe(b"\0\0\0\x03[1]") == [1]


PROGRAM = """
LIMIT = 7
class Box:
    def __init__(self, *items): self.items = list(items)
    def __len__(self): return len(self.items)
    def __getitem__(self, at): return self.items[at]
    def __repr__(self): return f"Box{tuple(self.items)}"
    def add(self, item): self.items.append(item)
def scale(values, *, by): values[:] = [by * each for each in values]
def deep(): return [1]
def fail(key): return {}[key]
def odd(): raise type("Odd", (StopIteration,), {})("odd")
"""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProgramClient]:
    """A client of a program that is served by a thread of this process."""
    monkeypatch.setitem(sys.modules, rpc.MODULE_NAME, ModuleType(rpc.MODULE_NAME))
    calls = SimpleNamespace(read=os.read, write=os.write, _exit=lambda _: None)
    monkeypatch.setattr(rpc, "os", calls)
    ours, theirs = socket.socketpair()
    code = compile(PROGRAM, "program.py", "exec")
    thread = Thread(target=rpc.serve, args=(code, theirs.fileno()))
    thread.start()
    with theirs:
        with ours:
            yield ProgramClient(ours.fileno())
        thread.join()


def test_an_object_that_stays_in_the_program_is_used_as_it_is_there(program: ProgramClient) -> None:
    names: Any = program.names(["Box", "LIMIT", "scale", "missing"])
    assert names.keys() == {"Box", "LIMIT", "scale"}
    assert names["LIMIT"] == 7
    box = names["Box"](1, 2)
    assert (len(box), bool(box), list(box), box[1], 2 in box) == (2, True, [1, 2], 2, True)
    assert str(box) == repr(box) == "Box(1, 2)"
    box.add(3)
    assert box.items == [1, 2, 3]
    box.items = []
    assert not box
    assert box == box
    assert box != names["Box"]()
    given = [1, 2]
    assert names["scale"](given, by=3) is None
    assert given == [3, 6]
    names["Box"](1)
    shown = "Box(1,) (a Box, which equals nothing in the tests)"
    assert program.close() == ("Box(1)", shown)
    assert str(box) == "<object>"


def test_what_a_program_raises_is_raised_with_its_lines(program: ProgramClient) -> None:
    names: Any = program.names(["fail", "odd"])
    with pytest.raises(KeyError) as missing:
        names["fail"]("key")
    assert missing.value.args == ("key",)
    assert 'File "program.py", line 11, in fail' in failure_trace(missing.value)
    with pytest.raises(RuntimeError, match="StopIteration: odd"):
        names["odd"]()
    with pytest.raises(rpc.TestsAborted):
        names["fail"](missing.value)
    assert program.program_error == "a KeyError cannot be passed to the program"
    assert program.close()[1] == ""


@pytest.mark.parametrize(("large", "received"), [(False, True), (True, False), (True, True)])
def test_what_cannot_be_sent_is_the_fault_of_the_side_that_may_have_made_it(
    program: ProgramClient, large: bool, received: bool
) -> None:
    names: Any = program.names(["deep", "fail"])
    assert not received or names["deep"]() == [1]
    with pytest.raises(rpc.TestsAborted):
        names["fail"]("x" * rpc.MAX_MESSAGE_BYTES if large else object())
    assert bool(program.program_error) == (large and received)
    assert bool(program.tests_error) != bool(program.program_error)


@cases(
    ("reply", "said"),
    [
        (None, "the program ended before it had answered"),
        ({"other": 1}, "an invalid reply"),
        ({"value": 1}, "an invalid reply"),
        ({"value": {"is": {"q": 1}}}, "a message that is not a value"),
        ({"value": {"is": None, "changed": [[1, []]]}}, "a change of something that is not an"),
        ({"raised": "KeyError", "message": {"k": 0}, "trace": ""}, "a message that is not a plain"),
    ],
)
def test_a_reply_of_nobody_honest_ends_the_tests_and_is_the_programs_fault(
    reply: object, said: str
) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        if reply:
            rpc.send(theirs.fileno(), reply)
        theirs.shutdown(socket.SHUT_WR)
        client = ProgramClient(ours.fileno())
        with pytest.raises(rpc.TestsAborted):
            client.call(0, ([2],), {})
    assert said in client.program_error


steady = settings(derandomize=True)
whole = st.integers(-(10**30), 10**30)
values = st.recursive(
    st.none() | st.booleans() | whole | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.frozensets(whole, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@steady
@given(values, values)
def test_values_without_fractions_are_the_same_text_exactly_where_they_are_equal(
    one: object, other: object
) -> None:
    assert (canonical(one) == canonical(other)) == (one == other)


@steady
@given(st.lists(whole, max_size=6))
def test_the_order_of_a_set_and_of_keys_does_not_matter(items: list[int]) -> None:
    shuffled = items[::-1]
    assert canonical(set(items)) == canonical(set(shuffled))
    assert canonical(dict.fromkeys(items)) == canonical(dict.fromkeys(shuffled))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, True),
        (0.1 + 0.2, 0.3, True),
        (2.9999999999999996, 3, True),
        ([1e-17], [0], True),
        (5 + 0j, 5, True),
        pytest.param(10**5000, 10**5000, True, id="huge"),
        ([1], (1,), False),
        ("1", 1, False),
        (b"a", "a", False),
        (1.01, 1.02, False),
        (1234567.0, 1234568.0, False),
        ([], None, False),
        pytest.param(10**5000, 10**5000 + 1, False, id="huger"),
        ({1: 2}, {2: 1}, False),
    ],
)
def test_only_what_tests_would_not_tell_apart_is_the_same(
    one: object, other: object, same: bool
) -> None:
    assert (canonical(one) == canonical(other)) is same


@steady
@given(st.text(), st.text())
def test_long_texts_become_short_and_stay_different(one: str, other: str) -> None:
    one, other = one * 100, other * 100
    assert len(shorten(one)) <= MAX_VALUE_TEXT
    assert (shorten(one) == shorten(other)) == (one == other)
