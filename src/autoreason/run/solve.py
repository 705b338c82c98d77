"""The library's way to a program: a problem in, the program and its verdicts out."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from autoreason.errors import InvalidInput
from autoreason.events import (
    Status,
)
from autoreason.exchange import Model
from autoreason.plugins import absolute
from autoreason.programs.assignment import Assignment, Examined
from autoreason.programs.events import Solved, solved_in
from autoreason.programs.examination import Examiner
from autoreason.programs.registry import DEFAULT, strategies_named
from autoreason.programs.task import Assignments
from autoreason.run.refine import refine_async, wait_for
from autoreason.run.result import Result
from autoreason.settings import DEFAULT_MODEL, Settings
from autoreason.task import Task

Problems = str | Path | Mapping[str, Any]
"""A file of problems in any format we read, or one problem as a mapping."""

_OF_TEXTS = frozenset({"draft", "facts", "contract", "examiner", "models", "strategy_options"})
"""Options of `refine_async` that mean nothing here, or that this module sets."""


@dataclass(frozen=True)
class Solution:
    """The result for a problem, or for a set of them."""

    run: str
    status: Status
    reason: str
    program: str | None
    """What was handed in for one problem; None where nothing was written, and for a set."""
    solved: tuple[Solved, ...]
    """Every problem by every strategy, as often as it was repeated."""
    calls: int
    tokens: int | None
    """Read and written; None where a provider did not say."""
    cost: Decimal | None
    """US dollars; None where a price is not known."""
    level: str
    """The sandbox level, by name; empty where nothing was run."""

    @property
    def public(self) -> Examined | None:
        """The public tests of the one program; None for a set."""
        return self.solved[0].public if len(self.solved) == 1 else None

    @property
    def private(self) -> Examined | None:
        """The private tests of the one program; None for a set, and where there are none."""
        return self.solved[0].private if len(self.solved) == 1 else None


def solve(problem: Problems, model: str | Model = DEFAULT_MODEL, **options: Any) -> Solution:
    """Write a program and wait for it; takes what `solve_async` takes."""
    return wait_for(lambda: solve_async(problem, model, **options), "solve")


async def solve_async(
    problem: Problems,
    model: str | Model = DEFAULT_MODEL,
    *,
    strategy: str | Sequence[str] = DEFAULT,
    calls: int = 6,
    repeats: int = 1,
    width: int = 32,
    unsafe: bool = False,
    **options: Any,
) -> Solution:
    """Write a program for a problem, or for every problem of a file.

    `strategy` is a name, several, or `all`; each has `calls` for a problem, and `width` problems are
    worked on at once. Without a sandbox on this machine
    nothing is run unless `unsafe` says so. Everything else is an option of `refine_async`.
    """
    from autoreason.programs.examiner.client import ExaminerClient

    _check_options(options)
    async with AsyncExitStack() as exits:
        source = Path() if isinstance(problem, Mapping) else Path(problem)
        if isinstance(problem, Mapping):
            folder = exits.enter_context(tempfile.TemporaryDirectory(prefix="autoreason-"))
            source = Path(folder, "problem.json")
            source.write_bytes(_encoded(problem))
        try:
            client = await ExaminerClient.open(source, unsafe=unsafe)
        except InvalidInput as error:
            if not isinstance(problem, Mapping):
                raise
            # The caller does not know the temporary file.
            raise InvalidInput(str(error).removeprefix(f"{source}: ")) from None
        exits.push_async_callback(client.close)
        terms = solving_terms(
            client.digest, strategy, calls=calls, repeats=repeats, width=width, unsafe=unsafe
        )
        return await solve_with(client, client.assignments, model, terms, **options)


def _check_options(given: Mapping[str, Any]) -> None:
    """Refuse an unknown option before anything is started."""
    options = [*_keywords(solve_async), *_keywords(refine_async), *Settings.__struct_fields__]
    known = [name for name in dict.fromkeys(options) if name not in _OF_TEXTS]
    if unknown := [name for name in given if name not in known]:
        raise InvalidInput(f"unknown option `{unknown[0]}`; known are {', '.join(known)}")


def _keywords(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]


def _encoded(problem: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(dict(problem))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"the problem cannot be written as JSON ({error}); give texts, numbers and lists"
        ) from None


async def solve_with(
    examiner: Examiner,
    assignments: Sequence[Assignment],
    model: str | Model,
    terms: Mapping[str, Any],
    **options: Any,
) -> Solution:
    """The same with a given examiner."""
    result = await refine_async(
        solving_task(assignments),
        model,
        strategy="solve",
        strategy_options=dict(terms),
        examiner=examiner,
        **options,
    )
    return solution_of(result)


def solving_terms(
    digest: str, strategy: str | Sequence[str] = DEFAULT, **terms: Any
) -> dict[str, Any]:
    """The options of a run that solves a set, by its digest."""
    names = strategies_named(strategy) if isinstance(strategy, str) else tuple(strategy)
    return {"set": digest, "strategies": [absolute(name) for name in names], **terms}


def solving_task(assignments: Sequence[Assignment]) -> Task:
    """The task of a run that writes programs."""
    if not assignments:
        raise InvalidInput("there is no problem to solve; name a file that has one")
    first = assignments[0]
    brief = f"Solve {first.title or first.id}"
    if len(assignments) > 1:
        brief += f" and {len(assignments) - 1} more"
    return Task(brief=brief, work=Assignments(tuple(assignments)))


def solution_of(result: Result) -> Solution:
    """A run that solved problems, as its caller sees it."""
    solved = tuple(solved_in(result.story))
    levels = (each.level for one in solved for each in (one.private, one.public) if each)
    return Solution(
        run=result.run,
        status=result.status,
        reason=result.reason,
        program=result.text or None,
        solved=solved,
        calls=result.calls,
        tokens=result.tokens,
        cost=result.cost,
        level=next((level for level in levels if level), ""),
    )
