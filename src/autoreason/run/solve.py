"""The library's way to a program: a problem in, the program and its verdicts out."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal, Unpack, cast

import msgspec
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.plugins import absolute
from autoreason.programs.assignment import Assignment
from autoreason.programs.examination import Examiner, ExaminerService
from autoreason.programs.problems.problem import check_test_limits
from autoreason.programs.program_registry import DEFAULT, strategies_named
from autoreason.programs.task import Assignments
from autoreason.run.lab import prepare_suite
from autoreason.run.model_choice import ModelChoice
from autoreason.run.parameters import SolveOptions, check_arguments
from autoreason.run.prepared import PreparedRun, prepare
from autoreason.run.problem_sets import choose_problems
from autoreason.run.solution import Solution
from autoreason.run.sync import wait_for
from autoreason.settings import DEFAULT_MODEL
from autoreason.studies.lab.lab_job import MAX_PARALLEL
from autoreason.studies.lab.made_suites import MAX_COMPARED, solve_problems
from autoreason.task import Task

Problems = str | Path | Mapping[str, Any]
"""A file of problems in any format we read, or one problem as a mapping."""

_TERMS: tuple[Literal["calls", "k"], ...] = ("calls", "k")
WIDTH = 32
"""Problems worked on at once."""
_STYLES = ("reasoned", "holistic")
"""How judges of programs can be asked."""


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
    prepared = prepare_solve(model, **options)
    async with open_problems(prepared, problem, **options) as assigned:
        return cast(Solution, await assigned.run_async())


def prepare_solve(
    model: str | Model = DEFAULT_MODEL, **options: Unpack[SolveOptions]
) -> PreparedRun:
    """The run that `solve` would drive, before the problems are assigned."""
    check_arguments(prepare_solve, options, model=model)
    check_test_limits(options.get("test_time_limit"), options.get("test_memory_limit"))
    limit = options.get("limit")
    if limit is not None and limit <= 0:
        raise InvalidInput(f"`limit` is {limit}; give more than 0")
    style = options.get("style")
    if style is not None and style not in _STYLES:
        raise InvalidInput(f"`style` is {style}; programs are judged {' or '.join(_STYLES)}")
    terms = {name: options[name] for name in _TERMS if options.get(name) is not None}
    for name, value, most in (
        ("repeats", options.get("repeats", 1), MAX_COMPARED),
        ("width", options.get("width", WIDTH), MAX_PARALLEL),
    ):
        if not 1 <= value <= most:
            raise InvalidInput(f"`{name}` is {value}; give a number from 1 to {most}")
    names = _names(options)
    prepared = prepare(
        Task(brief="Solve problems"),
        ModelChoice.writing(model, options),
        {name: value for name, value in options.items() if name != "strategy"},
        strategy="solve",
        strategy_options={"strategy": absolute(names[0]), **terms},
    )
    if len(names) > 1:
        from autoreason.studies.panels.panel_report import require_statistics

        require_statistics()
    return prepared


def _names(options: SolveOptions) -> Sequence[str]:
    """The strategies that are asked for."""
    given = options.get("strategy") or DEFAULT
    return strategies_named(given) if isinstance(given, str) else tuple(given)


@asynccontextmanager
async def open_problems(
    prepared: PreparedRun, problem: Problems, **options: Unpack[SolveOptions]
) -> AsyncIterator[PreparedRun]:
    """The run with its problems; the process that has their tests is closed at the end."""
    from autoreason.programs.examiner.client import ExaminerClient

    check_arguments(open_problems, problem=problem)
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
            terms = {"set": client.reply.digest, "unsafe": unsafe, "broken": broken}
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
            # The caller does not know the temporary file.
            raise InvalidInput(str(error).removeprefix(f"{path}: ")) from None


def assign(
    prepared: PreparedRun,
    examiner: Examiner,
    assignments: Sequence[Assignment],
    terms: Mapping[str, Any],
    **options: Unpack[SolveOptions],
) -> PreparedRun:
    """The run with its problems and the examiner that has their tests; `terms` name the set.

    One problem for one strategy, once, is a run; everything else is a suite of such runs.
    """
    settings = prepared.settings
    settings = replace(settings, strategy_options=settings.strategy_options | dict(terms))
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
    return prepare_suite(suite, replace(prepared, settings=settings), (), width, examiner=service)


def _encoded(problem: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(dict(problem))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"the problem cannot be written as JSON ({error}); give texts, numbers and lists"
        ) from None
