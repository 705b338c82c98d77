"""Interference: what one run leaves for the next."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import Attack, attacks, carried

from autoreason.programs.sandbox.base import RunLimits

_READ = """
        import sys
        word = sys.stdin.read()
"""

_LIBC = (
    _READ
    + """
        import ctypes, os, platform
        libc = ctypes.CDLL(None, use_errno=True)
        ARM = platform.machine() == 'aarch64'
        KEY = int('@TOKEN@'[:7], 16)

        def call(x86, arm, *given):
            given = [ctypes.c_long(one) if isinstance(one, int) else one for one in given]
            return libc.syscall(arm if ARM else x86, *given)
"""
)

INTERFERENCE = (
    *attacks(
        carried,
        {
            "state in modules": _READ
            + """
        import builtins, json, re
        if word:
            json.left = builtins.left = sys.left = word
            re.match = lambda *_: word
            sys.modules['left'] = word
        print(getattr(json, 'left', ''), getattr(builtins, 'left', ''), sys.modules.get('left'), re.match('', ''))
        """,
            "state in standard input": """
                import os
                for fd in range(64):
                    try:
                        print(os.pread(fd, 4096, 0), os.pread(fd, 4096, 1 << 20))
                    except OSError:
                        pass
                """,
            "state anywhere in memory": _READ
            + """
        import gc
        if not word:
            for thing in gc.get_objects():
                try:
                    if isinstance(thing, (dict, list, tuple)):
                        print(repr(thing)[:200])
                except Exception:
                    pass
        """,
            "state in shared memory": _LIBC
            + """
        libc.shmat.restype = ctypes.c_void_p
        mine = call(29, 194, KEY, 4096, 0o1666 if word else 0o666)
        if mine >= 0:
            place = libc.shmat(mine, None, 0)
            if word:
                ctypes.memmove(place, word.encode(), len(word))
            else:
                print(ctypes.string_at(place, 40))
                call(31, 195, mine, 0, 0)
        """,
            "state in a queue of messages": _LIBC
            + """
        mine = call(68, 186, KEY, 0o1666 if word else 0o666)
        if mine >= 0:
            for _ in range(2) if word else ():
                message = ctypes.create_string_buffer(bytes([1] + [0] * 7) + word.encode())
                call(69, 189, mine, message, len(word), 0)
            if not word:
                message = ctypes.create_string_buffer(200)
                call(70, 188, mine, message, 100, 0, 0o4000)
                print(message.raw)
                call(71, 187, mine, 0, 0)
        """,
            "state in a named queue": _LIBC
            + """
        attributes = (ctypes.c_long * 8)(0, 4, 64)
        mine = call(240, 180, b'@TOKEN@', os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o666, attributes)
        if mine >= 0 and word:
            for _ in range(2):
                call(242, 182, mine, word.encode(), len(word), 0, None)
        elif mine >= 0:
            message = ctypes.create_string_buffer(64)
            call(243, 183, mine, message, 64, None, None)
            print(message.raw)
            call(241, 181, b'@TOKEN@')
        """,
            "state in keyrings": _LIBC
            + """
        for ring in (-3, -4, -5):
            if word:
                key = call(248, 217, b'user', b'@TOKEN@', word.encode(), len(word), ring)
                call(250, 219, 5, key, 0x3f3f3f3f)
            else:
                key = call(250, 219, 10, ring, b'user', b'@TOKEN@', 0)
                buffer = ctypes.create_string_buffer(64)
                call(250, 219, 11, key, buffer, 64)
                print(buffer.raw)
                call(250, 219, 9, key, ring)
        """,
            "a semaphore left behind": _LIBC
            + """
        mine = call(64, 190, KEY, 12, 0o1666 if word else 0o666)
        if mine >= 0:
            for index in range(12):
                if word:
                    call(66, 191, mine, index, 16, int(word[index * 2:index * 2 + 2], 16))
            if not word:
                print(''.join(f'{call(66, 191, mine, index, 12, 0):02x}' for index in range(12)))
                call(66, 191, mine, 0, 0, 0)
        """,
        },
        again=True,
    ),
    Attack(
        "state in files",
        carried,
        _READ
        + """
        for place in ('.', '/tmp', '/dev/shm', '/var/tmp', '@FOLDER@'):
            try:
                if word:
                    open(place + '/@TOKEN@', 'w').write(word)
                print(open(place + '/@TOKEN@').read())
            except OSError as error:
                print(error)
        """,
        again=True,
        harmful=True,
    ),
    Attack(
        "state in the memory of what starts it",
        carried,
        _LIBC
        + """
        libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
        if word:
            # What it complains of may be looked at outside.
            sys.stderr.write(word * 20 + chr(10) + 'MemoryError ' + word * 20)
            sys.stderr.flush()
            os._exit(1)
        for anchor in {id(one) >> 20 for one in (word, [], {}, bytes(600), sys, bytes(5000), call, 'a' * 100)}:
            for page in range(-384, 640):
                # It answers EFAULT where a read would end the process.
                libc.write(1, (anchor << 20) + page * 4096, 4096)
        """,
        limits=RunLimits(seconds=1.0, memory=128 << 20, output=16 << 20),
        again=True,
    ),
)
