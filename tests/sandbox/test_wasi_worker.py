"""What a guest in WebAssembly can ask of its host, and how its ending is read. Needs no engine."""

from __future__ import annotations

import io
import time
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import PATIENCE

from autoreason.sandbox import wasi_worker
from autoreason.sandbox.wasi_worker import HEADER, Door, Order, Pipe, Watch, framed

ORDER = Order(
    source=b"print(1)", part="program", stdin=b"", seconds=1, wall=4, memory=1 << 26, output=100
)


class Line:
    """What goes over the pipe of a door, and what is answered."""

    def __init__(self, *answers: bytes) -> None:
        self.sent = io.BytesIO()
        self.pipe = Pipe(io.BytesIO(b"".join(framed(each) for each in answers)), self.sent)


def test_a_door_brings_the_source_and_our_own_modules() -> None:
    door = Door(ORDER, Line().pipe)
    assert door(b"s") == b"print(1)"
    assert b"def serve(" in door(b"mserving")


@pytest.mark.parametrize("name", [b"", b"base", b"../../errors", b"/etc/passwd", b"values.py"])
def test_a_door_brings_no_other_file(name: bytes) -> None:
    with pytest.raises(ValueError, match="unpack"):
        Door(ORDER, Line().pipe)(b"m" + name)


@given(st.binary())
def test_a_door_answers_its_five_requests_and_no_other(asked: bytes) -> None:
    line = Line(b"answer")
    if asked[:1] in (b"s", b"m", b"n", b"w", b"r"):
        asked = b"x" + asked
    with pytest.raises(KeyError):
        Door(ORDER, line.pipe)(asked)
    assert line.sent.getvalue() == b""


@given(st.integers())
def test_no_guest_makes_its_host_read_more_than_a_little_at_once(size: int) -> None:
    line = Line(b"hello")
    assert Door(ORDER, line.pipe)(b"r%d" % size) == b"hello"
    told = msgspec.msgpack.decode(line.sent.getvalue()[HEADER:], type=wasi_worker.Read)
    assert 1 <= told.size <= wasi_worker.READ_AT_ONCE


def _done(**changed: Any) -> Any:
    return SimpleNamespace(**{"trapped": None, "exit_code": 0, "truncated": ()} | changed)


@pytest.mark.parametrize(
    ("done", "note", "ended"),
    [
        (_done(), b"", "exit"),
        (_done(exit_code=3), b"", "exit"),
        (_done(exit_code=1), b"memory", "memory"),
        (_done(truncated=("stdout",)), b"", "output"),
        (_done(truncated=("stderr",)), b"", "exit"),
        (_done(truncated=("stdout",), trapped="cancelled", exit_code=None), b"", "output"),
        (_done(trapped="deadline", exit_code=None), b"", "wall"),
        (_done(trapped="cancelled", exit_code=None), b"", "cpu"),
        (_done(trapped="cancelled", exit_code=None), b"threads", "cpu"),
        (_done(trapped="unreachable", exit_code=None), b"", "signal"),
        (_done(trapped="stack overflow", exit_code=None), b"", "broken"),
        (_done(exit_code=1), b"threads", "broken"),
        (_done(exit_code=1), b"nonsense", "exit"),
    ],
)
def test_how_a_guest_ended_is_read_from_the_engine_first(
    done: Any, note: bytes, ended: str
) -> None:
    assert wasi_worker._ending(done, note)[0] == ended


def test_a_guest_is_stopped_when_its_processor_time_is_used_up() -> None:
    with Watch(0.05) as watch:
        until = time.monotonic() + PATIENCE
        while not watch.stop.is_set() and time.monotonic() < until:
            sum(range(1000))
        assert watch.stop.is_set()
        assert watch.used < 2


def test_a_guest_that_only_waits_uses_up_nothing() -> None:
    with Watch(0.2) as watch:
        assert not watch.stop.wait(0.4)
