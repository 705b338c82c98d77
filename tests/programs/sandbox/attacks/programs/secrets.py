"""Secrets: files, names, links, the environment, and the expected answer."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import accepted, attacks, either, shows

_DUMP = """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]

    def dump(start, step, pages):
        # write() answers EFAULT where a read would end the process.
        start &= ~4095
        for page in range(pages):
            if libc.write(1, start + step * 4096 * page, 4096) < 0:
                break
"""

SECRETS = (
    *attacks(
        shows,
        {
            "a planted file by its path": "print(open('@FOLDER@/secret.txt').read())",
            "a planted file through a symlink": "print(open('@FOLDER@/link').read())",
            "a planted file through a hard link": "print(open('@FOLDER@/hard').read())",
            "a planted file through a link of its own": """
                import os
                for place in ('.', '/tmp', '/dev/shm', '/var/tmp', '@FOLDER@'):
                    for make in (os.symlink, os.link):
                        try:
                            make('@FOLDER@/secret.txt', place + '/@TOKEN@')
                            print(open(place + '/@TOKEN@').read())
                        except OSError as error:
                            print(error)
                """,
            "a planted file through the root of other processes": """
                for who in ('self', '1', '@SUPERVISOR@', '@BYSTANDER@'):
                    for way in ('root', 'cwd', 'task/1/root'):
                        for path in ('@FOLDER@/secret.txt', '/../..@FOLDER@/secret.txt'):
                            try:
                                print(open(f'/proc/{who}/{way}{path}').read())
                            except OSError as error:
                                print(error)
                """,
            "a planted file by every open there is": """
                import ctypes, mmap, os, platform
                libc = ctypes.CDLL(None, use_errno=True)
                path = b'@FOLDER@/secret.txt'
                how = (ctypes.c_uint64 * 3)(0, 0, 0)
                arm = platform.machine() == 'aarch64'
                tries = [(56 if arm else 257, -100, path, 0, 0), (437, -100, path, how, 24)]
                tries += [] if arm else [(2, path, 0, 0), (85, path, 0), (0x40000002, path, 0, 0)]
                for number, *given in tries:
                    fd = libc.syscall(number, *given)
                    if fd >= 0:
                        print(os.read(fd, 100))
                """,
            "a planted file through the 32-bit door of the kernel": r"""
                import ctypes, mmap
                # push rbx; mov eax, edi; mov ebx, esi; xchg ecx, edx; int 0x80; pop rbx; ret
                code = b'\x53\x89\xf8\x89\xf3\x87\xd1\xcd\x80\x5b\xc3'
                libc = ctypes.CDLL(None, use_errno=True)
                libc.mmap.restype = ctypes.c_void_p
                libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
                page = libc.mmap(None, 8192, 7, 0x62, -1, 0)
                assert page < 1 << 32
                ctypes.memmove(page, code, len(code))
                path = b'@FOLDER@/secret.txt\0'
                ctypes.memmove(page + 1024, path, len(path))
                call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint] * 4)(page)
                fd = call(5, page + 1024, 0, 0)
                print(fd, call(3, fd & 0xFFFFFFFF, page + 4096, 100))
                print(ctypes.string_at(page + 4096, 100))
                """,
            "the names in folders": """
                import os
                for place in ('@FOLDER@/home', os.path.expanduser('~'), '.', '..', '/'):
                    for look in (os.listdir, lambda path: list(os.scandir(path))):
                        try:
                            print(place, look(place))
                        except OSError as error:
                            print(error)
                """,
            "where a link points": "import os\nprint(os.readlink('@FOLDER@/pointer'))",
            "the date of a file": """
                import os
                for look in (os.stat, os.lstat):
                    try:
                        print(look('@FOLDER@/secret.txt').st_mtime_ns)
                    except OSError as error:
                        print(error)
                """,
            "the date of a file asked for as if it were open": """
                import ctypes, platform, struct
                libc = ctypes.CDLL(None, use_errno=True)
                arm = platform.machine() == 'aarch64'
                about = ctypes.create_string_buffer(256)
                for flags in (0x1000, 0x1100, 0):
                    number = ctypes.c_long(79 if arm else 262)
                    libc.syscall(number, -100, b'@FOLDER@/secret.txt', about, flags)
                    seconds, rest = struct.unpack_from('qq', about, 88)
                    print(seconds * 10 ** 9 + rest)
                libc.syscall(ctypes.c_long(291 if arm else 332), -100, b'@FOLDER@/secret.txt', 0x1000, 0x7ff, about)
                seconds, rest = struct.unpack_from('qI', about, 112)
                print(seconds * 10 ** 9 + rest)
                """,
            "an attribute of a file": "import os\nprint(os.getxattr('@FOLDER@/secret.txt', 'user.secret'))",
            "the environment of the user": """
                import os
                print(dict(os.environ), os.environb)
                try:
                    print(open('/proc/self/environ').read())
                except OSError as error:
                    print(error)
                """,
            "the environment below Python's own copy": """
                import ctypes
                libc = ctypes.CDLL(None)
                place = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, 'environ')
                index = 0
                while place and place[index]:
                    print(place[index])
                    index += 1
                """,
            "the environment in the rest of the stack": _DUMP
            + """
    program = ctypes.c_void_p.in_dll(libc, '__libc_stack_end').value
    dump(program, 1, 200)
        """,
        },
    ),
    *attacks(
        either(shows, accepted),
        {
            "secrets anywhere in its own memory": _DUMP
            + """
    for anchor in (id(object()), id([]) , id(dump), id(libc), id(type), id(bytes(5000))):
        dump(anchor, 1, 20)
        dump(anchor, -1, 20)
        """,
            "secrets in frames above": """
                import sys
                frame = sys._getframe()
                while frame:
                    print(frame.f_code.co_filename, {k: repr(v)[:500] for k, v in frame.f_locals.items()})
                    print({k: repr(v)[:500] for k, v in frame.f_globals.items()})
                    frame = frame.f_back
                for frame in sys._current_frames().values():
                    print(frame.f_locals)
                """,
            "secrets among all objects": """
                import gc
                for thing in gc.get_objects():
                    try:
                        if isinstance(thing, (dict, list, tuple, set, bytearray)):
                            print(repr(thing)[:300])
                    except Exception:
                        pass
                """,
            "secrets in modules": """
                import sys
                for name, module in list(sys.modules.items()):
                    for key, value in list(vars(module).items()):
                        if isinstance(value, (str, bytes, int, list, tuple)):
                            print(name, key, repr(value)[:200])
                print(sys.argv, sys.orig_argv, sys.path, sys.flags)
                """,
            "the answer in files nearby": """
                import glob, os
                for place in ('@FOLDER@', os.path.expanduser('~')):
                    for path in glob.glob(place + '/**/*.txt', recursive=True)[:50]:
                        try:
                            print(open(path).read(200))
                        except OSError as error:
                            print(error)
                """,
            "the answer in its own descriptors": """
                import os
                for fd in range(1024):
                    for offset in (0, 4096):
                        try:
                            print(fd, os.pread(fd, 4096, offset))
                        except OSError:
                            pass
                    try:
                        os.set_blocking(fd, False)
                        print(fd, os.read(fd, 4096))
                    except OSError:
                        pass
                """,
        },
    ),
)
