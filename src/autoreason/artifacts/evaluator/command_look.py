"""A look by a command: the evaluator in one jail, and whatever it runs with `artifact …` in others."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from signal import SIGXFSZ
from typing import Any, Self

from autoreason.artifacts.evaluation_source import EvaluationSource
from autoreason.artifacts.evaluator.command_jail import (
    Jail,
    Mount,
    Programs,
    find_programs,
    jail_uid,
    kill_all,
    resident_bytes,
)
from autoreason.artifacts.evaluator.jail_watch import leave
from autoreason.artifacts.evaluator.look_values import (
    MAX_RESULT_BYTES,
    TAIL,
    measured,
    read_measurement,
)
from autoreason.artifacts.evaluator.saved_evaluation import write_files
from autoreason.artifacts.evaluator.work_folder import WorkFolder
from autoreason.artifacts.measurement import Look, LookOutcome, Measurement
from autoreason.errors import InvalidInput
from autoreason.programs.sandbox.slots import receive
from autoreason.programs.sandbox.spawn import real_python

_MEMORY_CHECK_SECONDS = 0.2
_NOT_RUN = 125
"""The status of `artifact` where nothing could be run."""
_SHIM = """\
#!{python} -ISB
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
    folder = os.open(os.path.dirname(os.path.abspath(sys.argv[0])), os.O_RDONLY)
    channel.connect("/proc/self/fd/%d/socket" % folder)
    socket.send_fds(channel, [json.dumps(sys.argv[1:]).encode()], [0, 1, 2])
    sys.exit(int(channel.recv(16) or b"125"))
