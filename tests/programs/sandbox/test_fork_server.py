"""Every limit ends a run, and what is within the limits is left alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from tests.cases import cases
from tests.programs.sandbox.rig import LEVELS, Rig, rigged

from autoreason.programs.sandbox.base import SOURCE_LIMIT, Level, RunLimits, max_idle_seconds
from autoreason.programs.sandbox.fork_server import MAX_MESSAGE_BYTES, ProgramSpec


def test_the_longest_source_fits_into_a_message() -> None:
    assert len(ProgramSpec("program", 1.0, 1, 1, "x" * SOURCE_LIMIT).pack()) <= MAX_MESSAGE_BYTES


SECOND = RunLimits(seconds=1.0, memory=256 << 20, output=1 << 20)


@pytest.fixture(scope="module", params=LEVELS)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    level: Level = request.param
    with rigged(level) as made:
        yield made


@cases(
    "source",
    [
        "while True: pass",
        "import re\nre.match('(a*)*b', 'a' * 40)",
        "10 ** 10 ** 9",
        "import signal\nfor n in range(1, 65):\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "while True: pass",
    ],
)
def test_processor_time_ends_a_run_close_to_the_limit(rig: Rig, source: str) -> None:
    ran = rig.run(source, limits=RunLimits(seconds=0.2))
    assert ran.end_reason == "cpu"
    assert ran.seconds < 0.4


def test_time_over_the_limit_counts_even_if_the_run_came_to_its_end(rig: Rig) -> None:
    source = "import time\nwhile time.process_time() < 0.3: pass\nprint('done')"
    assert rig.run(source, limits=RunLimits(seconds=0.2)).end_reason == "cpu"
    assert rig.run(source, limits=RunLimits(seconds=2.0)).end_reason == "exit"


def test_the_clock_ends_what_does_not_compute_and_what_takes_too_long_to_compile(rig: Rig) -> None:
    ran = rig.run("import time\ntime.sleep(60)", limits=RunLimits(seconds=0.1))
    assert ran.end_reason == "wall"
    assert ran.seconds < 0.1
    assert max_idle_seconds(0.1) <= ran.wall < 10
    source = "import time\nwhile time.process_time() < 0.2: pass\nwhile True: time.sleep(0.05)"
    ran = rig.run(source, limits=RunLimits(seconds=0.4))
    assert ran.end_reason == "wall"
    assert max_idle_seconds(0.4) <= ran.wall < 10
    lines = ["def f():"]
    for depth in range(1, 15):
        lines += [" " * depth + "try:a", " " * depth + "finally:"]
    bomb = "\n".join([*lines, " " * 16 + "a"] * 100)
    ran = rig.run(bomb, limits=RunLimits(seconds=1.0))
    assert (ran.end_reason, ran.detail) == ("cpu", "compiling the program took too long")
    assert rig.run("print(1)").stdout == b"1\n"


def test_what_is_imported_is_not_held_against_the_program(rig: Rig) -> None:
    imports = "import asyncio, unittest, email.mime.text, xml.dom.minidom, http.client, multiprocessing.pool\n"
    ran = rig.run(imports + "print(1)", limits=RunLimits(seconds=5.0, memory=16 << 20))
    assert (ran.end_reason, ran.stdout) == ("exit", b"1\n")


@cases(
    "source",
    [
        "x = bytearray(1 << 30)",
        "x = []\nwhile True: x.append('x' * 100_000)",
        "import threading\nthreading.stack_size(64 << 20)\n"
        "def wait(): threading.Event().wait()\n"
        "x = [0] * 10**9",
        "import mmap\nx = [mmap.mmap(-1, 64 << 20) for _ in range(10)]",
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nx = bytearray(1 << 30)",
    ],
)
def test_memory_ends_a_run(rig: Rig, source: str) -> None:
    ran = rig.run(source, limits=SECOND)
    assert ran.end_reason == "memory"
    assert ran.memory is not None
    assert ran.memory < 320 << 20


def test_memory_within_the_limit_is_had(rig: Rig) -> None:
    ran = rig.run("x = bytearray(200 << 20)\nprint(len(x))", limits=SECOND)
    assert (ran.end_reason, ran.stdout) == ("exit", b"209715200\n")
    assert ran.memory is not None
    assert ran.memory > 200 << 20


@cases(
    "source",
    [
        "while True: print('x' * 1000)",
        "import sys\nwhile True: sys.stderr.write('x' * 100_000)",
        "print('x' * (1 << 20))",
        "import os\nos.ftruncate(1, 1 << 30)\nos.lseek(1, 2 << 20, 0)\nos.write(1, b'x')",
    ],
)
def test_output_ends_a_run(rig: Rig, source: str) -> None:
    ran = rig.run(source, limits=RunLimits(seconds=5, output=1 << 20))
    if "ftruncate" in source and ran.end_reason == "exit":
        assert ran.status == 1  # a file cannot be made that large at once
    else:
        assert ran.end_reason == "output"
    assert len(ran.stdout) <= 1 << 20
    assert len(ran.stderr) <= 1 << 20


def test_output_up_to_the_limit_is_kept_whole_and_much_input_read(rig: Rig) -> None:
    ran = rig.run("print('x' * 999_999)", limits=RunLimits(output=1_000_000))
    assert (ran.end_reason, len(ran.stdout)) == ("exit", 1_000_000)
    ran = rig.run("import sys\nprint(len(sys.stdin.read()))", b"x" * (8 << 20))
    assert ran.stdout == b"8388608\n"


def test_a_long_source_is_refused_in_words_and_one_just_short_enough_is_run(rig: Rig) -> None:
    line = "x = 1\n"
    fits = line * (SOURCE_LIMIT // len(line))
    assert rig.run(fits + "#" * (SOURCE_LIMIT - len(fits))).status == 0
    ran = rig.run(fits + "#" * len(line))
    assert (ran.end_reason, ran.status) == ("exit", 1)
    assert b"at most 65,536 are run" in ran.stderr


@cases("source", ["(" * 300 + ")" * 300, "-" * 60_000 + "1", "x = 1\0", "'\ud800'"])
def test_what_cannot_be_compiled_ends_like_any_error(rig: Rig, source: str) -> None:
    first, second = rig.runs(source, [b"", b""], SECOND)
    assert (first.end_reason, first.status) == (second.end_reason, second.status)
    assert first.end_reason in ("exit", "signal", "memory")
    assert first.status != 0
    assert b"Error" in first.stderr


@cases("value", ["[nested]", "{0: nested}"])
def test_a_nested_value_that_fills_the_memory_is_called_too_large(rig: Rig, value: str) -> None:
    source = f"def f():\n    nested = None\n    while True: nested = {value}\nf()"
    ran = rig.run(source, limits=RunLimits(seconds=10, memory=64 << 20))
    assert ran.end_reason == "memory", ran


def test_a_program_may_name_every_module_there_is(rig: Rig) -> None:
    names = sorted(sys.stdlib_module_names - {"antigravity", "this"})
    tries = (f"try: import {name}\nexcept ImportError: pass" for name in names)
    ran = rig.run("\n".join([*tries, "print('done')"]), limits=RunLimits(seconds=5))
    assert (ran.end_reason, ran.stdout) in (("exit", b"done\n"), ("cpu", b""))


def test_a_session_goes_on_after_every_kind_of_end(rig: Rig) -> None:
    source = """
import sys, time
match sys.stdin.read():
    case "cpu":
        while True: pass
    case "memory":
        bytearray(1 << 40)
    case "exit":
        print("fine")
    case "signal":
        import os
        os.kill(os.getpid(), 9)
    case "output":
        while True: print("x" * 10_000)
"""
    kinds = ["exit", "cpu", "exit", "memory", "signal", "output", "exit"]
    runs = rig.runs(
        source, [kind.encode() for kind in kinds], RunLimits(seconds=0.3, output=1 << 16)
    )
    assert [ran.end_reason for ran in runs] == kinds
