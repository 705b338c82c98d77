"""The examiner's process: it alone reads private tests, and it ends when its client disconnects."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.programs.assignment import Examination, Probe
from autoreason.programs.examiner.examiner import Examiner
from autoreason.programs.examiner.excerpts import printable
from autoreason.programs.examiner.messages import (
    ExamineReply,
    ExamineRequest,
    ExaminerMessage,
    ObserveReply,
    ObserveRequest,
    OpenReply,
    OpenRequest,
    client_decoder,
)
from autoreason.programs.examiner.service import ErrorReply, encode_frame, run_service
from autoreason.programs.examiner.store import load_set, save_set
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.problem import Problem, check_problem, to_assignment
from autoreason.programs.problems.sets import ProblemSet, find_problem
from autoreason.programs.sandbox.base import Sandbox
from autoreason.programs.sandbox.levels import find_level, open_sandbox


def main() -> None:
    """Serve the client at the other end of standard input, a socket, until it disconnects."""
    run_service(client_decoder, ExaminerServer)


class ExaminerServer:
    """One set of problems, one sandbox, and the connection to the client."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._problems: dict[str, Problem] = {}
        self._sandbox: Sandbox | None = None
        self._examiner: Examiner | None = None

    def open(self, opening: OpenRequest) -> bool:
        """Read the set, open a sandbox, and reply; False where either fails."""
        try:
            problem_set = prepare_set(opening)
            self._sandbox = open_sandbox(unsafe=opening.unsafe, workers=opening.workers)
        except AutoreasonError as error:
            self._send(ErrorReply(message=str(error), user_error=isinstance(error, InvalidInput)))
            return False
        except OSError as error:
            self._send(ErrorReply(message=f"cannot save the problems: {error}"))
            return False
        self._problems = {problem.id: problem for problem in problem_set.problems}
        self._examiner = Examiner(self._sandbox)
        self._send(
            OpenReply(
                digest=problem_set.digest,
                format=problem_set.format,
                assignments=tuple(map(to_assignment, problem_set.problems)),
                broken=problem_set.broken,
                level=self._sandbox.level,
                reasons=() if opening.unsafe else find_level().reasons,
            )
        )
        return True

    async def answer(self, request: ExamineRequest | ObserveRequest) -> None:
        """Run one program and send the result, or why there is none."""
        try:
            self._send(await self._answer(request))
        except InvalidInput as error:
            self._send(ErrorReply(number=request.number, message=str(error)))
        except Exception as error:
            message = printable(f"the examiner failed: {type(error).__name__}: {error}")
            self._send(ErrorReply(number=request.number, message=message, user_error=False))
        with suppress(OSError):
            await self._writer.drain()

    async def _answer(self, request: ExamineRequest | ObserveRequest) -> ExaminerMessage:
        assert self._examiner is not None
        if isinstance(request, ObserveRequest):
            probe = request.probe
            observed = await self._examiner.observe(
                self._problem(probe), probe.program, probe.inputs
            )
            return ObserveReply(number=request.number, result=observed)
        subject = request.examination
        examined = await self._examiner.examine(
            self._problem(subject), subject.program, subject.which, subject.every
        )
        return ExamineReply(number=request.number, result=examined)

    def _problem(self, subject: Examination | Probe) -> Problem:
        if subject.problem not in self._problems:
            raise InvalidInput(f"no problem {subject.problem!r} in this set; use one it has")
        return self._problems[subject.problem]

    async def close(self) -> None:
        """End every process of the sandbox, and close the connection."""
        if self._sandbox is not None:
            await self._sandbox.close()
        self._writer.close()
        await self._writer.wait_closed()

    def _send(self, message: ExaminerMessage) -> None:
        self._writer.write(encode_frame(message))


def prepare_set(opening: OpenRequest) -> ProblemSet:
    """The requested set, cut to the problems wanted, with a copy saved for later."""
    if opening.digest:
        problems = load_set(opening.digest)
        problem_set = ProblemSet(problems=problems, format="autoreason", digest=opening.digest)
    else:
        problem_set = read_problems(Path(opening.source))
    problems = problem_set.problems
    if opening.only:
        problems = tuple(
            find_problem(problem_set.problems, name) for name in dict.fromkeys(opening.only)
        )
    problems = tuple(_apply_limits(problem, opening) for problem in problems)
    return ProblemSet(
        problems=problems,
        broken=problem_set.broken,
        format=problem_set.format,
        digest=save_set(problems),
    )


def _apply_limits(problem: Problem, opening: OpenRequest) -> Problem:
    limits = {"time_limit_s": opening.seconds, "memory_limit_mb": opening.memory_mb}
    changes = {name: limit for name, limit in limits.items() if limit is not None}
    return check_problem(replace(problem, **changes)) if changes else problem
