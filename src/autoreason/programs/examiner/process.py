"""The examiner in a process of its own, which alone reads private tests, and the loop's client of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.files import data_folder, write_atomically
from autoreason.programs.assignment import Assignment, Examination, Examined, Observed, Probe
from autoreason.programs.examiner.examiner import ProgramExaminer
from autoreason.programs.examiner.service import Method, ServiceClient, run_service
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.problem import (
    BrokenRecord,
    Problem,
    ProblemSet,
    decode_set,
    encode_set,
    find_problem,
    set_digest,
    to_assignment,
)
from autoreason.programs.sandbox.levels import open_sandbox


class OpenRequest(Struct, frozen=True, kw_only=True):
    """Asks to open a set of problems, and how to examine it."""

    source: str = ""
    """A file to read; or"""
    digest: str = ""
    """the digest under which an earlier examiner saved the set."""
    only: tuple[str, ...] = ()
    """Ids of the problems wanted; all if empty."""
    seconds: float | None = None
    """The time limit of every problem instead of its own, in the saved copy as well."""
    memory_mb: int | None = None
    unsafe: bool = False
    workers: int | None = None


class OpenReply(Struct, frozen=True, kw_only=True):
    """The set without its private tests, and the sandbox in use."""

    digest: str
    assignments: tuple[Assignment, ...]
    broken: tuple[BrokenRecord, ...]
    level: str


_DIGEST = re.compile(r"[0-9a-f]{64}")


class ExaminerClient(ServiceClient[OpenReply]):
    """Client of an examiner in another process, which is started once more if it dies."""

    service = "autoreason.programs.examiner.process"
    name = "the examiner"
    subject = "program"
    opened = OpenReply

    @classmethod
    async def open(cls, source: Path | str, **options: Any) -> Self:
        """An examiner for a file of problems, or a saved set by its digest; options as `OpenRequest` has them."""
        saved = isinstance(source, str) and _DIGEST.fullmatch(source)
        options["digest" if saved else "source"] = str(source)
        return await cls.connect(OpenRequest(**options))

    async def examine(self, examination: Examination) -> Examined:
        examination = replace(examination, program=_sendable(examination.program))
        return await self.call("examine", examination, Examined)

    async def observe(self, probe: Probe) -> Observed:
        probe = replace(probe, program=_sendable(probe.program))
        return await self.call("observe", probe, Observed)

    async def start(self) -> None:
        """Start the process; from then on the saved copy is used, even if the file changes."""
        first = getattr(self, "reply", None)
        await super().start()
        if first is not None:
            # A saved copy does not know what its file had besides.
            self.reply = replace(self.reply, broken=first.broken)
        assert isinstance(self._opening, OpenRequest)
        self._opening = OpenRequest(
            digest=self.reply.digest, unsafe=self._opening.unsafe, workers=self._opening.workers
        )


def _sendable(program: str) -> str:
    """A program without characters that cannot be encoded, which a model may write."""
    return program.encode("utf-8", "replace").decode()


def save_set(problems: Sequence[Problem]) -> str:
    """Save a set, readable by its owner alone, and return its digest."""
    digest = set_digest(problems)
    path = set_path(digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, encode_set(problems), private=True)
    return digest


def load_set(digest: str) -> tuple[Problem, ...]:
    path = set_path(digest)
    try:
        problems = decode_set(path.read_bytes())
    except OSError:
        raise InvalidInput(f"no problems saved as {path}; start again from their file") from None
    if set_digest(problems) != digest:
        raise InvalidInput(f"{path} was changed; remove it and start again from the set's own file")
    return problems


def set_path(digest: str) -> Path:
    return data_folder() / "problems" / f"{digest}.jsonl"


def main() -> None:
    run_service(OpenRequest, OpenSet)


class OpenSet:
    """A set of problems, and the sandbox in which programs for them are run."""

    def __init__(self, opening: OpenRequest) -> None:
        try:
            problem_set = prepare_set(opening)
        except OSError as error:
            raise InvalidInput(f"cannot save the problems: {error}") from None
        self._sandbox = open_sandbox(unsafe=opening.unsafe, workers=opening.workers)
        self._problems = {problem.id: problem for problem in problem_set.problems}
        self._examiner = ProgramExaminer(self._sandbox)
        self.methods: Mapping[str, Method] = {
            "examine": (Examination, self._examine),
            "observe": (Probe, self._observe),
        }
        self.opened = OpenReply(
            digest=problem_set.digest,
            assignments=tuple(map(to_assignment, problem_set.problems)),
            broken=problem_set.broken,
            level=self._sandbox.level,
        )

    async def _examine(self, subject: Examination) -> Examined:
        problem = self._problem(subject)
        return await self._examiner.examine(problem, subject.program, subject.which, subject.every)

    async def _observe(self, probe: Probe) -> Observed:
        return await self._examiner.observe(self._problem(probe), probe.program, probe.inputs)

    def _problem(self, subject: Examination | Probe) -> Problem:
        if subject.problem not in self._problems:
            raise InvalidInput(f"no problem {subject.problem!r} in this set; use one it has")
        return self._problems[subject.problem]

    async def close(self) -> None:
        await self._sandbox.close()


def prepare_set(opening: OpenRequest) -> ProblemSet:
    """The requested set, cut to the problems wanted, with a copy saved for later."""
    if opening.digest:
        problems = load_set(opening.digest)
        problem_set = ProblemSet(problems=problems, format="autoreason", digest=opening.digest)
    else:
        problem_set = read_problems(Path(opening.source))
    problems = problem_set.problems
    if opening.only:
        problems = tuple(find_problem(problems, name) for name in dict.fromkeys(opening.only))
    limits = {"time_limit_s": opening.seconds, "memory_limit_mb": opening.memory_mb}
    changes = {name: limit for name, limit in limits.items() if limit is not None}
    problems = tuple(replace(problem, **changes) for problem in problems)
    return ProblemSet(
        problems=problems,
        broken=problem_set.broken,
        format=problem_set.format,
        digest=save_set(problems),
    )
