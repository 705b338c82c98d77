"""Sets of made-up problems and a model that knows them, for whole runs that write programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from tests.programs.stage import PROBLEM, critique, fenced, program
from tests.run.runs import settings

from autoreason.exchange import Request
from autoreason.programs.assignment import Assignment
from autoreason.run.solve import solving_task, solving_terms
from autoreason.settings import Settings
from autoreason.task import Task

DIGEST = "0" * 64
NAMES = ("search", "single", "best_of_n", "critique_revise", "analyse_revise", "tournament")


def problems(number: int) -> tuple[Assignment, ...]:
    """So many problems."""
    return tuple(
        replace(PROBLEM, id=f"sum-{n}", difficulty="easy" if n % 2 else "hard")
        for n in range(1, number + 1)
    )


def task(number: int = 3) -> Task:
    """A task to write programs for them."""
    return solving_task(problems(number))


def terms(
    strategy: str | Sequence[str] = NAMES, changes: dict[str, Any] | None = None, **own: Any
) -> Settings:
    """Settings to solve them with."""
    options = solving_terms(DIGEST, strategy, **own)
    return settings(strategy="solve", strategy_options=options, **(changes or {}))


def better_each_time(request: Request) -> str:
    """A program that passes more tests the later it is written, told apart by its key."""
    step = request.key.split("/", 3)[3]
    passes = {"draft/try/0": 0, "attempt/2/try/0": 1, "attempt/3/try/0": 2}.get(step)
    if passes is None:
        pass_number = int(step.split("/")[1]) if step.startswith("pass/") else 3
        passes = min(3, pass_number + (request.role == "synthesizer"))
    hidden = "accepted" if request.key.split("/")[0] != "2" else "wrong_answer"
    return fenced(program(passes, request.key, hidden))


def judged(request: Request) -> str:
    """The first ranking there is."""
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
