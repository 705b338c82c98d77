"""The examiner's own process: it alone reads private tests, and it ends when whoever asks has gone."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from autoreason.assignment import Examination, Probe
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.programs.examiner.examiner import Examiner
from autoreason.programs.examiner.excerpts import plain
from autoreason.programs.examiner.messages import (
    Answer,
    Look,
    Opened,
    Opening,
    Question,
    Refusal,
    Seen,
    Told,
    framed,
    read_asked,
)
from autoreason.programs.examiner.store import find_set, keep_set
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.problem import Problem, assigned, checked
from autoreason.programs.problems.sets import ProblemSet, find_problem
from autoreason.programs.sandbox.base import Sandbox
from autoreason.programs.sandbox.levels import find_level, open_sandbox

_PR_SET_DUMPABLE = 4


def main() -> None:
    """Serve whoever is at the other end of standard input, a socket, until they hang up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _hide()
    asyncio.run(_serve(socket.socket(fileno=0)))


def _hide() -> None:
    """Let no other process of this user read our memory."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


async def _serve(end: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=end)
    office = Office(writer)
    try:
        opening = await read_asked(reader)
        if isinstance(opening, Opening) and office.open(opening):
            await _attend(reader, office)
    finally:
        with suppress(OSError):
            await office.close()


async def _attend(reader: asyncio.StreamReader, office: Office) -> None:
    """Many questions at a time, answered as they are done; those still open when the asker leaves are dropped."""
    under_way: set[asyncio.Task[None]] = set()
    while (question := await read_asked(reader)) is not None:
        assert isinstance(question, Question | Look)
        task = asyncio.create_task(office.answer(question))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)


class Office:
    """One set of problems, one sandbox, and the line to whoever asks."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._problems: dict[str, Problem] = {}
        self._sandbox: Sandbox | None = None
        self._examiner: Examiner | None = None

    def open(self, opening: Opening) -> bool:
        """Read the set, find a sandbox, and tell; False where either is refused."""
        try:
            found = read_set(opening)
            self._sandbox = open_sandbox(unsafe=opening.unsafe, workers=opening.workers)
        except AutoreasonError as error:
            self._tell(Refusal(sentence=str(error), mistake=isinstance(error, InvalidInput)))
            return False
        except OSError as error:
            self._tell(Refusal(sentence=f"cannot keep the problems: {error}"))
            return False
        self._problems = {problem.id: problem for problem in found.problems}
        self._examiner = Examiner(self._sandbox)
        self._tell(
            Opened(
                digest=found.digest,
                format=found.format,
                assignments=tuple(map(assigned, found.problems)),
                broken=found.broken,
                level=self._sandbox.level,
                reasons=() if opening.unsafe else find_level().reasons,
            )
        )
        return True

    async def answer(self, question: Question | Look) -> None:
        """Run one program and tell what came of it, or why nothing did."""
        try:
            self._tell(await self._answer(question))
        except InvalidInput as error:
            self._tell(Refusal(number=question.number, sentence=str(error)))
        except Exception as error:
            sentence = plain(f"the examiner failed: {type(error).__name__}: {error}")
            self._tell(Refusal(number=question.number, sentence=sentence, mistake=False))
        with suppress(OSError):
            await self._writer.drain()

    async def _answer(self, question: Question | Look) -> Told:
        assert self._examiner is not None
        if isinstance(question, Look):
            probe = question.probe
            observed = await self._examiner.observe(
                self._problem(probe), probe.program, probe.inputs
            )
            return Seen(number=question.number, observed=observed)
        asked = question.examination
        examined = await self._examiner.examine(
            self._problem(asked), asked.program, asked.which, asked.every
        )
        return Answer(number=question.number, examined=examined)

    def _problem(self, asked: Examination | Probe) -> Problem:
        if asked.problem not in self._problems:
            raise InvalidInput(f"no problem {asked.problem!r} in this set; use one it has")
        return self._problems[asked.problem]

    async def close(self) -> None:
        """End every process of the sandbox, and hang up."""
        if self._sandbox is not None:
            await self._sandbox.close()
        self._writer.close()
        await self._writer.wait_closed()

    def _tell(self, message: Told) -> None:
        self._writer.write(framed(message))


def read_set(opening: Opening) -> ProblemSet:
    """The set that is meant, cut to the problems wanted, with a copy kept for later."""
    if opening.digest:
        problems = find_set(opening.digest)
        found = ProblemSet(problems=problems, format="autoreason", digest=opening.digest)
    else:
        found = read_problems(Path(opening.source))
    wanted = found.problems
    if opening.only:
        wanted = tuple(find_problem(found.problems, name) for name in dict.fromkeys(opening.only))
    wanted = tuple(_limited(problem, opening) for problem in wanted)
    return ProblemSet(
        problems=wanted, broken=found.broken, format=found.format, digest=keep_set(wanted)
    )


def _limited(problem: Problem, opening: Opening) -> Problem:
    limits = {"time_limit_s": opening.seconds, "memory_limit_mb": opening.memory_mb}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    return checked(replace(problem, **given)) if given else problem
