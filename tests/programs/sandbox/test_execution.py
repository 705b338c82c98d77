"""A program in the sandbox behaves as it does anywhere."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.programs.sandbox.rig import LEVELS, Rig, rigged

from autoreason.programs.sandbox.base import Level, RunLimits
from autoreason.programs.sandbox.execution import (
    COMMON_MODULES,
    IMPORTABLE,
    MISSING_HOME,
    REFUSED_MODULES,
    imported_modules,
    preload,
)


@cases(
    ("source", "modules"),
    [
        ("import colorsys", {"colorsys"}),
        ("import os,sys , cmath as c", {"os", "sys", "cmath"}),
        ("import xml.etree.ElementTree as tree", {"xml.etree.ElementTree"}),
        ("from heapq import *", {"heapq"}),
        ("from os import path", {"os", "os.path"}),
        ("from concurrent import futures", {"concurrent", "concurrent.futures"}),
        ("from math import (gcd,\n  sqrt as root)", {"math", "math.gcd", "math.sqrt"}),
        ("x = 1; import bisect; y = 2", {"bisect"}),
        ("from sys import stdin\nimport hashlib", {"sys", "sys.stdin", "hashlib"}),
        ("from math import (\n  gcd)\nimport csv", {"math", "math.gcd", "csv"}),
        ("def f():\n    import wave", {"wave"}),
        ("wave = __import__('wave')", {"wave"}),
        ('importlib.import_module( "wave" )', {"wave"}),
        ("exec('import wave')", {"wave"}),
        ("important = reimport", set()),
        ("", set()),
    ],
)
def test_what_looks_like_an_import_is_found(source: str, modules: set[str]) -> None:
    assert set(imported_modules(source)) == modules


@given(st.text())
def test_any_text_can_be_looked_through(source: str) -> None:
    assert all(isinstance(name, str) for name in imported_modules(source))


def test_modules_inside_packages_or_that_do_things_are_not_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(importlib, "import_module", tried.append)
    preload("import unittest.__main__, ctypes.test, this, antigravity, wave, os.path, numpy")
    assert tried == ["wave"]
    assert not IMPORTABLE & {"antigravity", "this", "idlelib", "turtle", "tkinter"}
    assert sys.stdlib_module_names > IMPORTABLE
    assert not {name.partition(".")[0] for name in COMMON_MODULES} & REFUSED_MODULES


def test_modules_that_look_for_a_home_find_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    homes: list[Path] = []
    monkeypatch.setattr(importlib, "import_module", lambda _: homes.append(Path.home()))
    preload("import sysconfig, readline")
    assert homes == [Path(MISSING_HOME)] * 2
    assert "HOME" not in os.environ


@pytest.fixture(scope="module", params=LEVELS)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    level: Level = request.param
    with rigged(level) as made:
        yield made


PRINTS = {
    "import os\nfrom pathlib import Path\nprint(os.getcwd(), os.path.abspath(__file__), "
    "Path('x').resolve(), Path('x').exists())": "/ /solution.py /x False\n",
    "import sys,\\\n colorsys\nprint(colorsys.__name__)": "colorsys\n",
    "from xml import (  # :)\n dom)\nprint(dom.__name__)": "xml.dom\n",
    "from xml.dom.minidom import parseString\nprint(parseString('<a/>').firstChild.tagName)": "a\n",
    "import email\nprint(email.message_from_string('A: b')['a'])": "b\n",
    "import sys\nprint(sys.stdin.mode, sys.stdout.mode, sys.stdin.name)": "r w <stdin>\n",
    "open(1, 'w').write('held back')": "held back",
    "import os\nout = os.fdopen(1, 'w')\nout.write('held back')": "held back",
    "import sys, io\nsys.stdout = io.StringIO()\nprint('lost')": "",
    "import sys\nprint('no newline', end='')": "no newline",
    "print('gr\u00fc\u00df dich \u4f60\u597d \U0001f600')": "gr\u00fc\u00df dich \u4f60\u597d \U0001f600\n",
    "print(len(str(7 ** 20000)))": "16902\n",
    "import atexit\natexit.register(print, 'bye')\nprint('hello')": "hello\nbye\n",
    "import sys\nsys.stdout.close()": "",
    "print(__name__, __file__)": "__main__ solution.py\n",
    "import sys\nprint(sys.argv)": "['solution.py']\n",
    "import __main__\nx = 3\nprint(__main__.x)": "3\n",
    "# -*- coding: latin-1 -*-\nprint('\u00e9')": "\u00e9\n",
    "\ufeffprint('mark')": "mark\n",
    "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    print(1)\nasyncio.run(f())": "1\n",
    "from concurrent.futures import ThreadPoolExecutor as T\n"
    "with T(4) as pool: print(sum(pool.map(abs, range(-9, 1))))": "45\n",
    "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()": "late\n",
    "import signal, os\n"
    "signal.signal(signal.SIGUSR1, lambda *a: print('got'))\n"
    "os.kill(os.getpid(), signal.SIGUSR1)": "got\n",
    "import signal\n"
    "signal.signal(signal.SIGALRM, lambda *a: print('rang'))\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
    "signal.pause()": "rang\n",
    "import datetime as d\nprint(d.datetime.strptime('2024-02-29', '%Y-%m-%d').day)": "29\n",
    "print('\u00fc'.encode('latin-1'), 'b\u00fccher'.encode('idna'))": "b'\\xfc' b'xn--bcher-kva'\n",
    "import hashlib, zlib\nprint(hashlib.md5(b'').hexdigest()[:8], zlib.crc32(b''))": "d41d8cd9 0\n",
    "mod = __import__('colorsys')\nprint(mod.rgb_to_hsv(0, 0, 0))": "(0.0, 0.0, 0)\n",
    "from xml.etree import ElementTree\nprint(ElementTree.fromstring('<a/>').tag)": "a\n",
    "import argparse\nprint(argparse.ArgumentParser().parse_args([]))": "Namespace()\n",
    "import asyncio\nasync def f(): return await asyncio.to_thread(int, '7')\nprint(asyncio.run(f()))": "7\n",
    "print('\u0142'.encode('cp1250'), 'x'.encode('ISO-8859-15'))": "b'\\xb3' b'x'\n",
    "import os\nprint(open(os.devnull).read() == '', open(os.devnull, 'w').write('abc'))": "True 3\n",
    "import os, sys\nsys.stderr = open(os.devnull, 'w')\nprint(1, file=sys.stderr)\nprint(2)": "2\n",
    "from pathlib import Path\nprint(Path('/dev/null').read_bytes(), Path('/dev/null').write_text('x'))": "b'' 1\n",
    "import os\nos.dup2(os.open(os.devnull, os.O_WRONLY), 2)\nos.write(2, b'x')\nprint(3)": "3\n",
    "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (-1, -1))\nprint(1)": "1\n",
    "try:\n    import numpy\nexcept ImportError as error:\n    print(error)": "No module named 'numpy'\n",
}
"""Programs that read nothing, and what they print."""


@cases(
    ("source", "stdin", "stdout"),
    [
        ("print(sum(map(int, input().split())))", "3 4\n", "7\n"),
        ("import sys\nprint(len(sys.stdin.buffer.read()))", "abc\n", "4\n"),
        ("import sys\nprint([line for line in sys.stdin])", "a\r\nb\n", "['a\\n', 'b\\n']\n"),
        ("import os\nprint(os.read(0, 100))", "xy", "b'xy'\n"),
        ("import os\nprint(os.read(0, os.fstat(0).st_size))", "xy", "b'xy'\n"),
        (
            "import sys\nprint([each.tell() for each in (sys.stdin, sys.stdout, sys.stderr)])",
            "xy",
            "[0, 0, 0]\n",
        ),
        (
            "import mmap\nprint(mmap.mmap(0, 0, access=mmap.ACCESS_READ).readline())",
            "x\ny",
            "b'x\\n'\n",
        ),
        (
            "import threading as t\nt.stack_size(1 << 29)\n"
            "t = t.Thread(target=lambda: print(len(input())))\nt.start()\nt.join()",
            "xy",
            "2\n",
        ),
        (
            "try: open('input.txt')\nexcept FileNotFoundError: print(input())",
            "from here",
            "from here\n",
        ),
        ("from pathlib import Path\nprint(Path('/dev/stdin').read_text())", "x", "x\n"),
        ("import sys\nsys.stdin.seek(0)\nprint(sys.stdin.read())", "again", "again\n"),
        ("print(input()[::-1])", "\u4f60\u597d\n", "\u597d\u4f60\n"),
        ("from sys import stdin\nimport hashlib\nprint(int(stdin.readline()) * 2)", "4", "8\n"),
        ("import sys\nsys.stdin = open('/dev/stdin')\nprint(input())", "5", "5\n"),
        *((source, "", stdout) for source, stdout in PRINTS.items()),
    ],
)
def test_what_it_reads_and_writes(rig: Rig, source: str, stdin: str, stdout: str) -> None:
    ran = rig.run(source, stdin.encode())
    assert (ran.stderr.decode(), ran.end_reason, ran.status) == ("", "exit", 0)
    assert ran.stdout.decode() == stdout


@cases(
    ("source", "status", "stderr"),
    [
        ("raise SystemExit", 0, ""),
        ("import sys\nsys.exit(3)", 3, ""),
        ("import sys\nsys.exit(-1)", 255, ""),
        ("import sys\nsys.exit(2**70)", 255, ""),
        ("print(1)\nexit(4)", 4, ""),
        ("quit()", 0, ""),
        ("import sys\nsys.exit('that is all')", 1, "that is all\n"),
        ("import os\nos._exit(7)", 7, ""),
        (
            "import sys\nsys.stdout.close()\nprint(1)",
            1,
            "ValueError: I/O operation on closed file.",
        ),
        ("import os\nprint(1)\nos.close(1)", 120, ""),
        (
            "import threading\nthreading.Thread(target=lambda: 1 / 0).start()",
            0,
            "ZeroDivisionError",
        ),
    ],
)
def test_how_it_exits(rig: Rig, source: str, status: int, stderr: str) -> None:
    ran = rig.run(source)
    assert (ran.end_reason, ran.status) == ("exit", status)
    assert stderr in ran.stderr.decode()


@pytest.mark.parametrize(
    "source",
    [
        "def f(n):\n    return 1 // n\n\ntry:\n    f(0)\nexcept ArithmeticError as e:\n    raise KeyError from e\n",
        "x = = 3\n",
        "def f():\n\treturn\n        pass\n",
        "'unfinished\n",
        "import re\nre.compile(1 / 0)\n",
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\nraise Odd\n",
        "eval('1 +')\n",
    ],
)
def test_a_traceback_is_the_one_that_the_interpreter_prints(
    rig: Rig, tmp_path: Path, source: str
) -> None:
    (tmp_path / "solution.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-I", "-S", "solution.py"]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    ran = rig.run(source)
    expected = plain.stderr.replace(str(tmp_path) + "/", "")
    assert ran.stderr.decode() == expected
    assert (ran.end_reason, ran.status) == ("exit", 1)


def test_a_hook_of_its_own_reports_what_it_raises(rig: Rig) -> None:
    ran = rig.run("import sys\nsys.excepthook = lambda *what: print(what[0].__name__)\n1 / 0")
    assert (ran.stdout, ran.status) == (b"ZeroDivisionError\n", 1)


DEEP = """
import sys, threading
sys.setrecursionlimit(10**6)
threading.stack_size(256 << 20)
def plain(n):
    return 0 if n == 0 else 1 + plain(n - 1)
