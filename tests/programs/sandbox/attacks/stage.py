"""One user and one sandbox, in a process of its own, so that a test may be root and try as somebody else."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - later its file may be out of reach
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import msgspec
from tests.programs.sandbox.attacks.attack import Attack
from tests.programs.sandbox.attacks.catalogue import ATTACKS
from tests.programs.sandbox.attacks.plain import PlainSandbox
from tests.programs.sandbox.attacks.processes import adopt_orphans
from tests.programs.sandbox.attacks.trying import AT_ONCE, AttackResult, try_all
from tests.programs.sandbox.attacks.trying_functions import try_functions

from autoreason.programs.sandbox import fork_server, linux  # noqa: F401 - as above
from autoreason.programs.sandbox.base import Level, Sandbox
from autoreason.programs.sandbox.levels import open_sandbox

ROOT = Path(__file__).parents[4]
NOBODY = 65534
EVERYBODYS_PYTHON = "/usr/bin/python3"
"""One that an ordinary user may run too; the one we run in may lie in a home."""

_SET_DUMPABLE = 4
_APART = ("unshare", "--mount", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child")


class Staging(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be tried, and as whom."""

    level: Level
    """Of the sandbox; `none` for no sandbox."""
    ordinary: bool
    """As an ordinary user, even when started by root."""
    names: tuple[str, ...] = ()
    """Attacks; all where there are none."""

    @property
    def attacks(self) -> list[Attack]:
        """Those that are named."""
        return [attack for attack in ATTACKS if not self.names or attack.name in self.names]


def stage(staging: Staging) -> list[AttackResult]:
    """Try it in a new process and tell what came of each attack."""
    command = [sys.executable, "-m", __name__, msgspec.json.encode(staging).decode()]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(
        [*_apart(), *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        start_new_session=True,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return msgspec.json.decode(done.stdout, type=list[AttackResult])


@cache
def _apart() -> tuple[str, ...]:
    """What keeps an attack that succeeds from the machine, where we are root and it could do harm."""
    if os.geteuid() != 0 or not shutil.which(_APART[0]):
        return ()
    return _APART if subprocess.run([*_APART, "true"], capture_output=True).returncode == 0 else ()


def become_ordinary() -> None:
    """Somebody without rights for good, whom the kernel treats like any other user."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 1, 0, 0, 0)


def _open(level: Level, python: str | None) -> Sandbox:
    if level == "none":
        return PlainSandbox(python or sys.executable)
    opened = open_sandbox(level=level, python=python, workers=AT_ONCE)
    assert opened.level == level
    return opened


def _folder() -> Path:
    root = Path(tempfile.mkdtemp(prefix="attacks-"))
    root.chmod(0o755)
    os.environ["HOME"] = str(root)
    return root


async def hold(staging: Staging, sandbox: Sandbox) -> list[AttackResult]:
    """All of it, in a folder that is gone afterwards."""
    root = _folder()
    try:
        tried = await try_all(sandbox, staging.attacks, root) if staging.attacks else []
        return tried + await try_functions(sandbox, staging.names)
    finally:
        await sandbox.close()
        shutil.rmtree(root, ignore_errors=True)


def main() -> None:
    """Read what to try from the command line, print what came of it."""
    staging = msgspec.json.decode(sys.argv[1], type=Staging)
    python = None
    adopt_orphans()
    if staging.ordinary and os.geteuid() == 0:
        become_ordinary()
        python = EVERYBODYS_PYTHON
    tried = asyncio.run(hold(staging, _open(staging.level, python)))
    sys.stdout.buffer.write(msgspec.json.encode(tried))


if __name__ == "__main__":
    main()
