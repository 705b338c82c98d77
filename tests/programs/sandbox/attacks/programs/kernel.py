"""The kernel: calls a program that reads and prints never makes. What counts is the kernel's own answer."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import Attack, answers, attacks, either, shows, swarms

_CALL = """
        import ctypes, os, platform
        libc = ctypes.CDLL(None, use_errno=True)
        ARM = platform.machine() == 'aarch64'

        def call(name, x86, arm, *given):
            number = arm if ARM else x86
            given = [ctypes.c_long(one) if isinstance(one, int) else one for one in given]
            ctypes.set_errno(0)
            answer = libc.syscall(ctypes.c_long(number), *given)
            print('call', name, 0 if answer >= 0 else ctypes.get_errno(), flush=True)
            return answer
"""

_NEEDED = {
    "x86_64": "0-3 5 7-20 22-28 32-40 44-48 51-56 60-63 72-75 77 79 96-100 102 104 107-108 110-111 115 118"
    " 120-121 124 127-128 130-131 140 143 145-147 153 157-158 186 201-204 213 218-219 222-226 228-234 247 257 262"
    " 270-271 273-274 281 283-284 286-287 289-293 295-296 302 309 318 324 327-328 332 334-336 436 441 449 454-456",
    "aarch64": "17 19-25 29 32 46 56-59 62-74 79-80 82-83 85-87 93-96 98-103 107-111 113-115 120-126 128-129"
    " 131-137 139 141 148 150 153 155-156 158 160 163 165 167-169 172-179 199 204-212 214-216 220 222 226-227"
    " 232-233 260-261 278 283 286-287 291 293 436 441 449 454-456",
}
"""Calls that a program which computes, waits, reads, prints or looks for files may make; others ask for more."""

_GROUPS = {
    "namespaces": """
        for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x80):
            call(f'unshare({flag:#x})', 272, 97, flag)
        handle = libc.syscall(434, int('@BYSTANDER@'), 0)
        call('setns', 308, 268, handle, 0x10000000)
    """,
    "mounts": """
        call('mount', 165, 40, b'none', b'@FOLDER@/home', b'tmpfs', 0, 0)
        call('umount2', 166, 39, b'/nowhere', 2)
        call('pivot_root', 155, 41, b'/nowhere', b'/nowhere')
        call('chroot', 161, 51, b'@FOLDER@')
        call('fsopen', 430, 430, b'tmpfs', 0)
        call('open_tree', 428, 428, -100, b'@FOLDER@', 1)
        call('move_mount', 429, 429, -1, b'', -1, b'', 0)
        call('mount_setattr', 442, 442, -100, b'/nowhere', 0, 0, 0)
    """,
    "programs for the kernel": """
        attributes = (ctypes.c_uint32 * 32)(2, 4, 4, 1)
        call('bpf', 321, 280, 0, attributes, 128)
        event = (ctypes.c_uint32 * 32)(1, 128, 0)
        call('perf_event_open', 298, 241, event, 0, -1, -1, 0)
        call('seccomp', 317, 277, 2, 0, ctypes.byref(ctypes.c_uint32(0x7fff0000)))
        call('landlock_create_ruleset', 444, 444, 0, 0, 1)
    """,
    "rings": """
        parameters = (ctypes.c_uint32 * 30)()
        call('io_uring_setup', 425, 425, 4, parameters)
        call('io_uring_enter', 426, 426, -1, 0, 0, 0, 0, 0)
        call('io_uring_register', 427, 427, -1, 0, 0, 0)
        context = ctypes.c_ulong()
        call('io_setup', 206, 0, 4, ctypes.byref(context))
    """,
    "keys": """
        call('add_key', 248, 217, b'user', b'@TOKEN@', b'x', 1, -1)
        call('request_key', 249, 218, b'user', b'@TOKEN@', 0, -3)
        call('keyctl', 250, 219, 0, -3, 0)
    """,
    "faults and traces": """
        call('userfaultfd', 323, 282, 1)
        call('ptrace', 101, 117, 0, 0, 0, 0)
        call('process_vm_readv', 310, 270, os.getpid(), 0, 0, 0, 0, 0)
        call('process_vm_writev', 311, 271, os.getpid(), 0, 0, 0, 0, 0)
        call('kcmp', 312, 272, os.getpid(), os.getpid(), 0, 1, 1)
        call('process_madvise', 440, 440, -1, 0, 0, 0, 0)
        place = ctypes.byref(ctypes.c_long())
        call('get_robust_list', 274, 100, int('@BYSTANDER@'), place, place)
        call('move_pages', 279, 239, int('@BYSTANDER@'), 0, 0, 0, 0, 0)
        call('migrate_pages', 256, 238, int('@BYSTANDER@'), 0, 0, 0)
    """,
    "who it is": """
        for name, x86, arm in (('setuid', 105, 146), ('setgid', 106, 144), ('setfsuid', 122, 151)):
            call(name, x86, arm, 0)
        call('setresuid', 117, 147, 0, 0, 0)
        call('setgroups', 116, 159, 0, 0)
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        call('capset', 126, 91, header, (ctypes.c_uint32 * 6)())
        call('personality', 135, 92, 0x0040000)
        call('prctl(dumpable)', 157, 167, 4, 1, 0, 0, 0)
        call('prctl(mm)', 157, 167, 35, 1, 0, 0, 0)
        call('prctl(seccomp)', 157, 167, 22, 1, 0, 0, 0)
        call('prctl(ptracer)', 157, 167, 0x59616d61, -1, 0, 0, 0)
        call('prctl(keepcaps)', 157, 167, 8, 0, 0, 0, 0)
        call('setsid', 112, 157)
        call('setpgid', 109, 154, 0, 0)
    """,
    "the machine": """
        call('sethostname', 170, 161, 0, -1)
        call('syslog', 103, 116, 10, 0, 0)
        call('init_module', 175, 105, 0, 0, b'')
        call('delete_module', 176, 106, b'@TOKEN@', 0)
        call('acct', 163, 89, b'/nowhere')
        call('swapoff', 168, 225, b'/nowhere')
        call('settimeofday', 164, 170, 0, 0)
        call('clock_adjtime', 305, 266, 0, 0)
        call('quotactl', 179, 60, 0, 0, 0, 0)
        if not ARM:
            call('iopl', 172, 0, 0)
            call('ioperm', 173, 0, 0, 1, 0)
            call('modify_ldt', 154, 0, 0, 0, 0)
            call('uselib', 134, 0, b'/nowhere')
    """,
    "watching files": """
        call('fanotify_init', 300, 262, 0, 0)
        call('inotify_init1', 294, 26, 0)
        call('inotify_add_watch', 254, 27, -1, b'@FOLDER@', 2)
        call('name_to_handle_at', 303, 264, -100, b'/', 0, 0, 0)
        call('open_by_handle_at', 304, 265, -1, 0, 0)
        call('statfs', 137, 43, b'@FOLDER@', ctypes.create_string_buffer(200))
        call('chdir', 80, 49, b'@FOLDER@')
        call('listxattr', 194, 11, b'@FOLDER@', 0, 0)
    """,
    "memory that is a file": """
        call('memfd_create', 319, 279, b'x', 0)
        call('memfd_secret', 447, 447, 0)
        call('shmget', 29, 194, 1, -1, 0)
        call('semget', 64, 190, 1, -1, 0)
        call('msgget', 68, 186, 1, 0)
        call('mq_open', 240, 180, b'@TOKEN@', 0, 0, 0)
        call('remap_file_pages', 216, 234, 0, 0, 0, 0, 0)
    """,
    "other processes": """
        for who in (int('@BYSTANDER@'), 1):
            buffer = ctypes.create_string_buffer(128)
            call(f'clock_gettime({who})', 228, 113, ~who << 3 | 2, buffer)
            call(f'clock_getres({who})', 229, 114, ~who << 3 | 2, buffer)
            call(f'clock_nanosleep({who})', 230, 115, ~who << 3 | 2, 1, buffer, 0)
            if who != os.getpid():
                call(f'sched_getaffinity({who})', 204, 123, who, 128, buffer)
    """,
    "the user's share of signals": """
        import signal, threading
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
        sent = 0
        while sent < 1000 and libc.syscall(131 if ARM else 234, os.getpid(), threading.get_native_id(), 34) == 0:
            sent += 1
        print('call signals', 1 if sent < 1000 else 0)
    """,
    "terminals": """
        import array
        for fd in (0, 1, 2):
            for name, request in (('TIOCSTI', 0x5412), ('TIOCSCTTY', 0x540e), ('TIOCLINUX', 0x541c),
                                  ('FIOASYNC', 0x5452), ('FIOSETOWN', 0x8901), ('FS_IOC_SETFLAGS', 0x40086602)):
                call(name, 16, 29, fd, request, array.array('i', [0, 0]).buffer_info()[0])
    """,
}

KERNEL = (
    *(
        Attack(f"the kernel asked for {name}", answers, _CALL + calls, harmful=True)
        for name, calls in _GROUPS.items()
    ),
    *attacks(
        answers,
        {
            "whether files are there": _CALL
            + """
        about = ctypes.create_string_buffer(256)
        def report(what, path, answer):
            print('call', f'{what}({path.decode()})', 0 if answer >= 0 else 1)
        for path in (b'/usr', b'/usr/lib', b'/lib', b'/etc', b'/usr/bin/env', os.__file__.encode(), b'@FOLDER@'):
            for flags in (0, 0x100, 0x800, 0x1000, 0x1100):
                report(f'newfstatat:{flags:#x}', path, libc.syscall(79 if ARM else 262, -100, path, about, flags))
                report(f'statx:{flags:#x}', path, libc.syscall(291 if ARM else 332, -100, path, flags, 0x7ff, about))
            report('faccessat', path, libc.syscall(48 if ARM else 269, -100, path, 0))
            report('faccessat2', path, libc.syscall(439, -100, path, 0, 0))
            report('readlinkat', path, libc.syscall(78 if ARM else 267, -100, path, about, 256))
            report('chdir', path, libc.syscall(49 if ARM else 80, path))
        """,
            "who is at the other end of a socket": _CALL
            + """
        import socket
        one, other = socket.socketpair()
        buffer, size = ctypes.create_string_buffer(256), ctypes.c_int(256)
        # Credentials, security label, groups, cookies, memory, and a handle of the process.
        for option in (17, 31, 49, 55, 57, 59, 71, 75, 77):
            size.value = 256
            call(f'getsockopt({option})', 55, 209, one.fileno(), 1, option, buffer, ctypes.byref(size))
        call('getsockopt(tcp)', 55, 209, one.fileno(), 6, 11, buffer, ctypes.byref(size))
        """,
            "every flag of sending and receiving": _CALL
            + """
        import socket
        one, other = socket.socketpair()
        buffer = ctypes.create_string_buffer(256)
        for bit in range(31):
            one.send(b'x')
            call(f'sendto({1 << bit:#x})', 44, 206, one.fileno(), b'x', 1, 1 << bit, 0, 0)
            call(f'recvfrom({1 << bit:#x})', 45, 207, other.fileno(), buffer, 1, 1 << bit, 0, 0)
        call('recvfrom(address)', 45, 207, other.fileno(), buffer, 1, 0, buffer, ctypes.byref(ctypes.c_int(256)))
        """,
        },
    ),
    *attacks(
        either(shows, answers),
        {
            "becoming another program at once": _CALL
            + """
        import sys
        sys.stdout.flush()
        words = (ctypes.c_char_p * 3)(b'/bin/cat', b'@FOLDER@/secret.txt', None)
        call('execve', 59, 221, b'/bin/cat', words, None)
        call('execveat', 322, 281, -100, b'/bin/cat', words, None, 0)
        """,
            "a program of its own from memory": _CALL
            + """
        call('memfd_create', 319, 279, b'mine', 0)
        for fd in (1, 2, 0):
            try:
                os.pwrite(fd, b'#!/bin/cat @FOLDER@/secret.txt', 0)
            except OSError as error:
                print(error)
            words = (ctypes.c_char_p * 2)(b'mine', None)
            call(f'execveat({fd})', 322, 281, fd, b'', words, None, 0x1000)
        """,
        },
    ),
    Attack(
        "processes by every flag of clone",
        swarms,
        _CALL
        + """
        import time
        for bit in range(8, 32):
            if bit in (8, 16):
                continue
            for low in (0, 17):
                number = ctypes.c_long(220 if ARM else 56)
                if libc.syscall(number, ctypes.c_long(1 << bit | low), None, None, None, None) == 0:
                    time.sleep(1)
                    os._exit(0)
        time.sleep(0.3)
        """,
        alone=True,
        harmful=True,
    ),
    Attack(
        "every system call that is not needed",
        answers,
        _CALL
        + """
        needed = set()
        for part in ('"""
        + _NEEDED["aarch64"]
        + """' if ARM else '"""
        + _NEEDED["x86_64"]
        + """').split():
            first, _, last = part.partition('-')
            needed.update(range(int(first), int(last or first) + 1))
        for number in range(600):
            if number not in needed:
                call(number, number, number, -1, -1, -1, -1, -1, -1)
        """,
        harmful=True,
    ),
)
