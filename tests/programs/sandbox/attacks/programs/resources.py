"""Exhaustion: processes, threads, memory, time, output, descriptors, the compiler."""

from __future__ import annotations

import sys

from tests.programs.sandbox.attacks.attack import (
    Attack,
    attacks,
    either,
    floods,
    lingers,
    swarms,
    swells,
)

from autoreason.programs.sandbox.base import RunLimits

_ROOMY = RunLimits(seconds=0.2, memory=512 << 20, output=1 << 20)

_DEEP = {
    "attributes": "a" + ".a" * 30_000,
    "calls": "a" + "()" * 30_000,
    "negations": "not " * 15_000 + "1",
    "conditions": "1 if a else " * 5_000 + "1",
    "functions": "lambda: " * 8_000 + "1",
    "lists": "[" * 30_000 + "]" * 30_000,
    "additions": "a" + "+a" * 30_000,
    "texts": "f'{" * 10_000 + "1" + "}'" * 10_000,
}

RESOURCES = (
    Attack(
        "a bomb of processes",
        swarms,
        """
        import os, time
        for _ in range(60):
            try:
                if os.fork() == 0:
                    time.sleep(0.5)
                    os._exit(0)
            except OSError as error:
                print(error)
        time.sleep(0.3)
        """,
        alone=True,
    ),
    Attack(
        "a bomb of threads",
        swarms,
        """
        import threading, time
        threading.stack_size(32768)
        for _ in range(1500):
            try:
                threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
            except RuntimeError:
                time.sleep(0.2)
                break
        time.sleep(0.5)
        """,
        limits=_ROOMY,
        alone=True,
    ),
    *attacks(
        swells,
        {
            "much memory at once": "import time\nmine = b'x' * (600 << 20)\ntime.sleep(0.2)",
            "much memory bit by bit": """
                import time
                mine = []
                try:
                    for _ in range(120):
                        mine.append(b'x' * (5 << 20))
                except MemoryError:
                    time.sleep(0.1)
                """,
            "much memory in several processes": """
                import os, time
                for _ in range(6):
                    if os.fork() == 0:
                        mine = b'x' * (80 << 20)
                        time.sleep(0.5)
                        os._exit(0)
                time.sleep(0.5)
                """,
            "much memory in maps": """
                import mmap, time
                mine = []
                for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
                    try:
                        for _ in range(12):
                            piece = mmap.mmap(-1, 40 << 20, flags | mmap.MAP_ANONYMOUS)
                            piece.write(b'x' * len(piece))
                            mine.append(piece)
                    except (OSError, MemoryError) as error:
                        print(error)
                time.sleep(0.2)
                """,
            "much memory in memory files": """
                import os, time
                mine = [os.memfd_create('mine') for _ in range(60)]
                for fd in mine:
                    os.write(fd, b'x' * (24 << 20))
                time.sleep(0.2)
                """,
            "much memory in buffers of the kernel": """
                import socket, time
                mine = []
                try:
                    while len(mine) < 5000:
                        one, other = socket.socketpair()
                        one.setblocking(False)
                        mine += [one, other]
                        try:
                            while True:
                                one.send(b'x' * 65536)
                        except BlockingIOError:
                            pass
                except OSError as error:
                    print(error)
                time.sleep(0.2)
                """,
        },
        alone=True,
    ),
    Attack(
        "much memory in standard input, output and error",
        swells,
        """
        import os, time
        for fd in range(64):
            for grow in (os.ftruncate, lambda fd, size: os.posix_fallocate(fd, 0, size),
                         lambda fd, size: os.pwrite(fd, b'x' * (1 << 20), size - (1 << 20))):
                try:
                    grow(fd, 2 << 30)
                except OSError as error:
                    print(error)
        time.sleep(0.2)
        """,
        alone=True,
        harmful=True,
    ),
    Attack(
        "limits raised",
        either(swells, lingers),
        """
        import resource
        for name in dir(resource):
            if name.startswith('RLIMIT_'):
                kind = getattr(resource, name)
                for limit in ((-1, -1), (resource.getrlimit(kind)[1],) * 2):
                    for change in (resource.setrlimit, lambda *new: resource.prlimit(0, *new)):
                        try:
                            change(kind, limit)
                        except (OSError, ValueError) as error:
                            print(error)
        mine = []
        try:
            for _ in range(50):
                mine.append(b'x' * (10 << 20))
        except MemoryError:
            while True:
                pass
        """,
        alone=True,
    ),
    *attacks(
        lingers,
        {
            "a loop": "while True:\n    pass",
            "sleep": "import time\ntime.sleep(30)",
            "every signal ignored": """
                import signal
                for number in signal.valid_signals():
                    try:
                        signal.signal(number, signal.SIG_IGN)
                    except (OSError, ValueError):
                        pass
                signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
                while True:
                    pass
                """,
            "one long call of arithmetic": "print(len(str(7 ** (10 ** 8))))",
            "one long match": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
            "waiting for what never comes": """
                import os, select, signal, threading
                threading.Thread(target=threading.Event().wait).start()
                signal.pause()
                """,
            "threads that spin": """
                import hashlib, threading
                def spin():
                    while True:
                        hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10 ** 6)
                for _ in range(4):
                    threading.Thread(target=spin).start()
                """,
            "no end at exit": """
                import atexit
                @atexit.register
                def stay():
                    while True:
                        pass
                """,
            "descriptors without end": """
                import os
                mine = []
                while True:
                    for make in (lambda: os.dup(0), os.eventfd, os.pipe):
                        try:
                            mine.append(make(0) if make is os.eventfd else make())
                        except OSError:
                            pass
                """,
            "recursion without end": """
                import sys
                sys.setrecursionlimit(10 ** 9)
                def deeper(n):
                    return deeper(n + 1) + 1
                deeper(0)
                """,
            "recursion in the interpreter's own code": """
                nest = ()
                for _ in range(10 ** 6):
                    nest = (nest,)
                print(hash(nest), repr(nest)[:5])
                """,
            "a huge source": "x = 1\n" * (1 << 19),
            "a source that is slow to compile": f"x = {'+'.join(['1'] * 30000)}\nprint(x)",
            "a source that is deep to compile": f"x = {'(' * 150}1{')' * 150}\ny = {'-' * 60000}1",
            "imports without end": "import encodings, json, email\nfrom encodings import "
            + ", ".join(f"a{n}" for n in range(1500)),
            "every module there is": "\n".join(
                f"import {name}" for name in sorted(sys.stdlib_module_names)
            ),
            "a number that is long to read when compiled": f"x = {'9' * 65000}\nprint(x % 7)",
        },
    ),
    Attack(
        "stopping itself",
        lingers,
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
        harmful=True,
    ),
    *attacks(
        either(floods, swells),
        {
            "a flood on standard output": """
                import sys
                for _ in range(40):
                    sys.stdout.write('x' * (1 << 20))
                """,
            "a flood on standard error": """
                import os
                for _ in range(40):
                    os.write(2, b'x' * (1 << 20))
                """,
        },
        alone=True,
    ),
    Attack(
        "a flood that ignores its end",
        either(floods, swells, lingers),
        """
        import os, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for _ in range(40):
            for fd in (0, 1, 2):
                try:
                    os.write(fd, b'x' * (1 << 20))
                except OSError:
                    pass
        """,
        alone=True,
    ),
    Attack(
        "a right answer and a flood on standard error",
        floods,
        """
        import sys
        print('@ANSWER@')
        sys.stderr.write('x' * (20 << 20))
        """,
        limits=_ROOMY,
    ),
    *(
        Attack(f"a source that takes the compiler deep by {name}", lingers, f"x = {source}")
        for name, source in _DEEP.items()
    ),
    Attack(
        "a constant that is folded when compiled",
        either(lingers, swells),
        "x = " + ",".join(["((1,) * 250,) * 250"] * 1500),
        alone=True,
    ),
)
