"""The library's way to a program: a problem in, the program and its verdicts out."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal, Unpack

import msgspec
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.plugins import absolute
from autoreason.programs.assignment import Assignment
from autoreason.programs.examination import Examiner
from autoreason.programs.registry import DEFAULT, strategies_named
from autoreason.programs.task import Assignments
from autoreason.run.models import ModelChoice
from autoreason.run.options import SolveOptions, check_options
from autoreason.run.prepared import PreparedRun, prepare
from autoreason.run.solution import Solution, solution_of
from autoreason.run.sync import wait_for
from autoreason.settings import DEFAULT_MODEL
from autoreason.task import Task

Problems = str | Path | Mapping[str, Any]
"""A file of problems in any format we read, or one problem as a mapping."""

_TERMS: tuple[Literal["repeats", "calls", "width"], ...] = ("repeats", "calls", "width")


def solve(
    problem: Problems, model: str | Model = DEFAULT_MODEL, **options: Unpack[SolveOptions]
) -> Solution:
    r"""Write a program for a problem, or for every problem of a file, and score it.

    Args:
        problem: A file of problems in any format we read, or one problem as a mapping.
        model: Plays every role that has none of its own.
        options: See `SolveOptions`. Without a sandbox on this machine nothing is run unless
            `unsafe` is true.

    Returns:
        The program, its verdicts and what it took; for a set, those of every problem.

    Raises:
        InvalidInput: Something cannot be used, or there is no sandbox.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import solve
        >>> from autoreason.testing import ScriptedModel
        >>> problem = {
        ...     "id": "double",
        ...     "statement": "Read a number and print twice that number.",
        ...     "public_tests": [["2", "4"]],
        ... }
        >>> model = ScriptedModel({"author": "```python\nprint(2 * int(input()))\n```"})
        >>> print(solve(problem, model, strategy="single").program)
        print(2 * int(input()))
    """
    return wait_for(lambda: solve_async(problem, model, **options), "solve")


async def solve_async(
    problem: Problems, model: str | Model = DEFAULT_MODEL, **options: Unpack[SolveOptions]
) -> Solution:
    """Like `solve`, in an event loop."""
    from autoreason.programs.examiner.client import ExaminerClient

    prepared = prepare_solve(model, **options)
    unsafe = options.get("unsafe", False)
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
        terms = {"set": client.digest, "unsafe": unsafe}
        prepared = assign(prepared, client, client.assignments, terms)
        return solution_of(await prepared.run_async())


def prepare_solve(
    model: str | Model = DEFAULT_MODEL, **options: Unpack[SolveOptions]
) -> PreparedRun:
    """The run that `solve` would drive, before the problems are assigned."""
    check_options(options, SolveOptions)
    terms = {name: options[name] for name in _TERMS if options.get(name) is not None}
    choice = ModelChoice()
    return prepare(
        Task(brief="Solve problems"),
        choice.write(model, options),
        choice,
        {name: value for name, value in options.items() if name != "strategy"},
        strategy="solve",
        strategy_options=solving_terms("", options.get("strategy") or DEFAULT, **terms),
    )


def assign(
    prepared: PreparedRun,
    examiner: Examiner,
    assignments: Sequence[Assignment],
    terms: Mapping[str, Any],
) -> PreparedRun:
    """The run with its problems and the examiner that has their tests; `terms` name the set."""
    settings = prepared.settings
    return dataclasses.replace(
        prepared,
        task=solving_task(assignments),
        settings=replace(settings, strategy_options=settings.strategy_options | dict(terms)),
        examiner=examiner,
    )


def _encoded(problem: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(dict(problem))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"the problem cannot be written as JSON ({error}); give texts, numbers and lists"
        ) from None


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