def through_c(n):
    return 0 if n == 0 else 1 + max(map(through_c, [n - 1]))
"""
ROOM = RunLimits(seconds=10, memory=512 << 20)
bounded = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="newer interpreters bound recursion through C themselves"
)


@pytest.mark.parametrize(
    "call", ["plain(500_000)", pytest.param("through_c(100_000)", marks=bounded)]
)
@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_deep_recursion_has_room(rig: Rig, call: str, where: str) -> None:
    print_it = f"print({call})\n"
    if where == "thread":
        print_it = f"threading.Thread(target=lambda: print({call})).start()\n"
    ran = rig.run(DEEP + print_it, limits=ROOM)
    assert (ran.end_reason, ran.status, ran.stderr) == ("exit", 0, b"")
    assert ran.stdout in (b"500000\n", b"100000\n")


def test_the_same_program_comes_to_the_same_again_and_knows_nothing_of_other_runs(rig: Rig) -> None:
    source = "import random\nprint(hash('a'), set('abcdef'), random.random())"
    first, second = rig.runs(source, [b"", b""])
    again = rig.run(source)
    assert first.stdout == second.stdout == again.stdout
    source = """
import math, builtins, sys
print(hasattr(math, 'seen'), hasattr(builtins, 'seen'), sys.stdin.read())
math.seen = builtins.seen = True
"""
    outputs = [ran.stdout for ran in rig.runs(source, [b"1", b"2", b"3"])]
    assert outputs == [b"False False 1\n", b"False False 2\n", b"False False 3\n"]


def test_the_usual_template_for_fast_writing_works(rig: Rig) -> None:
    source = """
