"""Functions are called across a process boundary, and nothing but plain values comes back."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from autoreason.programs.sandbox.base import IdleTimer, ProgramRun, RunLimits, Sandbox
from autoreason.programs.sandbox.levels import find_level, open_sandbox
from autoreason.programs.sandbox.test_driver import (
    DISCONNECTED,
    FAILED,
    OUT_OF_MEMORY,
    PASSED,
    RAISED,
    UNUSABLE,
)

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(find_level().level == "none", reason="no sandbox works on this machine"),
]
LIMITS = RunLimits(seconds=2, memory=128 << 20, output=1 << 16)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = open_sandbox(workers=1)
    yield opened
    await opened.close()


class FunctionTestRun(NamedTuple):
    tests: ProgramRun
    program: ProgramRun

    @property
    def status(self) -> int:
        assert self.tests.end_reason == "exit", self
        return self.tests.status

    @property
    def report(self) -> dict[str, Any]:
        text: dict[str, Any] = json.loads(self.tests.stdout)
        return text


async def run_tests(
    sandbox: Sandbox, program: str, tests: str, *wanted: str, more: str = ""
) -> FunctionTestRun:
    ours, theirs = socket.socketpair()

    def hang_up(end: socket.socket) -> None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

    with ours, theirs:
        async with (
            sandbox.open(program, LIMITS, role="candidate") as called,
            sandbox.open(tests, LIMITS, role="tests") as calling,
            asyncio.TaskGroup() as both,
        ):
            idle = IdleTimer()
            running = both.create_task(called.run(b"", channel=theirs.fileno(), idle=idle))
            asked = json.dumps([wanted, more]).encode()
            testing = both.create_task(calling.run(asked, channel=ours.fileno(), idle=idle))
            running.add_done_callback(lambda _: hang_up(theirs))
            testing.add_done_callback(lambda _: hang_up(ours))
    return FunctionTestRun(testing.result(), running.result())


HONEST = {
    "keywords": ("def f(a, *, b=1): return a - b", "assert f(5, b=2) == 3"),
    "a generator": ("def f(n):\n    yield from range(n)", "assert list(f(3)) == [0, 1, 2]"),
    "an endless one": (
        "from itertools import count\nf = count",
        "from itertools import islice\nassert list(islice(f(), 2)) == [0, 1]",
    ),
    "the next of a generator": (
        "def f(n):\n    yield from range(n)",
        "g = f(2)\nassert iter(g) is g and (next(g), next(g), next(g, 'end')) == (0, 1, 'end')\n"
        "try: next(g)\nexcept StopIteration: pass\nelse: assert False",
    ),
    "an iterator handed back": (
        "from collections import deque\ndef f(): return deque([1, 2])\ndef g(it): return list(it)",
        "it = iter(f())\nassert next(it) == 1\nassert g(it) == [2]",
    ),
    "what is not an iterator": (
        "from collections import deque\ndef f(): return deque([1, 2])",
        "try: next(f())\nexcept TypeError as e: assert 'not an iterator' in str(e)\nelse: assert False",
    ),
    "membership": (
        "from collections import deque\ndef f(): return deque([1, [2]])",
        "assert 1 in f() and [2] in f() and 3 not in f()",
    ),
    "slices": (
        "class A:\n    def __getitem__(self, at): return [1, 2, 3][at]\ndef f(): return A()",
        "assert (f()[1:], f()[::-2], f()[:None]) == ([2, 3], [3, 1], [1, 2, 3])",
    ),
    "a class": (
        "class Stack:\n    def __init__(self): self.items = []\n"
        "    def push(self, x): self.items.append(x)\n    def __len__(self): return len(self.items)",
        "s = Stack()\ns.push(3)\ns.push(4)\nassert s.items == [3, 4] and len(s) == 2",
    ),
    "its objects handed back": (
        "class Node:\n    def __init__(self, v): self.v, self.next = v, None\n"
        "def total(n): return n.v + total(n.next) if n else 0",
        "a = Node(1)\na.next = Node(2)\nassert total(a) == 3\nassert a.next is a.next",
    ),
    "a constant": ("LIMIT = 7", "assert LIMIT == 7"),
    "work in place": (
        "def sort(xs): xs.sort()",
        "xs = [3, 1, 2]\nassert sort(xs) is None\nassert xs == [1, 2, 3]",
    ),
    "work in place by keyword": (
        "def f(a, *, b, c): a.append(1); b.update(x=a); c += 1",
        "a, b = [], {}\nassert f(a, b=b, c=2) is None\nassert (a, b) == ([1], {'x': [1]})",
    ),
    "an expected exception": (
        "class Bad(ValueError): pass\ndef f(): raise Bad('no')",
        "try:\n    f()\nexcept ValueError as e:\n    assert str(e) == 'no'\nelse:\n    assert False",
    ),
    "a name that Python has too": ("def sum(a, b): return a * b", "assert sum(2, 3) == 6"),
    "tests with helpers": (
        "def f(x): return x",
        "import math\ndef near(a, b): return math.isclose(a, b)\nassert near(f(0.3), 0.1 + 0.2)",
    ),
    "what it prints": ("def f():\n    print('x' * 100)\n    return 1", "assert f() == 1"),
    "a deque in a list": (
        "from collections import deque\ndef f(): return [deque([1])]",
        "assert list(f()[0]) == [1] and f()[0][0] == 1",
    ),
    "what only a script does": (
        "def f(): return 1\nif __name__ == '__main__':\n    raise SystemExit(3)",
        "assert f() == 1",
    ),
}


@pytest.mark.parametrize("name", HONEST)
async def test_what_an_honest_program_does_works_across_the_boundary(
    sandbox: Sandbox, name: str
) -> None:
    program, tests = HONEST[name]
    result = await run_tests(sandbox, program, tests, "sum")
    assert result.status == PASSED, result
    assert (result.program.end_reason, result.program.status) == ("exit", 0)


UNITTEST = (
    "import unittest\nclass T(unittest.TestCase):\n"
    "    def test_it(self):\n        self.assertEqual(f(2), 4)\n"
)
GUARD = "if __name__ == '__main__':\n    "
AS_A_SCRIPT = {
    "unittest.main()": UNITTEST + "unittest.main()",
    "with arguments": UNITTEST + "unittest.main(argv=['t'])",
    "behind the usual guard": UNITTEST + GUARD + "unittest.main()",
    "a check behind the guard": "def check(c): assert c(2) == 4\n" + GUARD + "check(f)",
    "a bool as status": "import sys\nsys.exit(f(2) != 4)",
    "what the script is called": "import sys\nassert (sys.argv, f(2)) == (['tests.py'], 4), __file__",
    "the module itself": "import __main__\nassert __main__.f(2) == 4",
}


@pytest.mark.parametrize("name", AS_A_SCRIPT)
async def test_the_tests_run_as_a_script_does(sandbox: Sandbox, name: str) -> None:
    right = await run_tests(sandbox, "def f(x): return x * 2", AS_A_SCRIPT[name], "f")
    assert right.status == PASSED, right
    wrong = await run_tests(sandbox, "def f(x): return x * 3", AS_A_SCRIPT[name], "f")
    assert wrong.status == FAILED, wrong


@pytest.mark.parametrize(
    ("code", "status"),
    [
        *(("None", PASSED), ("0", PASSED), ("False", PASSED)),
        *(("1", FAILED), ("True", FAILED), ("''", FAILED)),
        ("f(1)", FAILED),
    ],
)
async def test_tests_that_leave_pass_with_the_statuses_that_mean_success(
    sandbox: Sandbox, code: str, status: int
) -> None:
    program = "class Zero:\n    def __bool__(self): raise ValueError\ndef f(x): return Zero()"
    result = await run_tests(sandbox, program, f"raise SystemExit({code})")
    assert result.status == status, result


async def test_what_unittest_printed_stands_in_for_the_exit_it_made(sandbox: Sandbox) -> None:
    result = await run_tests(sandbox, "def f(x): return 5", AS_A_SCRIPT["unittest.main()"])
    assert result.report["trace"] == ""
    assert b"AssertionError: 5 != 4" in result.tests.stderr


async def test_a_program_names_nothing_that_every_module_has(sandbox: Sandbox) -> None:
    program = (
        "__name__ = 'elsewhere'\n__builtins__ = {'int': str}\n__file__ = 'a'\ndef f(): return 5"
    )
    tests = "assert f() == 5\nif __name__ == '__main__':\n    assert __builtins__ is None, __file__"
    result = await run_tests(sandbox, program, tests)
    assert result.status == FAILED, result
    assert "AssertionError: tests.py" in result.report["trace"]


EQUAL = "class E:\n    def __eq__(s, o): return True\n    __ne__ = __lt__ = __le__ = __eq__\n"
ON_THE_WIRE = (
    "import os, json\ndef say(m):\n    b = m if isinstance(m, bytes) else json.dumps(m).encode()\n"
    "    os.write(3, len(b).to_bytes(4, 'big') + b)\n"
)
FORGED_CALLS = ON_THE_WIRE + (
    "def asked(): return json.loads(os.read(3, int.from_bytes(os.read(3, 4), 'big')))\n"
    "def reply(m):\n    asked()\n    say(m)\n"
    "say({'value': {name: {'k': at} for at, name in enumerate(asked()[1])}})\n"
)
"""A program that answers by hand, the question for its names already."""
CHEATS = {
    "an object that equals everything": (EQUAL + "def f(x): return E()", FAILED),
    "one in a list": (EQUAL + "def f(x): return [E()]", FAILED),
    "a number that equals everything": (
        "class E(int):\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\n"
        "def f(x): return E(5)",
        FAILED,
    ),
    "an answer of another type": ("def f(x): return str(x + 1)", FAILED),
    "leaving inside the call": ("import sys\ndef f(x): sys.exit(0)", DISCONNECTED),
    "leaving at once": ("import os\ndef f(x): os._exit(0)", DISCONNECTED),
    "leaving while it is loaded": ("raise SystemExit(0)", DISCONNECTED),
    "an exception that ends the tests": ("def f(x): raise SystemExit", DISCONNECTED),
    "an exception that ends a loop": ("def f(x): raise StopIteration", RAISED),
    "a generator's exit": ("def f(x): raise GeneratorExit", RAISED),
    "an interruption": ("def f(x): raise KeyboardInterrupt", RAISED),
    "no such function": ("def g(x): return x + 1", RAISED),
    "an exception": ("def f(x): return x / 0", RAISED),
    "no memory": ("def f(x): return bytearray(1 << 40)", OUT_OF_MEMORY),
    "a forged value": (
        ON_THE_WIRE + "def f(x):\n    say({'value': {'is': {'t': 5}}})",
        DISCONNECTED,
    ),
    "forged names": (
        ON_THE_WIRE + "say({'value': {'f': 1, 'assertEqual': 2, '__builtins__': {'d': []}}})",
        DISCONNECTED,
    ),
    "no JSON": (ON_THE_WIRE + "say(b'{{{{')", DISCONNECTED),
    "a message without end": ("import os\nos.write(3, b'\\xff\\xff\\xff\\xff')", DISCONNECTED),
    "a forged exit": (
        ON_THE_WIRE + "say({'raised': 'SystemExit', 'message': '0', 'trace': ''})",
        11,
    ),
    "replies in advance": (
        ON_THE_WIRE + "def f(x):\n    for _ in range(9): say({'value': {'is': True}})",
        FAILED,
    ),
    "a closed channel": ("import os\ndef f(x):\n    os.close(3)\n    return 6", DISCONNECTED),
    "values too large": ("def f(x): return 'x' * (20 << 20)", RAISED),
    "values too deep": (
        "def f(x):\n    v = []\n    for _ in range(900): v = [v]\n    return v",
        RAISED,
    ),
    "the argument changed": ("def f(x):\n    return None", FAILED),
}


ONLY_MENTIONED = {
    "an attribute": "assert f().count('a') == 2",
    "a name that is assigned": "count = f()\n",
    "a name that is assigned inside": "def g():\n    global count\n    count = 1\ng()",
    "an import": "from itertools import count\n",
    "a local name": "def g(count): return count\nassert g(1) == 1",
}


@pytest.mark.parametrize("name", ONLY_MENTIONED)
async def test_the_program_is_asked_for_no_name_that_the_tests_only_mention(
    sandbox: Sandbox, name: str
) -> None:
    program = (
        "from autoreason.programs.sandbox import rpc\n"
        "requested = []\noriginal = rpc.ProgramServer.names\n"
        "def names(server, wanted):\n    requested.extend(wanted)\n    return original(server, wanted)\n"
        "rpc.ProgramServer.names = names\n"
        "def f(): return 'aab'\ndef seen(): return requested"
    )
    tests = f"{ONLY_MENTIONED[name]}\nassert 'f' in seen() and 'count' not in seen()"
    result = await run_tests(sandbox, program, tests, "f")
    assert result.status == PASSED, result


@pytest.mark.parametrize("name", CHEATS)
async def test_nothing_a_program_sends_makes_a_failing_assert_pass(
    sandbox: Sandbox, name: str
) -> None:
    program, status = CHEATS[name]
    result = await run_tests(sandbox, program, "assert f(5) == 6")
    assert result.status == status, result


@pytest.mark.parametrize(
    ("replies", "status"),
    [
        (["{'k': 1}", "[]"], FAILED),
        (["{'k': 1}", "[5]", "[]"], FAILED),
        (["5"], DISCONNECTED),
        (["[6]"], DISCONNECTED),
        (["{'k': 1}", "[6, 6]"], DISCONNECTED),
        (["{'k': 1}", "6"], DISCONNECTED),
        (["{'k': 1}", "[{'x': 6}]"], DISCONNECTED),
    ],
)
async def test_what_is_gone_through_is_compared_by_the_tests(
    sandbox: Sandbox, replies: list[str], status: int
) -> None:
    program = FORGED_CALLS + "".join(f"reply({{'value': {each}}})\n" for each in replies)
    result = await run_tests(sandbox, program, "assert 6 in f")
    assert result.status == status, result


@pytest.mark.parametrize("tests", ["for _ in f: pass", "next(f, 6)", "assert next(f, 6) == 6"])
async def test_no_exception_of_the_programs_ends_a_loop(sandbox: Sandbox, tests: str) -> None:
    begun = "reply({'value': {'k': 1}})\n" if "for" in tests else ""
    forged = "reply({'raised': 'StopIteration', 'message': '', 'trace': ''})"
    result = await run_tests(sandbox, FORGED_CALLS + begun + forged, tests)
    assert result.status == RAISED, result


@pytest.mark.parametrize("key", ["'a'", "''", "3", "(1, 'b')", "None"])
async def test_a_key_error_carries_the_key(sandbox: Sandbox, key: str) -> None:
    tests = (
        f"try: f({key})\nexcept KeyError as e: assert (e.args, str(e)) == (({key},), repr({key}))\n"
        "else: assert False"
    )
    result = await run_tests(sandbox, "def f(x): return {}[x]", tests)
    assert result.status == PASSED, result


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        ("KeyError(object)", "\"<class 'object'>\""),
        ("KeyError(1, 2)", "'(1, 2)'"),
        ("Own('a')", "'own a'"),
        ("OSError(2, 'no')", "[Errno 2] no"),
    ],
)
async def test_any_other_exception_carries_its_text(
    sandbox: Sandbox, raised: str, text: str
) -> None:
    program = (
        "class Own(KeyError):\n    def __str__(self): return f'own {self.args[0]}'\n"
        f"def f(): raise {raised}"
    )
    tests = f"try: f()\nexcept (KeyError, OSError) as e: assert str(e) == {text!r}, str(e)"
    result = await run_tests(sandbox, program, tests)
    assert result.status == PASSED, result


@pytest.mark.parametrize("message", ["{'k': 0}", "[{'k': 0}]", "{'x': 1}", "{'b': 'zz'}"])
async def test_an_exception_holds_nothing_but_plain_values(sandbox: Sandbox, message: str) -> None:
    forged = f"{{'raised': 'KeyError', 'message': {message}, 'trace': ''}}"
    tests = "try: f()\nexcept KeyError: pass"
    result = await run_tests(sandbox, FORGED_CALLS + f"reply({forged})", tests)
    assert result.status == DISCONNECTED, result
    assert result.report["reason"].startswith("the program sent a message that is not a")


@pytest.mark.parametrize("at", ["1", "-1", "'c'", "None", "[]", "0.0"])
async def test_a_program_changes_nothing_but_what_it_was_given(sandbox: Sandbox, at: str) -> None:
    program = FORGED_CALLS + f"reply({{'value': {{'is': None, 'changed': [[{at}, [6]]]}}}})"
    result = await run_tests(
        sandbox, program, "a, b, c = [5], [5], [5]\nf(a, b=b)\nassert c == [5]"
    )
    assert result.status == DISCONNECTED, result
    assert (
        result.report["reason"] == "the program sent a change of something that is not an argument"
    )


@pytest.mark.parametrize("forged", ["6", "{'d': [['x', 6]]}", "{'k': 7}", "{'t': [6]}"])
async def test_a_list_stays_a_list_whatever_it_is_changed_to(sandbox: Sandbox, forged: str) -> None:
    program = FORGED_CALLS + f"reply({{'value': {{'is': None, 'changed': [['b', {forged}]]}}}})"
    result = await run_tests(sandbox, program, "b = [5]\nf(b=b)\nassert b == [5]")
    assert result.status == PASSED, result


@pytest.mark.parametrize(
    ("program", "end_reason"),
    [
        # On a busy machine the clock may come first.
        ("def f():\n    while True: pass", ("cpu", "wall")),
        ("import time\ndef f(): time.sleep(60)", ("wall",)),
        ("def f():\n    while True: print('x' * 10000)", ("output",)),
    ],
)
async def test_a_limit_is_hit_by_the_program_and_the_tests_lose_it(
    sandbox: Sandbox, program: str, end_reason: tuple[str, ...]
) -> None:
    result = await run_tests(sandbox, program, "assert f() == 1")
    assert result.program.end_reason in end_reason
    assert result.tests.end_reason == "wall" or result.status in (DISCONNECTED, RAISED)


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("len", "assert len([1]) == 1"),
        ("math", "assert math.floor(2.5) == 2"),
        ("calendar", "def t():\n    return calendar.isleap(2000)\nassert t()"),
        ("exit", "assert exit.__class__.__name__ == 'Quitter'"),
    ],
)
@pytest.mark.parametrize("value", ["None", "__import__('unittest.mock').mock.Mock()"])
async def test_what_python_has_under_a_name_never_comes_from_the_program(
    sandbox: Sandbox, name: str, test: str, value: str
) -> None:
    result = await run_tests(
        sandbox, f"{name} = {value}\ndef f(): return 1", f"assert f() == 1\n{test}"
    )
    assert result.status == PASSED, result
    result = await run_tests(sandbox, f"{name} = {value}", f"assert not {name}", name)
    assert result.status == (PASSED if value == "None" else FAILED), "as it is called"


async def test_what_cannot_be_tested_is_not_held_against_the_program(sandbox: Sandbox) -> None:
    result = await run_tests(sandbox, "this = 1\ndef f(): return 1", "assert f() == this")
    assert result.status == UNUSABLE
    assert result.report["reason"] == "the tests use `this` without importing it"
    result = await run_tests(sandbox, "def f(g): return g(1)", "assert f(lambda x: x) == 1")
    assert result.status == UNUSABLE
    assert result.report["reason"] == "a function cannot be passed to the program"


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (
            "decimal.Decimal('1.50')",
            "Decimal('1.50') (a Decimal, which equals nothing in the tests)",
        ),
        ("[decimal.Decimal('2')]", "[Decimal('2')]"),
        ("Point()", "a point (a Point, which equals nothing in the tests)"),
        ("Broken()", "<object>"),
        ("collections.deque(range(10**5))", "deque([0, 1, 2, 3"),
        ("Endless()", "<object>"),
    ],
)
async def test_what_cannot_be_sent_is_shown_by_type_and_text(
    sandbox: Sandbox, returned: str, text: str
) -> None:
    program = (
        "import collections, decimal\n"
        "class Point:\n    def __repr__(self): return 'a point'\n"
        "class Broken:\n    def __repr__(self): return 1 / 0\n"
        "class Endless:\n    def __repr__(self):\n        while True: pass\n"
        f"def f(): return {returned}"
    )
    result = await run_tests(sandbox, program, "assert f() == 1.5")
    assert result.status == FAILED
    assert result.report["got"].startswith(text)
    assert len(result.report["got"]) < 5000


async def test_a_failure_and_an_exception_tell_the_lines_the_call_and_what_came_back(
    sandbox: Sandbox,
) -> None:
    result = await run_tests(
        sandbox, "def f(a, b): return [a - b]", "x = 1\nassert f(2, b=x) == [3]"
    )
    assert result.report["line"] == "assert f(2, b=x) == [3]"
    assert result.report["called"] == "f(2, b=1)"
    assert result.report["got"] == "[1]"
    result = await run_tests(sandbox, "def f(x):\n    return 1 / x", "assert f(0) == 1")
    trace = result.report["trace"]
    assert "return 1 / x" in trace
    assert trace.endswith("ZeroDivisionError: division by zero\n")
    assert "sandbox/rpc" not in trace
    result = await run_tests(sandbox, "x = 1\ny = x.z", "assert f(0) == 1")
    assert "y = x.z" in result.program.stderr.decode()
    assert "sandbox/rpc" not in result.program.stderr.decode()
    program = "def f(x): return 1 / x\ndef g(x): return x[0]"
    tests = "try: f(0)\nfinally:\n    try: g([])\n    except IndexError: pass"
    result = await run_tests(sandbox, program, tests)
    assert "return 1 / x" in result.report["trace"]


async def test_tests_too_long_for_a_program_come_as_data(sandbox: Sandbox) -> None:
    numbers = list(range(30_000))
    result = await run_tests(
        sandbox, "def f(xs): return sum(xs)", "", more=f"assert f({numbers}) == 1"
    )
    assert result.status == FAILED
    assert result.report["got"] == str(sum(numbers))


GONE = "import os\ndef f(x): os._exit(0)"
OWN_MODULES = (
    "class math:\n    isclose = staticmethod(lambda *a: True)\n"
    "def abs(x): return 0\ndef f(): return 5"
)
WATCHING = (
    "import gc, sys\nfound = []\n"
    "for o in gc.get_objects():\n    if 'MAGIC' + 'ANSWER' in str(o)[:100000]: found.append(1)\n"
    "f = sys._getframe(0)\n"
    "while f:\n    if 'MAGIC' + 'ANSWER' in str(f.f_locals)[:100000]: found.append(2)\n    f = f.f_back\n"
    "def hits(): return len(found)"
)
UNSENT = "x = f(3)\nassert x == 3\ny = 1\nassert y"
BLAMED = {
    "an import that fails before something else does": (
        "def f(x): raise ImportError('n')\ndef g(): raise ValueError",
        "try: f(1)\nfinally:\n    try: g()\n    except ValueError: pass",
        RAISED,
    ),
    "a message that is handed back manifold": (
        "def f(x): raise ValueError('a' * 3_000_000)\ndef g(x): return 1",
        "try: f(1)\nexcept ValueError as e: assert g(str(e) * 6) == 1",
        DISCONNECTED,
    ),
    "a number of many digits": (
        "def f(x): return 1 << 200_000\ndef g(x): return 1",
        "assert g(hex(f(1)) * 400) == 1",
        DISCONNECTED,
    ),
    "what is gone through one by one": (
        "def f(x):\n    while True: yield 1 << 63\ndef g(x): return 1",
        "from itertools import islice\nassert g(list(islice(f(1), 2)) * 450_000) == 1",
        DISCONNECTED,
    ),
    "what cannot be sliced": (
        "from collections import deque\ndef f(x): return deque([1, 2])",
        "assert f(1)[1:] == [2]",
        RAISED,
    ),
    "its exception handed back": (
        "def f(x): raise ValueError\ndef g(x): return 1",
        "try: r = f(1)\nexcept ValueError as e: r = e\nassert g([r]) == 1",
        DISCONNECTED,
    ),
    "a handle that takes much room": (
        FORGED_CALLS + "reply({'value': {'is': {'k': 1 << 64}}})\nreply({'value': {'is': 1}})",
        "assert g(f(1)) == 1",
        DISCONNECTED,
    ),
    "the tests' own modules": (OWN_MODULES, "assert math.isclose(f(), 6)", FAILED),
    "the tests' own builtins": (OWN_MODULES, "assert abs(f() - 6) < 1e-6", FAILED),
    "a claim to contain everything": (
        "class E:\n    def __contains__(s, x): return True\n    def __iter__(s): yield 5\n"
        "def f(x): return E()",
        "assert 6 in f(5)",
        FAILED,
    ),
    "a changed argument beside a returned value": (
        "def f(xs):\n    xs.clear()\n    return []",
        "xs = [2, 1]\nassert f(xs) == sorted(xs)",
        FAILED,
    ),
    "gone under unittest": (GONE, AS_A_SCRIPT["unittest.main()"], DISCONNECTED),
    "gone where an exception is expected": (
        GONE,
        "try:\n    f(5)\nexcept Exception:\n    pass",
        DISCONNECTED,
    ),
    "gone where anything is caught": (
        GONE,
        "try:\n    f(5)\nexcept BaseException:\n    pass",
        DISCONNECTED,
    ),
    "gone where the tests leave": (
        GONE,
        "try:\n    f(5)\nfinally:\n    raise SystemExit(0)",
        DISCONNECTED,
    ),
    "a module the program lacks": ("def f(): import numpy", "assert f() is None", RAISED),
    "a module the tests lack": ("def f(): return 1", "import numpy\nassert f() == 1", UNUSABLE),
    "too much that the tests made alone": (
        "class A: pass\ndef f(x): return A() if x else 1 << 63",
        "f(1)\nf(0)\nf('a' * (17 << 20))",
        UNUSABLE,
    ),
    "names of modules that the tests use for their own": (
        "def f(x): return x",
        "calendar = 5\nassert f(calendar) == 5\nimport string as token\nassert token.digits",
        PASSED,
    ),
    "tests that the program looks for": (WATCHING, "assert hits() == 0, 'MAGICANSWER'", PASSED),
    "a large global that is used where it is": (
        "primes = list(range(3_000_000))\nlimit = 'a' * 99\nunit = 1",
        "assert (len(primes), primes[5], len(limit), unit) == (3_000_000, 5, 99, 1)",
        PASSED,
    ),
    **{
        f"a global that cannot be sent: {unsent[:20]}": (
            f"{unsent}\ndef f(n): return n",
            UNSENT,
            PASSED,
        )
        for unsent in (
            "x = list(range(3_000_000))",
            "x = []\nfor _ in range(400): x = [x]",
            "x = []\nx.append(x)",
            "x = 'x' * (9 << 20)\ny = 'y' * (9 << 20)",
        )
    },
    **{
        f"a name used anywhere: {tests[:20]}": ("LIMIT = 7", tests, PASSED)
        for tests in (
            "def g():\n    return [LIMIT for _ in '1']\nassert g() == [7]",
            "class A:\n    x = LIMIT\nassert A.x == 7",
            "assert (lambda: LIMIT)() == 7",
            "assert LIMIT + 1 == 8" + "".join(f"\nx{i} = x{i} = 1\nx{i}" for i in range(300)),
        )
    },
}


@pytest.mark.parametrize("name", BLAMED)
async def test_who_is_to_blame_and_for_what(sandbox: Sandbox, name: str) -> None:
    program, tests, status = BLAMED[name]
    result = await run_tests(sandbox, program, tests)
    assert result.status == status, result
