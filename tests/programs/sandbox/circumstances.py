"""The sandbox under other circumstances: as an ordinary user, in a container, on an older kernel.

Run as a program with what is asked as its argument; tells as JSON which level was found and what programs came to.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - later its file may be out of reach
import ctypes
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from autoreason.programs.sandbox import jail, linux, seccomp
from autoreason.programs.sandbox.base import Level, ProgramRun, RunLimits
from autoreason.programs.sandbox.levels import DetectedLevel, find_level, open_sandbox

ROOT = Path(__file__).parents[3]
NOBODY = 65534
NAMESPACES = {"x86_64": (272, 308, 165, 155), "aarch64": (97, 268, 40, 41)}
"""unshare, setns, mount, pivot_root: what a container usually refuses."""
LANDLOCK = (444, 445, 446)
PROGRAMS = (
    "print(sum(map(int, input().split())))",
    "import os\nprint(os.getuid() != 0, os.getgid() != 0, dict(os.environ))",
    "from concurrent.futures import ThreadPoolExecutor as T\nprint(sum(T(20).map(int, input())))",
    "print(open('/etc/passwd').read())",
    "import os\nos.fork()",
    "import socket\nsocket.socket()",
    "import os\nprint(os.listdir('/'))",
    "import mmap, os\nprint(os.read(0, os.fstat(0).st_size), mmap.mmap(0, 0, access=1)[:])\nos.lseek(0, 0, 0)\n"
    "print(open(0).read())",
)


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    ordinary: bool = False
    container: bool = False
    """No namespaces can be made."""
    old: bool = False
    """The kernel knows no Landlock."""
    level: Level | None = None
    python: str | None = None
    folder: str | None = None
    """A copy of the sandbox's own folder that everybody can read, wherever the project lies."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    found: DetectedLevel
    runs: tuple[ProgramRun, ...]


def under(circumstances: Circumstances) -> Findings:
    with tempfile.TemporaryDirectory() as folder:
        if circumstances.ordinary:
            Path(folder).chmod(0o755)
            copy = shutil.copytree(linux.SANDBOX_FOLDER, Path(folder) / "sandbox")
            circumstances = msgspec.structs.replace(circumstances, folder=str(copy))
        done = subprocess.run(
            [sys.executable, "-m", __name__, msgspec.json.encode(circumstances).decode()],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
            capture_output=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return msgspec.json.decode(done.stdout, type=Findings)


def _refuse(numbers: tuple[int, ...], error: int) -> None:
    """Refuse system calls from now on, as a container's host or an older kernel would."""
    lines = [seccomp.BpfInstruction(0x20, 0, 0, 0)]
    for number in numbers:
        lines += [
            seccomp.BpfInstruction(0x15, 0, 1, number),
            seccomp.BpfInstruction(0x06, 0, 0, 0x00050000 | error),
        ]
    lines.append(seccomp.BpfInstruction(0x06, 0, 0, 0x7FFF0000))
    packed = b"".join(map(seccomp.BpfInstruction.pack, lines))
    program = (ctypes.c_ushort * 8)()
    ctypes.memmove(program, len(lines).to_bytes(2, "little"), 2)
    kept = ctypes.create_string_buffer(packed)
    ctypes.memmove(ctypes.addressof(program) + 8, ctypes.addressof(kept).to_bytes(8, "little"), 8)
    jail.prctl(jail.PR_SET_NO_NEW_PRIVS, 1)
    jail.prctl(22, 2, ctypes.addressof(program))


async def _try(circumstances: Circumstances) -> tuple[ProgramRun, ...]:
    sandbox = open_sandbox(workers=1, level=circumstances.level, python=circumstances.python)
    runs = []
    for source in PROGRAMS:
        async with sandbox.open(source, RunLimits(seconds=5)) as session:
            runs.append(await session.run(b"3 4\n" if "split" in source else b"34\n"))
    await sandbox.close()
    return tuple(runs)


def _main(circumstances: Circumstances) -> None:
    if circumstances.folder:
        linux.SANDBOX_FOLDER = Path(circumstances.folder)
    if circumstances.ordinary:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # A process that gives up root is hidden from tools that look at processes; an ordinary user's are not.
        jail.prctl(jail.PR_SET_DUMPABLE, 1)
    if circumstances.container:
        _refuse(NAMESPACES[os.uname().machine], errno.EPERM)
    if circumstances.old:
        _refuse(LANDLOCK, errno.ENOSYS)
    found = find_level(circumstances.level, circumstances.python)
    findings = Findings(found=found, runs=asyncio.run(_try(circumstances)))
    sys.stdout.buffer.write(msgspec.json.encode(findings))
    sys.stdout.flush()


if __name__ == "__main__":
    _main(msgspec.convert(json.loads(sys.argv[1]), Circumstances))