import os, sys
from io import BytesIO, IOBase
class FastIO(IOBase):
    newlines = 0
    def __init__(self, file):
        self._fd = file.fileno()
        self.buffer = BytesIO()
        self.writable = "x" in file.mode or "r" not in file.mode
        self.write = self.buffer.write if self.writable else None
    def read(self):
        while True:
            b = os.read(self._fd, max(os.fstat(self._fd).st_size, 8192))
            if not b:
                break
            self.buffer.write(b)
        return self.buffer.getvalue()
    def flush(self):
        if self.writable:
            os.write(self._fd, self.buffer.getvalue())
            self.buffer.truncate(0), self.buffer.seek(0)
class IOWrapper(IOBase):
    def __init__(self, file):
        self.buffer = FastIO(file)
        self.flush = self.buffer.flush
        self.writable = self.buffer.writable
        self.write = lambda s: self.buffer.write(s.encode("ascii"))
        self.read = lambda: self.buffer.read().decode("ascii")
sys.stdin, sys.stdout = IOWrapper(sys.stdin), IOWrapper(sys.stdout)
print(sum(map(int, sys.stdin.read().split())))
"""
    ran = rig.run(source, b"1 2 3")
    assert (ran.status, ran.stdout, ran.stderr) == (0, b"6\n", b"")


@cases("name", ["SIGKILL", "SIGABRT", "SIGTERM", "SIGSEGV", "SIGSYS"])
def test_a_right_answer_before_a_deadly_signal_is_no_good_end(rig: Rig, name: str) -> None:
    ran = rig.run(
        f"import os, signal\nprint(7, flush=True)\nos.kill(os.getpid(), signal.{name})\nprint('alive')"
    )
    assert (ran.end_reason, ran.stdout) == ("signal", b"7\n")


def test_a_crash_of_the_interpreter_is_a_signal(rig: Rig) -> None:
    ran = rig.run("import ctypes\nctypes.string_at(0)")
    assert (ran.end_reason, ran.status) == ("signal", 11)
    ran = rig.run("import os\nos.abort()")
    assert (ran.end_reason, ran.status) == ("signal", 6)
