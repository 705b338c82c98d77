"""Survival: being there when the verdict has been given."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import attacks, lingers, survives

_NAMED = """
        import ctypes, os, time
        libc = ctypes.CDLL(None, use_errno=True)
        # The name by which it is found; a child has the same.
        libc.prctl(15, b'@TOKEN@', 0, 0, 0)
"""

_SILENT = (
    _NAMED
    + """
        # Nobody waits for the end of what it writes.
        os.closerange(0, 3)
"""
)

SURVIVAL = (
    *attacks(
        survives,
        {
            "a child that stays": _SILENT
            + """
        if os.fork() == 0:
            time.sleep(3)
        os._exit(0)
        """,
            "a daemon": _SILENT
            + """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(3)
            os._exit(0)
        os._exit(0)
        """,
            "children by rarer calls": _SILENT
            + """
        import platform
        arm = platform.machine() == 'aarch64'
        SIGCHLD, PARENT, NEWUSER, NEWPID = 17, 0x8000, 0x10000000, 0x20000000
        for flags in (SIGCHLD, PARENT | SIGCHLD, NEWPID | SIGCHLD, NEWUSER | SIGCHLD, 0):
            number = ctypes.c_long(220 if arm else 56)
            if libc.syscall(number, ctypes.c_long(flags), None, None, None, None) == 0:
                time.sleep(3)
                os._exit(0)
        new = (ctypes.c_uint64 * 11)(0, 0, 0, 0, SIGCHLD)
        if libc.syscall(435, new, ctypes.c_long(88)) == 0:
            time.sleep(3)
            os._exit(0)
        if not arm:
            for number in (57, 0x40000000 + 57):
                if libc.syscall(number) == 0:
                    time.sleep(3)
                    os._exit(0)
        os._exit(0)
        """,
            "another program started": _SILENT
            + """
        import subprocess
        command = 'sleep 3; : @TOKEN@'
        for start in (
            lambda: subprocess.Popen(['/bin/sh', '-c', command]),
            lambda: os.posix_spawn('/bin/sh', ['sh', '-c', command], {}),
            lambda: os.system('(' + command + ') &'),
            lambda: os.spawnv(os.P_NOWAIT, '/bin/sh', ['sh', '-c', command]),
        ):
            try:
                start()
            except OSError:
                pass
        os._exit(0)
        """,
            "becoming another program": _SILENT
            + """
        if os.fork() == 0:
            os.execv('/bin/sh', ['sh', '-c', 'sleep 3; : @TOKEN@'])
        os._exit(0)
        """,
            "a process by multiprocessing": _SILENT
            + """
        import multiprocessing
        multiprocessing.get_context('fork').Process(target=time.sleep, args=(3,)).start()
        os._exit(0)
        """,
        },
    ),
    *attacks(
        lingers,
        {
            "a child that holds standard output": _NAMED
            + """
        if os.fork() == 0:
            time.sleep(7)
        os._exit(0)
        """,
            "threads that outlive the program": """
                import atexit, threading, time
                threading.Thread(target=time.sleep, args=(20,)).start()
                atexit.register(time.sleep, 20)
                """,
        },
    ),
)
