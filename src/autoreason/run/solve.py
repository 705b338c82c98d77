"""The library's way to a program: a problem in, the program and its verdicts out."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Unpack

import msgspec
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.job_types import MAX_PARALLEL, Solve
from autoreason.plugins import absolute
from autoreason.programs.assignment import Assignment, Assignments
from autoreason.programs.examination import Examiner, ExaminerService
from autoreason.programs.problems.problem import check_test_limits
from autoreason.programs.program_strategy import DEFAULT, strategies_named
from autoreason.run.choices import ModelChoice
from autoreason.run.door import checked, verb
from autoreason.run.lab import prepare_suite
from autoreason.run.parameters import SolveOptions
from autoreason.run.prepared import PreparedRun, job_in, prepare
from autoreason.run.problem_sets import choose_problems
from autoreason.run.products import Solution
from autoreason.settings import DEFAULT_MODEL
from autoreason.studies.lab.made_suites import MAX_COMPARED, solve_problems
from autoreason.task import Task

Problems = str | Path | Mapping[str, Any]
"""A file of problems in any format we read, or one problem as a mapping."""

WIDTH = 32
"""Problems worked on at once."""
_STYLES = ("reasoned", "holistic")
"""How judges of programs can be asked."""


@verb(repeats=1, width=WIDTH)
async def solve(
    problem: Problems, model: str | Model = DEFAULT_MODEL, **options: Unpack[SolveOptions]
) -> Solution:
    r"""Write a program for a problem, or for every problem of a file, and score it.

    Args:
        problem: A file of problems in any format we read, or one problem as a mapping.
        model: Plays every role that is given no model of its own.
        options: The `strategy`, how many `calls` it may make for a problem, `repeats`, and which problems of a file:
            `ids`, `difficulty`, `limit`. Without a sandbox on this machine nothing is run unless `unsafe` is true.
            `print(solve.options())` lists all of them.

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
    prepared = prepare_solve(model, **options)
    async with open_problems(prepared, problem, **options) as assigned:
        solution: Solution = await assigned.run_async()
    return solution


@checked
def prepare_solve(
    model: str | Model = DEFAULT_MODEL, **options: Unpack[SolveOptions]
) -> PreparedRun[Solution]:
    """The run that `solve` would drive, before the problems are assigned."""
    check_test_limits(options.get("test_time_limit"), options.get("test_memory_limit"))
    limit = options.get("limit")
    if limit is not None and limit <= 0:
        raise InvalidInput(f"`limit` is {limit}; give more than 0")
    style = options.get("style")
    if style is not None and style not in _STYLES:
        raise InvalidInput(f"`style` is {style}; programs are judged {' or '.join(_STYLES)}")
    for name, value, most in (
        ("repeats", options.get("repeats", 1), MAX_COMPARED),
        ("width", options.get("width", WIDTH), MAX_PARALLEL),
    ):
        if not 1 <= value <= most:
            raise InvalidInput(f"`{name}` is {value}; give a number from 1 to {most}")
    names = _names(options)
    return prepare(
        Task(brief="Solve problems"),
        ModelChoice.writing(model, options),
        options,
        job_in(Solve, options, strategy=absolute(names[0])),
    )


def _names(options: SolveOptions) -> Sequence[str]:
    """The strategies that are asked for."""
    given = options.get("strategy") or DEFAULT
    return strategies_named(given) if isinstance(given, str) else tuple(given)


@asynccontextmanager
async def open_problems(
    prepared: PreparedRun[Any], problem: Problems, **options: Unpack[SolveOptions]
) -> AsyncIterator[PreparedRun[Any]]:
    """The run with its problems; the process that has their tests is closed at the end."""
    from autoreason.programs.examiner.client import ExaminerClient

    unsafe = bool(options.get("unsafe"))
    with _problem_file(problem) as source:
        client = await ExaminerClient.open(
            source,
            only=tuple(options.get("ids") or ()),
            unsafe=unsafe,
            seconds=options.get("test_time_limit"),
            memory_mb=options.get("test_memory_limit"),
        )
        try:
            chosen = choose_problems(client.reply.assignments, options)
            broken = [str(record) for record in client.reply.broken]
            terms = {"set": client.reply.digest, "unsafe": unsafe, "broken": tuple(broken)}
            yield assign(prepared, client, chosen, terms, **options)
        finally:
            await client.close()


@contextmanager
def _problem_file(problem: Problems) -> Iterator[Path]:
    """The file of problems; one problem as a mapping is written to a temporary file."""
    if not isinstance(problem, Mapping):
        yield Path(problem)
        return
    with tempfile.TemporaryDirectory(prefix="autoreason-") as folder:
        path = Path(folder, "problem.json")
        path.write_bytes(_encoded(problem))
        try:
            yield path
        except InvalidInput as error:
            # The caller does not know the temporary file, nor its line.
            said = str(error).removeprefix(f"{path}: ")
            raise InvalidInput(said.rpartition("the first: line 1: ")[2]) from None


def assign(
    prepared: PreparedRun[Any],
    examiner: Examiner,
    assignments: Sequence[Assignment],
    terms: Mapping[str, Any],
    **options: Unpack[SolveOptions],
) -> PreparedRun[Any]:
    """The run with its problems and the examiner that has their tests; `terms` name the set.

    One problem for one strategy, once, is a run; everything else is a suite of such runs. Both come to a `Solution`.
    """
    settings = prepared.settings
    settings = replace(settings, job=replace(settings.job_as(Solve), **terms))
    service = ExaminerService(examiner)
    names, repeats = _names(options), options.get("repeats", 1)
    if not assignments:
        raise InvalidInput("there is no problem to solve; name a file that has one")
    if len(assignments) == len(names) == repeats == 1:
        (only,) = assignments
        task = Task(brief=f"Solve {only.title or only.id}", work=Assignments((only,)))
        return replace(prepared, task=task, settings=settings, service=service)
    suite = solve_problems(
        assignments,
        settings,
        strategies=names,
        repeats=repeats,
        prompts=prepared.prompts.sources if options.get("prompts") else {},
    )
    width = options.get("width", WIDTH)
    base = replace(prepared, settings=settings)
    return prepare_suite(suite, base, (), width, examiner=service)


def _encoded(problem: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(dict(problem))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"the problem cannot be written as JSON ({error}); give texts, numbers and lists"
        ) from None
