"""Verdicts: getting `accepted` without deserving it, or no verdict at all."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import Attack, accepted, attacks

from autoreason.programs.sandbox.base import RunLimits

_ENDS = {
    "an exception": "raise ValueError('after all')",
    "exit status 1": "import sys; sys.exit(1)",
    "a message for an exit status": "import sys; sys.exit('sorry')",
    "exit status 257": "import os; os._exit(257)",
    "an exit below Python": "import os; os._exit(3)",
    "a segmentation fault": "import ctypes; ctypes.string_at(8)",
    "a killed process": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "a terminated process": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "an aborted process": "import os; os.abort()",
    "a hang": "import time; time.sleep(30)",
    "a loop": "while True: pass",
    "an interrupt": "raise KeyboardInterrupt",
    "too much memory": "mine = b'x' * (1 << 31)",
    "recursion without end": "def f(): f()\nf()",
    "a generator's exit": "raise GeneratorExit",
    "an alarm": "import signal, time; signal.setitimer(signal.ITIMER_REAL, 0.05); time.sleep(5)",
    "a broken exception": "class Odd(BaseException):\n    def __str__(self): raise Odd\nraise Odd",
    "a silent hook": "import sys; sys.excepthook = lambda *_: None; raise ValueError",
    "no standard error": "import os; os.close(2); raise ValueError",
    "an exception at exit": "import atexit, os; atexit.register(os._exit, 5)",
    "a flood": "import sys; sys.stdout.flush(); sys.stdout.write(' ' * (8 << 20))",
    "a trap": "import ctypes, signal, os; os.kill(os.getpid(), signal.SIGILL)",
}

VERDICTS = (
    *(
        Attack(f"the right answer, then {name}", accepted, f"print('@ANSWER@', flush=True)\n{end}")
        for name, end in _ENDS.items()
    ),
    *attacks(
        accepted,
        {
            "the right answer, then more time than allowed and a clean end": """
                import signal, time
                signal.signal(signal.SIGXCPU, signal.SIG_IGN)
                print('@ANSWER@', flush=True)
                until = time.process_time() + 0.8
                while time.process_time() < until:
                    pass
                """,
            "the right answer after a wait longer than allowed": "import time\ntime.sleep(3)\nprint('@ANSWER@')",
            "time taken by several threads": """
                import hashlib, threading
                spin = lambda: hashlib.pbkdf2_hmac('sha256', b'a', b'b', 900_000)
                threads = [threading.Thread(target=spin) for _ in range(4)]
                [one.start() for one in threads]
                [one.join() for one in threads]
                print('@ANSWER@')
                """,
            "the right answer on standard error": "import sys\nprint('@ANSWER@', file=sys.stderr)",
            "the right answer over a wrong one": "print('wrong', end='\\r')\nprint('@ANSWER@' + '\\b' * 3 + 'x')",
            "a message sent over every descriptor": """
                import array, os, socket
                for fd in range(3, 1024):
                    try:
                        mine = socket.socket(fileno=os.dup(fd))
                        mine.sendmsg([b'{"ended":"exit","status":0}'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                     array.array('i', [1]))])
                        mine.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
                print('wrong')
                """,
            "every descriptor closed": """
                import os
                print('@ANSWER@', flush=True)
                os.closerange(0, 65536)
                raise ValueError
            """,
            "a status of somebody else": """
                import os
                print('@ANSWER@', flush=True)
                if os.fork() == 0:
                    os._exit(0)
                os.kill(os.getpid(), 11)
                """,
            "the right answer, then a call in the manner of another machine": """
                import ctypes
                print('@ANSWER@', flush=True)
                ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 39))
                raise SystemExit(1)
                """,
            "a source with half a character": "print('@ANSWER@')\nx = '\udc80'",
            "a source that cannot be compiled": "print('@ANSWER@')\nreturn )",
            "a source with a null character": "print('@ANSWER@')\nx = '\0'",
        },
    ),
    Attack(
        "a verdict written to every descriptor",
        accepted,
        """
        import os, struct
        said = b'{"ended":"exit","status":0,"stdout":"@ANSWER@","verdict":"accepted"}'
        forms = [said, said + bytes([10]), struct.pack('<I', len(said)) + said, struct.pack('>I', len(said)) + said,
                 struct.pack('<Q', len(said)) + said, bytes(64), b'@ANSWER@' * 100]
        for fd in (*range(3, 1024), 0, 2):
            for form in forms:
                try:
                    os.write(fd, form)
                except OSError:
                    pass
        print('wrong')
        """,
        harmful=True,
    ),
    Attack(
        "the sandbox's own code patched",
        accepted,
        """
        import gc, os, sys, types
        print('@ANSWER@', flush=True)
        def clean(*_, **__):
            os.kill(os.getpid(), 9)
        for thing in gc.get_objects():
            if isinstance(thing, types.FunctionType) and thing.__module__ not in (__name__, None):
                name = thing.__module__.split('.')[0]
                if name in ('server', '__main__', 'autoreason', 'guard', 'seccomp', 'jail'):
                    try:
                        thing.__code__ = clean.__code__
                    except (ValueError, TypeError):
                        pass
        sys.settrace(clean)
        sys.setprofile(clean)
        raise SystemExit(7)
        """,
        limits=RunLimits(seconds=0.6, memory=128 << 20, output=1 << 20),
    ),
)
