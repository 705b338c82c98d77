"""The real command line as a process of its own: what it took, by its own clock and the provider's."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO

from benchmarks.server import ROOT, Serving, Span

AUTOREASON = str(Path(sys.executable).with_name("autoreason"))
BRIEF = """\
Write a note for guests who stay one night at a small lighthouse by the sea.

It lies on the pillow. Tell them when breakfast is, how many steps the stairs have, and that the foghorn
may sing at night. Keep it warm and short.
"""
_BARE = (sys.executable, "-c", "pass")
_CLIENT = """
import asyncio, os, sys
from aiohttp import ClientSession
async def ask(body):
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    async with ClientSession(headers={"authorization": "Bearer x"}) as session:
        for _ in range(int(sys.argv[1])):
            async with session.post(url, json=body) as response:
                await response.json()
asyncio.run(ask({"model": "fake", "messages": [{"role": "user", "content": sys.argv[2]}]}))
"""
_MEGABYTE = 1024 if sys.platform != "darwin" else 1024 * 1024
"""In the units the system counts memory in."""


@dataclass(frozen=True)
class Ran:
    """One command from start to end; seconds and megabytes."""

    wall: float
    cpu: float
    memory: float
    to_first: float = 0.0
    """From the start of the process to the first call's arrival."""
    cpu_at_first: float = 0.0
    after_last: float = 0.0
    """From the last reply to the end of the process."""
    calls: tuple[Span, ...] = ()


def timed(command: Sequence[str], given: str = "") -> Ran:
    """A command that uses no network, with what it is given on standard input."""
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    assert process.stdin
    process.stdin.write(given.encode())
    process.stdin.close()
    return _wait(process, command, started)[0]


def bare_start(rounds: int = 5) -> Ran:
    """The start of a bare interpreter, which is what times are compared with: the median of some."""
    starts = [timed(_BARE) for _ in range(rounds)]
    return Ran(
        wall=median(one.wall for one in starts), cpu=median(one.cpu for one in starts), memory=0.0
    )


def run_client(calls: int, provider: Serving) -> Ran:
    """A bare client that makes one call after another, against a fresh provider."""
    return _observe([sys.executable, "-c", _CLIENT, str(calls), BRIEF], provider)


def run(options: Sequence[str], provider: Serving, *, terminal: bool = False) -> Ran:
    """`autoreason run` with a brief and a journal of its own, against a fresh provider."""
    with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
        brief = Path(folder, "brief.md")
        brief.write_text(BRIEF, encoding="utf-8")
        command = [AUTOREASON, "run", str(brief), "-m", "openai/fake", *options]
        return _observe(command, provider, terminal=terminal)


def _observe(command: Sequence[str], provider: Serving, *, terminal: bool = False) -> Ran:
    """A command that asks a provider, in a home of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder,
        _output(folder, terminal) as output,
    ):
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=_environment(folder, provider),
        )
        peaks = [0.0]
        threading.Thread(target=_watch_memory, args=(process.pid, peaks)).start()
        cpu_at_first = _cpu_at_first(process.pid, provider)
        ran, end = _wait(process, command, started)
    calls = provider.log()
    return Ran(
        wall=ran.wall,
        cpu=ran.cpu,
        memory=peaks[-1] or ran.memory,
        to_first=calls[0].arrived - started,
        cpu_at_first=cpu_at_first,
        after_last=end - max(call.done for call in calls),
        calls=tuple(calls),
    )


def _watch_memory(process: int, peaks: list[float]) -> None:
    # What the system says at the end counts the memory of the process that started this one, too.
    with suppress(OSError):
        while found := re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text()):
            peaks.append(int(found[1]) / 1024)
            time.sleep(0.02)


def _cpu_at_first(process: int, provider: Serving) -> float:
    """Processor time at the first call; 0 for a process that ends without one."""
    look = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while not provider.has_request(within=0.05):
        if os.waitid(os.P_PID, process, look):
            return 0.0
    return cpu_of(process)


def cpu_of(process: int) -> float:
    """Seconds of processor time a living process has had, all its threads together."""
    # How Linux spells the CPU clock of another process.
    return time.clock_gettime((~process << 3) | 2)


def _wait(
    process: subprocess.Popen[bytes], command: Sequence[str], started: float
) -> tuple[Ran, float]:
    _, status, used = os.wait4(process.pid, 0)
    end = time.monotonic()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} left with {process.returncode}")
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / _MEGABYTE
    return Ran(wall=end - started, cpu=cpu, memory=memory), end


def _environment(folder: str, provider: Serving) -> dict[str, str]:
    """Nothing of the user's but where programs are."""
    return {
        **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
        "HOME": folder,
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "AUTOREASON_JOURNAL": str(Path(folder, "journal.db")),
        "OPENAI_BASE_URL": provider.base,
        "OPENAI_API_KEY": "x",
    }


@contextmanager
def _output(folder: str, terminal: bool) -> Iterator[IO[bytes] | int]:
    """Where a command writes: a file, or a terminal."""
    if not terminal:
        with Path(folder, "output").open("wb") as file:
            yield file
        return
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    drain = threading.Thread(target=_drain, args=(reader,))
    drain.start()
    try:
        yield writer
    finally:
        os.close(writer)
        drain.join()
        os.close(reader)


def _drain(reader: int) -> None:
    # Linux says "input/output error" when the last writer is gone.
    with suppress(OSError):
        while os.read(reader, 65536):
            pass
