"""Sets of made-up problems and a model that knows them, for whole runs that write programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast
from unittest.mock import patch

from msgspec.structs import replace
from tests.programs.stage import PROBLEM, MadeUpExaminer, critique, fenced, program
from tests.run.runs import lend, settings, start_run

from autoreason.exchange import Model, Request
from autoreason.job_types import Solve
from autoreason.journal import Journal
from autoreason.programs.assignment import Assignment, Assignments
from autoreason.run.recorded import resume
from autoreason.run.result import Result
from autoreason.run.solution import Solution
from autoreason.run.solve import assign, prepare_solve
from autoreason.settings import Settings
from autoreason.task import Task

DIGEST = "0" * 64
NAMES = ("search", "single", "best_of_n", "critique_revise", "analyse_revise", "tournament")
_NUMBER = re.compile(r"Problem number (\d+)\.")


def problems(number: int) -> tuple[Assignment, ...]:
    return tuple(
        replace(
            PROBLEM,
            id=f"sum-{n}",
            statement=f"{PROBLEM.statement} Problem number {n}.",
            difficulty="easy" if n % 2 else "hard",
        )
        for n in range(1, number + 1)
    )


def number_of(request: Request) -> int:
    found = _NUMBER.search("".join(message.text for message in request.messages))
    assert found
    return int(found[1])


def task() -> Task:
    return Task(brief="Solve sum-1", work=Assignments(problems(1)))


def terms(strategy: str, changes: dict[str, Any] | None = None, **own: Any) -> Settings:
    return settings(job=Solve(set=DIGEST, strategy=strategy, **own), **(changes or {}))


async def solve_one(
    journal: Journal, model: Model, strategy: str = "single", **options: Any
) -> Result:
    """A run that writes a program for the first of them."""
    options = {"examiner": MadeUpExaminer(), "settings": terms(strategy), **options}
    return await start_run(journal, model, task=task(), **options)


async def solve_set(
    journal: Journal,
    model: Model,
    number: int = 3,
    strategies: Sequence[str] = NAMES,
    *,
    examiner: MadeUpExaminer | None = None,
    given: Sequence[Assignment] = (),
    hooks: dict[str, Any] | None = None,
    **options: Any,
) -> Solution:
    """A set from start to end, or to a pause."""
    options = {"strategy": list(strategies), "seed": 7, "k": 2, **options}
    prepared = prepare_solve(model.address, journal=journal, **options)
    chosen = given or problems(number)
    assigned = assign(
        prepared, examiner or MadeUpExaminer(), chosen, {"set": DIGEST, "broken": []}, **options
    )
    return cast(Solution, await assigned.run_async(pool=lend(model), **(hooks or {})))


@contextmanager
def served_by(examiner: MadeUpExaminer) -> Iterator[None]:
    """An examiner in place of the process that has the tests."""

    class Client:
        @staticmethod
        async def open(*_: object, **__: object) -> Any:
            return _Closing(examiner)

    with patch("autoreason.programs.examiner.process.ExaminerClient", Client):
        yield


class _Closing:
    def __init__(self, examiner: MadeUpExaminer) -> None:
        self.examine, self.observe = examiner.examine, examiner.observe

    async def close(self) -> None:
        """Nothing to let go of."""


async def go_on_solving(
    journal: Journal, run: str, model: Model, examiner: MadeUpExaminer | None = None, **options: Any
) -> Solution:
    """The same set taken up again."""
    with served_by(examiner or MadeUpExaminer()):
        result = await resume.aio(run, journal=journal, pool=lend(model), **options)
    return cast(Solution, result)


def better_each_time(request: Request) -> str:
    """A program that passes more tests the later it is written, told apart by its key."""
    step = request.key
    passes = {"draft/try/0": 0, "attempt/2/try/0": 1, "attempt/3/try/0": 2}.get(step)
    if passes is None:
        pass_number = int(step.split("/")[1]) if step.startswith("pass/") else 3
        passes = min(3, pass_number + (request.role == "synthesizer"))
    hidden = "accepted" if number_of(request) != 2 else "wrong_answer"
    return fenced(program(passes, request.key, hidden))


def judged(request: Request) -> str:
    assert request.schema
    rankings = request.schema.definition["properties"]["ranking"]["enum"]
    return f"RANKING: {rankings[0]}"


SCRIPT: dict[str, Any] = {
    "author": better_each_time,
    "reviser": better_each_time,
    "synthesizer": better_each_time,
    "critic": critique("It misses a case."),
    "judge": judged,
}
