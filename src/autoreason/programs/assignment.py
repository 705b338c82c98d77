"""Problems as every role may see them, and the results of examining a program."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from autoreason.task import Task, Work

Which = Literal["public", "private"]
"""Public tests steer; private ones only score, and never leave the examiner."""


class CodeVerdict(StrEnum):
    """The verdict of a test on a program."""

    ACCEPTED = "accepted"
    WRONG_ANSWER = "wrong_answer"
    RUNTIME_ERROR = "runtime_error"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    NO_CODE = "no_code"
    """There was no program to run."""
    SANDBOX_ERROR = "sandbox_error"
    """Not a result: the test could not be run, and says nothing about the program."""


class Example(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One test: input and output or, for a function, statements that assert."""

    input: str = ""
    output: str = ""
    code: str = ""


class ProblemStatement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a problem asks for."""

    id: str
    statement: str
    title: str = ""
    kind: Literal["stdio", "function"] = "stdio"
    difficulty: str = ""
    entry_point: str = ""
    """The function that is called, or the class that is created; empty for programs that read and print."""
    starter: str = ""
    """Code the program begins from, such as a signature."""


_EASY_FIRST = (
    *("introductory", "easy", "interview", "medium"),
    *("competition", "hard", "harder", "hardest", "expert"),
)


def difficulty_order(difficulty: str) -> tuple[bool, int, str]:
    """A key to sort by: easy first where the name tells, else by name; unrated last."""
    known = difficulty.lower()
    place = _EASY_FIRST.index(known) if known in _EASY_FIRST else len(_EASY_FIRST)
    return not difficulty, place, difficulty


class Assignment(ProblemStatement, frozen=True, kw_only=True, omit_defaults=True):
    """A problem without its private tests, its checker and its known solution."""

    seconds: float = 10.0
    """Processor time a test may take."""
    memory_mb: int = 512
    public: tuple[Example, ...] = ()
    private: int = 0
    """How many private tests there are."""
    remark: str = ""
    """Why it cannot be examined fairly; empty where it can."""


class Examination(Struct, frozen=True, kw_only=True):
    """A request to the examiner: run a program on tests."""

    problem: str
    program: str
    which: Which
    every: bool = False
    """Whether every test is run, instead of stopping at the first that fails."""


Input = str
"""What a program is run on: its standard input or, for a function, an expression that calls it."""


class Probe(Struct, frozen=True, kw_only=True):
    """A request to the examiner: run a program on inputs without known answers."""

    problem: str
    program: str
    inputs: tuple[Input, ...]


class Observation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a program did on one input."""

    value: str = ""
    """What it returned or printed, in a form that is equal for answers that the problem treats as equal."""
    failure: str = ""
    """Why it gave no answer: the type of an exception, or a verdict such as `time_limit`."""


class Observed(Struct, frozen=True, kw_only=True):
    """What a program does, input by input."""

    observations: tuple[Observation, ...]
    level: str = ""
    """The level of the sandbox."""


class Trial(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One test of one program."""

    number: int
    """From 1."""
    verdict: CodeVerdict
    seconds: float = 0.0
    """Processor time."""
    wall: float = 0.0
    memory: int | None = None
    """Peak, in bytes, where it could be measured."""
    input: str = ""
    expected: str = ""
    got: str = ""
    difference: str = ""
    """Where got first differs from expected, in words."""
    trace: str = ""
    """The end of what the program wrote to standard error: its traceback."""
    detail: str = ""
    """Why a test could not be run, or which limit was hit."""


class Examined(Struct, frozen=True, kw_only=True):
    """The result of one program on the public or the private tests; of private ones only verdicts."""

    which: Which
    verdict: CodeVerdict
    """Accepted where every test is; otherwise that of the first that is not."""
    passed: int
    run: int
    """Tests that were run; fewer than all where a failure ended it."""
    total: int
    trials: tuple[Trial, ...] = ()
    level: str = ""
    """The level of the sandbox."""

    @property
    def failed(self) -> Trial | None:
        """The first test that was not accepted."""
        return next((t for t in self.trials if t.verdict is not CodeVerdict.ACCEPTED), None)


class Assignments(Work, Struct, frozen=True, tag_field="type", tag=True):
    """Programs to be written."""

    name = "problems"

    assignments: tuple[Assignment, ...]


def assignments_of(task: Task | None) -> tuple[Assignment, ...]:
    """The problems of a task; none where it is about texts."""
    work = task.work if task else None
    return work.assignments if isinstance(work, Assignments) else ()
