"""Other processes: reading them, stopping them, ending them, slowing them down."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import attacks, harms, shows

_LIBC = """
        import ctypes, os, platform, signal
        libc = ctypes.CDLL(None, use_errno=True)
        ARM = platform.machine() == 'aarch64'
        WHO = int('@BYSTANDER@')

        def call(x86, arm, *given):
            number = arm if ARM else x86
            given = [ctypes.c_long(one) if isinstance(one, int) else one for one in given]
            answer = libc.syscall(number, *given)
            print(number, answer, os.strerror(ctypes.get_errno()))
            return answer
"""

OTHERS = (
    *attacks(
        shows,
        {
            "another's environment": """
                for who in ('@BYSTANDER@', '@SUPERVISOR@', '1'):
                    for part in ('environ', 'cmdline', 'task/' + who + '/environ'):
                        try:
                            print(open(f'/proc/{who}/{part}').read())
                        except OSError as error:
                            print(error)
                """,
            "every process's environment": """
                import os
                for who in range(1, 33000):
                    try:
                        print(open(f'/proc/{who}/environ', 'rb').read())
                    except OSError:
                        pass
                """,
            "another's memory through a file": """
                memory = open('/proc/@BYSTANDER@/mem', 'rb', 0)
                memory.seek(int('@ENVIRONMENT@'))
                print(memory.read(60))
                """,
            "another's memory by a system call": _LIBC
            + """
        buffer = ctypes.create_string_buffer(60)
        mine = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 40)
        theirs = (ctypes.c_size_t * 2)(int('@ENVIRONMENT@'), 40)
        call(310, 270, WHO, mine, 1, theirs, 1, 0)
        print(buffer.raw)
        """,
        },
    ),
    *attacks(
        harms,
        {
            "another traced": _LIBC
            + """
        import time
        call(101, 117, 16, WHO, 0, 0)
        call(101, 117, 0x4206, WHO, 0, 0)
        call(101, 117, 0x4207, WHO, 0, 0)
        time.sleep(0.3)
        """,
            "a signal to another": """
                import os, signal
                for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
                    os.kill(int('@BYSTANDER@'), number)
                """,
            "a signal to another by rarer calls": _LIBC
            + """
        call(234, 131, WHO, WHO, 9)
        call(200, 130, WHO, 9)
        info = (ctypes.c_int * 32)(9, 0, -1)
        call(129, 138, WHO, 9, info)
        call(297, 240, WHO, WHO, 9, info)
        """,
            "a signal to another by a handle": _LIBC
            + """
        handle = call(434, 434, WHO, 0)
        call(424, 424, handle, 9, 0, 0)
        call(440, 440, handle, 0, 0, 0, 0)
        call(448, 448, handle, 0)
        """,
            "a signal to another by way of a socket": """
                import fcntl, os, socket, struct, time
                mine, other = socket.socketpair()
                ends = [(mine.fileno(), other.fileno())]
                try:
                    read, write = os.pipe()
                    ends.append((read, write))
                except OSError as error:
                    print(error)
                for read, write in ends:
                    for own in (lambda: fcntl.fcntl(read, 8, int('@BYSTANDER@')),
                                lambda: fcntl.fcntl(read, 15, struct.pack('ii', 1, int('@BYSTANDER@')))):
                        try:
                            own()
                            fcntl.fcntl(read, 10, 9)
                            fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
                            os.write(write, b'x')
                        except OSError as error:
                            print(error)
                time.sleep(0.1)
                """,
            "a signal to its group": """
                import os, signal
                signal.signal(signal.SIGURG, signal.SIG_IGN)
                os.killpg(0, signal.SIGURG)
                os.kill(0, signal.SIGURG)
                """,
            "another's priority": """
                import os
                os.setpriority(os.PRIO_PROCESS, int('@BYSTANDER@'), 19)
                """,
            "another's cores": """
                import os
                os.sched_setaffinity(int('@BYSTANDER@'), {min(os.sched_getaffinity(0))})
                """,
            "another's limits": """
                import resource
                resource.prlimit(int('@BYSTANDER@'), resource.RLIMIT_NOFILE, (9, 9))
                """,
            "another's scheduling": _LIBC
            + """
        zero = (ctypes.c_int * 12)(0)
        call(144, 119, WHO, 5, zero)
        attributes = (ctypes.c_uint32 * 12)(48, 0, 0, 0, 19)
        call(314, 274, WHO, attributes, 0)
        call(251, 30, 1, WHO, 3 << 13)
        """,
        },
    ),
    *attacks(
        harms,
        {
            "a signal to everybody": """
                import os, signal
                os.kill(-1, signal.SIGURG)
                """,
            "ending what started it": """
                import os, signal
                for who in (os.getppid(), int('@SUPERVISOR@')):
                    for number in (signal.SIGSTOP, signal.SIGKILL):
                        try:
                            if who > 1:
                                os.kill(who, number)
                        except OSError as error:
                            print(error)
                """,
            "ending whatever has a number near its own": """
                import os, signal
                for who in range(2, 60000):
                    if who != os.getpid():
                        try:
                            os.kill(who, signal.SIGURG)
                        except OSError:
                            pass
                """,
        },
        harmful=True,
    ),
)
