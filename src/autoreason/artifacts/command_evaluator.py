"""An evaluator that is a command: it runs in one jail, and whatever it runs with `artifact …` in others."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from signal import SIGXFSZ
from typing import Any, Self

from msgspec.structs import replace

from autoreason.artifacts import command_jail
from autoreason.artifacts import saved_evaluation as saved
from autoreason.artifacts.artifact import Evaluation, EvaluationOutcome, Files, Measurement
from autoreason.artifacts.attacks import LANGUAGES, Language, gap_in, language_of, run_by
from autoreason.artifacts.command_jail import Jail, Mount
from autoreason.artifacts.research_task import EvaluationSource
from autoreason.files import data_folder
from autoreason.jobs.context import cancel
from autoreason.programs.sandbox.linux import real_python, receive, wait_readable

_PREFIX = "autoreason-evaluator-"
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


class CommandEvaluator:
    """An evaluator's command, and the folder with its files."""

    def __init__(self, source: EvaluationSource, *, unsafe: bool, probe: str = "") -> None:
        if not unsafe:
            command_jail.require_jail()
        self.level = "none" if unsafe else "bubblewrap"
        self.source, self.unsafe, self.probe = source, unsafe, probe
        self.command = shlex.split(source.evaluate)
        self._stack = ExitStack()
        saved.remove_leftovers(_PREFIX)
        self._folder = self._stack.enter_context(saved.locked_folder(_PREFIX))
        self.task = self._folder / "task"
        self._signatures: dict[Path, tuple[int, ...]] = {}

    @property
    def programs(self) -> command_jail.Programs:
        return command_jail.find_programs(self.command[0])

    def jail(self, folder: str, number: int, mounts: Sequence[Mount]) -> Jail:
        probe = [Mount(self.probe, "/probe", writable=True)] if self.probe else []
        others = (Mount(each, each) for each in self.source.mounts)
        return Jail(
            folder=folder,
            limits=self.source.limits,
            mounts=(*self.programs.mounts, *others, *mounts, *probe),
            hidden=(data_folder().resolve(), *map(Path, filter(None, [self.source.folder]))),
            uid=None if self.unsafe else command_jail.jail_uid(number),
            unsafe=self.unsafe,
        )

    def reach_of(self, start: Files) -> saved.Reach:
        """What an artifact could do beside the command: every interpreter and file of the task is tried there."""
        script = [
            f"{program} </dev/null >/dev/null 2>&1 && echo {language.name}"
            for language in LANGUAGES
            for program in language.words.split()
            if not program.startswith(".")
        ]
        source = self.source
        own = [str(Path(source.folder, name)) for name in source.files] if source.folder else []
        script += [f"test ! -r {shlex.quote(path)} || echo {shlex.quote(path)}" for path in own]
        process = self.jail("/", 1, ()).start(
            ["sh", "-c", "\n".join(script)], {"PATH": self.programs.path}, streams=(-3, -1, -3)
        )
        output, _ = process.communicate()
        command_jail.announce(-process.pid)
        found = dict.fromkeys(output.decode(errors="replace").splitlines())
        here = [language.name for language in LANGUAGES if language.name in found]
        gap = next(filter(None, self._gaps(start, here)), "")
        return saved.Reach(languages=here, gap=gap, exposed=[path for path in own if path in found])

    def _gaps(self, start: Files, here: list[str]) -> Iterator[str]:
        """Why files of the evaluator or the artifact cannot be attacked in their own language."""
        program, files = self.programs.command, self.source.files
        named = {
            name: files[name] for word in self.command if (name := word.removeprefix("./")) in files
        }
        own = [language_of(path, body.decode(errors="replace")) for path, body in named.items()]
        if not any(isinstance(each, Language) for each in own):
            first = ""
            with suppress(OSError), Path(program).open("rb") as file:
                first = file.readline(200).decode(errors="replace")
            own.append(language_of(program, first) if first.startswith("#!") else run_by(program))
        yield from (gap_in(each, here, "the evaluator") for each in own)
        yield from (gap_in(language_of(path, text), here, path) for path, text in start.items())

    async def execute(self, evaluation: Evaluation, items: Sequence[Any], slot: int) -> Measurement:
        self._write_task()
        folder = Path(tempfile.mkdtemp(prefix="evaluation-", dir=self._folder))
        try:
            for name, mode in (("artifact", 0o755), ("run", 0o755), ("tmp", 0o700)):
                (folder / name).mkdir()
                (folder / name).chmod(mode)
            saved.write_files(folder / "artifact", evaluation.files)
            saved.write_files(folder / "run", {"artifact": _SHIM.format(python=real_python())})
            lines = "".join(f"{json.dumps(item)}\n" for item in items)
            saved.write_files(folder, {"items.jsonl": lines})
            return await _CommandEvaluation(self, folder, slot).run(evaluation)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write_task(self) -> None:
        """Write the evaluator's files, and write them anew if one of them was touched."""
        known = self._signatures
        if known and all(saved.signature(path) == each for path, each in known.items()):
            return
        saved.remove_folder(self.task)
        self.task.mkdir()
        saved.write_files(self.task, self.source.files, 0o444)
        written = [self.task, *self.task.rglob("*")]
        for path in written:
            if path.is_dir():
                path.chmod(0o555)
        self._signatures = {path: saved.signature(path) for path in written}

    async def close(self) -> None:
        self._stack.close()