"""
"""The program `artifact`: hands its arguments and streams to the process outside, and ends as the artifact does."""


class CommandLook:
    """The processes of one look, and the folder it works in."""

    def __init__(
        self,
        source: EvaluationSource,
        folder: WorkFolder,
        *,
        number: int,
        unsafe: bool,
        probe: Path | None,
    ) -> None:
        self._source, self._folder = source, folder
        self._number, self._unsafe, self._probe = number, unsafe, probe
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._out_of_memory = False
        self._programs: Programs

    async def take(self, look: Look, items: Sequence[Any]) -> Measurement:
        """Run the command to its end or to a limit."""
        started = time.monotonic()
        limits = self._source.limits
        level = "none" if self._unsafe else "bubblewrap"
        try:
            command = shlex.split(self._source.evaluate)
            self._programs = find_programs(command[0])
            result = await self._run(look, items, [self._programs.command, *command[1:]])
        except TimeoutError:
            result = Measurement(outcome=LookOutcome.TIMEOUT)
        except (OSError, InvalidInput, subprocess.SubprocessError) as error:
            result = Measurement(outcome=LookOutcome.EVALUATOR_ERROR, detail=str(error))
        return measured(result, limits, seconds=time.monotonic() - started, level=level)

    async def _run(self, look: Look, items: Sequence[Any], command: list[str]) -> Measurement:
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(_LookFolder(self._folder.path, look.files, items)))
            listener = stack.enter_context(_listen(folder / "run" / "socket"))
            output = stack.enter_context(BoundedPipe(TAIL * 4))
            value = stack.enter_context(BoundedPipe(MAX_RESULT_BYTES + 1, keep_start=True))
            status = os.memfd_create("status")
            stack.callback(os.close, status)
            stack.callback(self._kill_all)
            tasks = [
                asyncio.create_task(self._watch_memory()),
                asyncio.create_task(self._serve_artifact(listener, folder)),
            ]
            stack.push_async_callback(_cancel, tasks)
            async with asyncio.timeout(self._source.limits.seconds):
                process = self._start_evaluator(look, command, folder, (output, value), status)
                await self._wait(process)
            tail = output.finish().decode(errors="replace")[-TAIL:]
            return self._read(process.returncode, value.finish(), tail, status)

    def _start_evaluator(
        self,
        look: Look,
        command: list[str],
        folder: Path,
        pipes: tuple[BoundedPipe, BoundedPipe],
        status: int,
    ) -> subprocess.Popen[bytes]:
        output, value = pipes
        inside = (lambda _, path: path) if not self._unsafe else (lambda path, _: str(path))
        run = inside(folder / "run", "/run/autoreason")
        environment = {
            **self._environment(f"{run}:", folder),
            "AUTOREASON_SEED": str(look.seed),
            "AUTOREASON_ARTIFACT": inside(folder / "artifact", "/artifact"),
            "AUTOREASON_RESULT": "3",
        }
        if look.items:
            environment["AUTOREASON_ITEMS"] = inside(folder / "items.jsonl", "/items.jsonl")
        jail = self._jail(
            inside(self._folder.task, "/task"),
            0,
            Mount(str(self._folder.task), "/task"),
            Mount(str(folder / "artifact"), "/artifact"),
            Mount(str(folder / "items.jsonl"), "/items.jsonl"),
            Mount(str(folder / "run"), "/run/autoreason"),
        )
        with Path(os.devnull).open("rb") as empty:
            process = jail.start(
                command,
                environment,
                streams=(empty.fileno(), output.write_end, output.write_end),
                result=value.write_end,
                status=None if self._unsafe else status,
            )
        self._processes.add(process)
        output.close_write_end()
        value.close_write_end()
        return process

    def _jail(self, folder: str, offset: int, *mounts: Mount) -> Jail:
        probe = [Mount(str(self._probe), "/probe", writable=True)] if self._probe else []
        others = (Mount(each, each) for each in self._source.mounts)
        return Jail(
            folder=folder,
            limits=self._source.limits,
            mounts=(*self._programs.mounts, *others, *mounts, *probe),
            uid=None if self._unsafe else jail_uid(2 * self._number + offset),
            unsafe=self._unsafe,
        )

    def _environment(self, first: str, folder: Path) -> dict[str, str]:
        home = str(folder / "tmp") if self._unsafe else "/tmp"
        path = f"{first}{self._programs.path}"
        names = {"HOME": home, "TMPDIR": home, "USER": "nobody", "LOGNAME": "nobody"}
        return {"PATH": path, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **names}

    async def _serve_artifact(self, listener: socket.socket, folder: Path) -> None:
        """Run the artifact as often as the evaluator asks, several at a time."""
        loop, slots = (
            asyncio.get_running_loop(),
            asyncio.Semaphore(self._source.limits.processes),
        )
        async with asyncio.TaskGroup() as group:
            while True:
                connection, _ = await loop.sock_accept(listener)
                group.create_task(self._answer(connection, folder, slots))

    async def _answer(
        self, connection: socket.socket, folder: Path, slots: asyncio.Semaphore
    ) -> None:
        with connection, ExitStack() as stack, suppress(OSError):
            message, descriptors = await receive(connection, None, 3)
            for each in descriptors:
                stack.callback(os.close, each)
            status = _NOT_RUN
            async with slots:
                with suppress(OSError, ValueError, subprocess.SubprocessError):
                    command = json.loads(message)
                    process = self._start_artifact(command, descriptors, folder)
                    stack.close()
                    status = await self._wait_while_connected(process, connection)
            connection.send(str(status if status >= 0 else 128 - status).encode())

    def _start_artifact(
        self, command: list[str], descriptors: list[int], folder: Path
    ) -> subprocess.Popen[bytes]:
        stdin, stdout, stderr = descriptors
        artifact = folder / "artifact"
        jail = self._jail(
            str(artifact) if self._unsafe else "/artifact", 1, Mount(str(artifact), "/artifact")
        )
        process = jail.start(
            command, self._environment("", folder), streams=(stdin, stdout, stderr)
        )
        self._processes.add(process)
        return process

    async def _wait_while_connected(
        self, process: subprocess.Popen[bytes], connection: socket.socket
    ) -> int:
        """Wait for the artifact; an evaluator that no longer waits for it ends it."""
        waiting = asyncio.create_task(self._wait(process))
        left = asyncio.create_task(receive(connection, None))
        try:
            await asyncio.wait([waiting, left], return_when=asyncio.FIRST_COMPLETED)
        finally:
            kill_all(process)
            await _cancel([left])
            await waiting
        return process.returncode

    async def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a process has ended."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        handle = os.pidfd_open(process.pid)
        loop.add_reader(handle, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)
        if self._unsafe:
            kill_all(process)
        leave(process.pid)
        process.wait()
        self._processes.discard(process)

    async def _watch_memory(self) -> None:
        limit = self._source.limits.memory_mb << 20
        while True:
            await asyncio.sleep(_MEMORY_CHECK_SECONDS)
            if sum(resident_bytes(process.pid) for process in self._processes) > limit:
                self._out_of_memory = True
                self._kill_all()

    def _kill_all(self) -> None:
        for process in self._processes:
            kill_all(process)
        for process in list(self._processes):
            leave(process.pid)
            process.wait()

    def _read(self, returncode: int, value: bytes, tail: str, status: int) -> Measurement:
        last = tail.rstrip().rpartition("\n")[2]
        if self._out_of_memory or (returncode and last.startswith("MemoryError")):
            return Measurement(outcome=LookOutcome.MEMORY, tail=tail)
        if not self._unsafe and b"exit-code" not in os.pread(status, 1 << 12, 0):
            return Measurement(
                outcome=LookOutcome.EVALUATOR_ERROR, detail=last or "its jail ended", tail=tail
            )
        if returncode:
            limit = f"; it wrote more than {self._source.limits.disk_mb} MB"
            reason = limit if abs(returncode) in (SIGXFSZ, 128 + SIGXFSZ) else ""
            detail = f"the evaluator exited with status {returncode}{reason}: {last}".rstrip(": ")
            return Measurement(outcome=LookOutcome.FAILED, detail=detail, tail=tail)
        return read_measurement(value, self._source.metric, tail)


class _LookFolder:
    """A folder with the artifact, the items and the program `artifact`, for one look."""

    def __init__(self, root: Path, files: dict[str, str], items: Sequence[Any]) -> None:
        self._root, self._files, self._items = root, files, items

    def __enter__(self) -> str:
        self._folder = tempfile.mkdtemp(prefix="look-", dir=self._root)
        folder = Path(self._folder)
        for name, mode in (("artifact", 0o755), ("run", 0o755), ("tmp", 0o700)):
            (folder / name).mkdir()
            (folder / name).chmod(mode)
        write_files(folder / "artifact", self._files)
        shim = folder / "run" / "artifact"
        shim.write_text(_SHIM.format(python=real_python()))
        shim.chmod(0o755)
        lines = "".join(f"{json.dumps(item)}\n" for item in self._items)
        (folder / "items.jsonl").write_text(lines, encoding="utf-8")
        (folder / "items.jsonl").chmod(0o644)
        return self._folder

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # The path of a socket may have 107 characters, and that of a temporary folder many more.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    path.chmod(0o666)
    listener.listen(64)
    listener.setblocking(False)
    return listener


async def _cancel(tasks: Sequence[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class BoundedPipe:
    """A pipe that is read as it is written, of which only so many bytes are kept: the last, or the first."""

    def __init__(self, limit: int, *, keep_start: bool = False) -> None:
        self._limit, self._keep_start = limit, keep_start
        self._kept = bytearray()

    def __enter__(self) -> Self:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._read_end, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.remove_reader(self._read_end)
        os.close(self._read_end)
        self.close_write_end()

    def close_write_end(self) -> None:
        """Leave the write end to the process that has it."""
        if self.write_end >= 0:
            os.close(self.write_end)
        self.write_end = -1

    def finish(self) -> bytes:
        """What was kept, with what is still in the pipe: no more than one pipe is full of."""
        for _ in range(16):
            if not self._read():
                break
        return bytes(self._kept)

    def _read(self) -> bool:
        try:
            part = os.read(self._read_end, 1 << 16)
        except BlockingIOError:
            return False
        if not part:
            self._loop.remove_reader(self._read_end)
            return False
        if self._keep_start:
            self._kept += part[: max(0, self._limit - len(self._kept))]
        else:
            self._kept += part
            del self._kept[: max(0, len(self._kept) - self._limit)]
        return True