class _CommandEvaluation:
    def __init__(self, evaluator: CommandEvaluator, folder: Path, slot: int) -> None:
        self._evaluator, self._unsafe = evaluator, evaluator.unsafe
        self._limits = evaluator.source.limits
        self._folder, self._task = folder, evaluator.task
        self._slot = slot
        self._programs = evaluator.programs
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._out_of_memory = False
        self._printed_too_much = False

    async def run(self, evaluation: Evaluation) -> Measurement:
        async with AsyncExitStack() as stack:
            listener = stack.enter_context(_listen(self._folder / "run" / "socket"))
            output = stack.enter_context(BoundedPipe(saved.TAIL * 4, on_overflow=self._end_output))
            value = stack.enter_context(BoundedPipe(saved.MAX_RESULT_BYTES + 1, keep_start=True))
            status = os.memfd_create("status")
            stack.callback(os.close, status)
            stack.callback(self._kill_all)
            work = (self._watch_memory(), self._serve_artifact(listener))
            tasks = [asyncio.create_task(each) for each in work]
            stack.push_async_callback(cancel, tasks)
            async with asyncio.timeout(self._limits.seconds):
                process = self._start_evaluator(evaluation, output, value, status)
                await self._wait(process)
            tail = output.finish().decode(errors="replace")[-saved.TAIL :]
            result = self._read(process.returncode, value.finish(), tail, status)
            hint = saved.interface_hint(result.detail, evaluation.files)
            return replace(result, detail=result.detail + hint)

    def _start_evaluator(
        self, evaluation: Evaluation, output: BoundedPipe, value: BoundedPipe, status: int
    ) -> subprocess.Popen[bytes]:
        task, artifact, items, run = mounts = [
            self._mount(self._task, "/task"),
            self._mount(self._folder / "artifact", "/artifact"),
            self._mount(self._folder / "items.jsonl", "/items.jsonl"),
            self._mount(self._folder / "run", "/run/autoreason"),
        ]
        environment = {
            "AUTOREASON_SEED": str(evaluation.seed),
            "AUTOREASON_ARTIFACT": artifact.inside,
            "AUTOREASON_RESULT": "3",
            **({"AUTOREASON_ITEMS": items.inside} if evaluation.items else {}),
        }
        with Path(os.devnull).open("rb") as empty:
            process = self._evaluator.jail(task.inside, 2 * self._slot, mounts).start(
                [self._programs.command, *self._evaluator.command[1:]],
                self._environment(f"{run.inside}:") | environment,
                streams=(empty.fileno(), output.write_end, output.write_end),
                result=value.write_end,
                status=None if self._unsafe else status,
            )
        self._processes.add(process)
        output.close_write_end()
        value.close_write_end()
        return process

    def _mount(self, path: Path, inside: str) -> Mount:
        return Mount(str(path), str(path) if self._unsafe else inside)

    def _environment(self, first: str = "") -> dict[str, str]:
        home = self._mount(self._folder / "tmp", "/tmp").inside
        path = f"{first}{self._programs.path}"
        names = {"HOME": home, "TMPDIR": home, "USER": "nobody", "LOGNAME": "nobody"}
        return {"PATH": path, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **names}

    async def _serve_artifact(self, listener: socket.socket) -> None:
        loop, slots = asyncio.get_running_loop(), asyncio.Semaphore(self._limits.processes)
        async with asyncio.TaskGroup() as group:
            while True:
                connection, _ = await loop.sock_accept(listener)
                group.create_task(self._answer(connection, slots))

    async def _answer(self, connection: socket.socket, slots: asyncio.Semaphore) -> None:
        with connection, ExitStack() as stack, suppress(OSError):
            message, descriptors = await receive(connection, None, 3)
            for each in descriptors:
                stack.callback(os.close, each)
            status = _NOT_RUN
            async with slots:
                with suppress(OSError, ValueError, subprocess.SubprocessError):
                    process = self._start_artifact(json.loads(message), *descriptors)
                    stack.close()
                    status = await self._wait_while_connected(process, connection)
            connection.send(str(status if status >= 0 else 128 - status).encode())

    def _start_artifact(
        self, command: list[str], stdin: int, stdout: int, stderr: int
    ) -> subprocess.Popen[bytes]:
        artifact = self._mount(self._folder / "artifact", "/artifact")
        jail = self._evaluator.jail(artifact.inside, 2 * self._slot + 1, [artifact])
        process = jail.start(command, self._environment(), streams=(stdin, stdout, stderr))
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
            command_jail.kill_all(process)
            await cancel([left])
            await waiting
        return process.returncode

    async def _wait(self, process: subprocess.Popen[bytes]) -> None:
        handle = os.pidfd_open(process.pid)
        try:
            await wait_readable(handle)
        finally:
            os.close(handle)
        if self._unsafe:
            command_jail.kill_all(process)
        command_jail.announce(-process.pid)
        process.wait()
        self._processes.discard(process)

    async def _watch_memory(self) -> None:
        limit = self._limits.memory_mb << 20
        while True:
            await asyncio.sleep(_MEMORY_CHECK_SECONDS)
            if sum(command_jail.resident_bytes(process.pid) for process in self._processes) > limit:
                self._out_of_memory = True
                self._kill_all()

    def _end_output(self) -> None:
        self._printed_too_much = True
        self._kill_all()

    def _kill_all(self) -> None:
        for process in self._processes:
            command_jail.kill_all(process)
        for process in list(self._processes):
            command_jail.announce(-process.pid)
            process.wait()

    def _read(self, returncode: int, value: bytes, tail: str, status: int) -> Measurement:
        last = tail.rstrip().rpartition("\n")[2]
        if self._out_of_memory or (returncode and last.startswith("MemoryError")):
            return Measurement(outcome=EvaluationOutcome.MEMORY, tail=tail)
        if self._printed_too_much:
            return saved.too_much_printed(tail)
        if not self._unsafe and b"exit-code" not in os.pread(status, 1 << 12, 0):
            return Measurement(
                outcome=EvaluationOutcome.EVALUATOR_ERROR,
                detail=last or "its jail ended",
                tail=tail,
            )
        if returncode:
            limit = f"; it wrote more than {self._limits.disk_mb} MB"
            reason = limit if abs(returncode) in (SIGXFSZ, 128 + SIGXFSZ) else ""
            detail = f"the evaluator exited with status {returncode}{reason}: {last}".rstrip(": ")
            return Measurement(outcome=EvaluationOutcome.FAILED, detail=detail, tail=tail)
        return saved.read_measurement(value, self._evaluator.source.metric, tail)


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


class BoundedPipe:
    """A pipe that is read as it is written, of which only so many bytes are kept: the last, or the first."""

    def __init__(
        self, limit: int, *, keep_start: bool = False, on_overflow: Callable[[], None] | None = None
    ) -> None:
        self._limit, self._keep_start = limit, keep_start
        self._on_overflow = on_overflow
        """Called once where more than `MAX_OUTPUT` comes."""
        self._count = 0
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
        self._count += len(part)
        if self._count > saved.MAX_OUTPUT and self._on_overflow:
            on_overflow, self._on_overflow = self._on_overflow, None
            on_overflow()
        if self._keep_start:
            self._kept += part[: max(0, self._limit - len(self._kept))]
        else:
            self._kept += part
            del self._kept[: max(0, len(self._kept) - self._limit)]
        return True
