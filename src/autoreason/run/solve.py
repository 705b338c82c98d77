"""The library's way to a program: problems read and described, programs written, examined and scored."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Unpack

import msgspec
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.job_types import Solve
from autoreason.plugins import absolute
from autoreason.programs.assignment import Assignment, Assignments, CodeVerdict, Examined, Trial
from autoreason.programs.events import describe_failure, describe_sandbox
from autoreason.programs.examination import Examiner, ExaminerService
from autoreason.programs.examiner.examiner import locate_test, try_solutions
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.problem import (
    NO_CHECKER,
    Problem,
    ProblemSet,
    check_test_limits,
    describe_comparison,
    find_problem,
    shares,
    split_judgeable,
    to_assignment,
)
from autoreason.programs.program_strategies import DEFAULT, strategies_named
from autoreason.report.numbers import UNKNOWN, count
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, Tone, figures, words
from autoreason.run.lab import choose_problems, prepare_suite
from autoreason.run.prepared import ModelChoice, PreparedRun, job_in, prepare
from autoreason.run.solution import Solution, examined_fields
from autoreason.run.verbs import SolveOptions, checked, verb
from autoreason.settings import DEFAULT_MODEL
from autoreason.studies.lab_suite import solve_problems
from autoreason.task import Task

_MAX_LEFT_OUT = 20
"""Broken records that are named one by one."""
_BAD: dict[str, Tone] = {verdict.replace("_", " "): "bad" for verdict in CodeVerdict}
_TONES: dict[str, Tone] = {**_BAD, "accepted": "good", "sandbox error": "warning"}


@dataclass(frozen=True, repr=False)
class SetReport(Report):
    heading: ClassVar[str] = "A set of problems"
    found: ProblemSet

    @property
    def conclusion(self) -> str:
        size = count(len(self.found.problems), "problem")
        return f"{size} ({self.found.format}), digest {self.found.digest[:12]}"

    def sections(self) -> list[Section]:
        sizes = figures("problems", "public tests", "private tests")
        columns = [*words("kind", "difficulty"), *sizes, *words("notes")]
        rows = []
        for one in shares(self.found.problems):
            sized = (f"{n:,}" for n in (one.problems, one.public_tests, one.private_tests))
            notes = [f"{n:,} without public tests" for n in [one.without_public_tests] if n]
            notes += [f"{n:,} cannot be judged" for n in [one.unfair] if n]
            rows.append((one.kind, one.difficulty or UNKNOWN, *sized, ", ".join(notes)))
        return [Section(tables=[Table(columns, rows)], sentences=_labelled(self.left_out()))]

    def left_out(self) -> list[str]:
        shown, more = self.found.broken[:_MAX_LEFT_OUT], len(self.found.broken) - _MAX_LEFT_OUT
        return [*map(str, shown), *([f"{more:,} more; --json names all"] if more > 0 else [])]

    def to_dict(self) -> dict[str, Any]:
        return {
            "conclusion": self.conclusion,
            "problems": len(self.found.problems),
            "format": self.found.format,
            "digest": self.found.digest,
            "shares": msgspec.to_builtins(shares(self.found.problems)),
            "broken": msgspec.to_builtins(self.found.broken),
        }


@dataclass(frozen=True, repr=False)
class ProblemReport(Report):
    heading: ClassVar[str] = "A problem"
    assignment: Assignment
    comparison: str
    """How answers are compared."""
    left_out: Sequence[str] = ()
    """Other records of the file, which cannot be used."""

    @property
    def conclusion(self) -> str:
        title = self.assignment.title
        return f"{self.assignment.id}: {title}" if title else self.assignment.id

    def names(self) -> list[str]:
        return [self.assignment.id]

    def sections(self) -> list[Section]:
        one = self.assignment
        wanted = f"that defines {one.entry_point}" if one.entry_point else "that reads and prints"
        public = count(len(one.public), "public test")
        rows = [
            ("Level", one.difficulty),
            ("Wanted", f"a program {wanted}"),
            ("Limits", f"{one.seconds:g} s, {one.memory_mb:,} MB"),
            ("Tests", f"{public}, {one.private:,} private"),
            ("Compared", self.comparison),
            ("Note", one.remark and f"it cannot be judged: {one.remark}"),
            *_labelled(self.left_out),
        ]
        tests = [
            Section(
                title=f"Public test {number}",
                text=test.code or f"{test.input.rstrip()}\n→\n{test.output.rstrip()}",
            )
            for number, test in enumerate(one.public, 1)
        ]
        statement = Section(title="Statement", text=one.statement)
        return [Section(sentences=[row for row in rows if row[1]]), statement, *tests]

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(self.assignment)
        return {"conclusion": self.conclusion} | fields | {"compared": self.comparison}


def read_problem(
    source: str, name: str | None, seconds: float | None = None, megabytes: int | None = None
) -> Problem:
    problems = read_problems(source).problems
    if name is None and len(problems) > 1:
        raise InvalidInput(f"name one problem of {source} with `name`, such as {problems[0].id}")
    problem = problems[0] if name is None else find_problem(problems, name)
    check_test_limits(seconds, megabytes)
    return replace(
        problem,
        time_limit_s=problem.time_limit_s if seconds is None else seconds,
        memory_limit_mb=problem.memory_limit_mb if megabytes is None else megabytes,
    )


def describe_set(source: str, name: str | None = None, *, as_set: bool = False) -> Report:
    """A file of problems; one of them where it has a name or is the only one, unless `as_set`."""
    report = SetReport(read_problems(source))
    problems = report.found.problems
    if name is None and (as_set or len(problems) > 1):
        return report
    problem = find_problem(problems, name) if name else problems[0]
    left_out = () if name else report.left_out()
    return ProblemReport(to_assignment(problem), describe_comparison(problem), left_out)


def _labelled(left_out: Sequence[str]) -> list[tuple[str, str]]:
    return [("Left out", record) for record in left_out]


@dataclass(frozen=True, repr=False)
class SolutionsReport(Report):
    heading: ClassVar[str] = "Known solutions on their tests"
    found: ProblemSet
    tried: dict[str, Examined]
    """By problem."""
    unfair: tuple[str, ...]
    """Problems that cannot be judged."""

    @property
    def failed(self) -> list[tuple[str, Examined]]:
        return sorted(each for each in self.tried.items() if each[1].failed)

    @property
    def _tests(self) -> int:
        return sum(one.run for one in self.tried.values())

    @property
    def _level(self) -> str:
        return next(iter(self.tried.values())).level

    @property
    def conclusion(self) -> str:
        solutions = count(len(self.tried), "known solution")
        accepted = f"{len(self.tried) - len(self.failed):,} of {solutions} accepted"
        parts = [f"{accepted}, {count(self._tests, 'test')}"]
        if without := len(self.found.problems) - len(self.tried):
            parts.append(f"{count(without, 'problem')} without a solution")
        if self.found.broken:
            parts.append(f"{count(len(self.found.broken), 'record')} left out")
        return "; ".join([*parts, describe_sandbox(self._level)])

    def sections(self) -> list[Section]:
        rows = [
            (
                name,
                f"{test.verdict.replace('_', ' ')} on test {test.number}",
                describe_failure(test),
            )
            for name, one in self.failed
            if (test := one.failed)
        ]
        tables = [Table(words("problem", "verdict", "why"), rows)] if rows else []
        left_out = [*map(str, self.found.broken)]
        if self.unfair:
            unfair = count(len(self.unfair), "problem")
            left_out.append(f"{unfair} that cannot be judged: {NO_CHECKER}")
        return [Section(tables=tables, sentences=_labelled(left_out))]

    def to_dict(self) -> dict[str, Any]:
        return {
            "conclusion": self.conclusion,
            "problems": len(self.found.problems),
            "solutions": len(self.tried),
            "accepted": len(self.tried) - len(self.failed),
            "tests": self._tests,
            "sandbox_level": self._level,
            "failed": [program_fields(*each) for each in self.failed],
            "broken": msgspec.to_builtins(self.found.broken),
            "unfair": list(self.unfair),
        }


async def check_solutions(
    source: str, *, unsafe: bool, on_done: Callable[[int, int], None]
) -> SolutionsReport:
    """Try every known solution of a set; `on_done` hears how many of how many are done."""
    found, unfair = split_judgeable(read_problems(source))
    solutions = [problem for problem in found.problems if problem.solution.strip()]
    if not solutions:
        raise InvalidInput(f"no problem in {source} has a `solution`; give one to check it")
    tried: dict[str, Examined] = {}

    def emit(problem: str, examined: Examined) -> None:
        tried[problem] = examined
        on_done(len(tried), len(solutions))

    await try_solutions(solutions, unsafe=unsafe, emit=emit)
    return SolutionsReport(found, tried, tuple(unfair))


@dataclass(frozen=True, repr=False)
class ProgramReport(Report):
    heading: ClassVar[str] = "A program on its tests"
    problem: Problem
    result: Examined

    @property
    def conclusion(self) -> str:
        result, failed = self.result, self.result.failed
        # Where an answer differs is shown with its test.
        why = describe_failure(failed) if failed else ""
        why = "" if failed and why == failed.difference else why
        verdict = result.verdict.replace("_", " ")
        parts = [
            f"{verdict} ({why})" if why else verdict,
            f"{result.passed} of {result.total} passed",
        ]
        if 0 < result.run < result.total:
            parts.append("stopped at the first failure, --every goes on")
        return f"{self.problem.id}: {'; '.join([*parts, describe_sandbox(result.level)])}"

    def names(self) -> list[str]:
        return [self.problem.id]

    def sections(self) -> list[Section]:
        if not self.result.run:
            return []
        columns = [*words("test", "verdict"), *figures("time", "memory"), *words("")]
        rows = []
        for trial in self.result.trials:
            memory = "" if trial.memory is None else f"{trial.memory / 1e6:.0f} MB"
            took = (f"{trial.seconds:.3f} s", memory)
            verdict = trial.verdict.replace("_", " ")
            rows.append((self._name(trial), verdict, *took, describe_failure(trial)))
        sections = [Section(tables=[Table(columns, rows, tones=_TONES)])]
        if failed := self.result.failed:
            parts = ("input", "expected", "got", "trace")
            texts = {f"{self._name(failed)}, {part}": getattr(failed, part) for part in parts}
            sections += [Section(title, text=text) for title, text in texts.items() if text]
        return sections

    def to_dict(self) -> dict[str, Any]:
        return {"conclusion": self.conclusion} | program_fields(
            self.problem.id, self.result, self.problem
        )

    def _name(self, trial: Trial) -> str:
        which, number = locate_test(self.problem, trial.number)
        return f"{which} {number}"


def program_fields(name: str, tried: Examined, problem: Problem | None = None) -> dict[str, Any]:
    """One program for other programs: the tests that were run, timed to the microsecond.

    With its problem, tests are numbered among the public or the private ones.
    """
    tests: list[dict[str, Any]] = msgspec.to_builtins(tried.trials) if tried.run else []
    for row in tests:
        row |= {name: round(row[name], 6) for name in ("seconds", "wall") if name in row}
        if problem:
            row["which"], row["number"] = locate_test(problem, row["number"])
    return {"problem": name, **(examined_fields(tried) or {}), "tests": tests}


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
    check_test_limits(options.get("test_time_limit"), options.get("test_memory_limit"))
    style = options.get("style")
    if style is not None and style not in _STYLES:
        raise InvalidInput(f"`style` is {style}; programs are judged {' or '.join(_STYLES)}")
    names = _names(options)
    return prepare(
        Task(brief="Solve problems"),
        ModelChoice.writing(model, options),
        options,
        job_in(Solve, options, strategy=absolute(names[0])),
    )


def _names(options: SolveOptions) -> Sequence[str]:
    given = options.get("strategy") or DEFAULT
    return strategies_named(given) if isinstance(given, str) else tuple(given)


@asynccontextmanager
async def open_problems(
    prepared: PreparedRun[Any], problem: Problems, **options: Unpack[SolveOptions]
) -> AsyncIterator[PreparedRun[Any]]:
    """The run with its problems; the process that has their tests is closed at the end."""
    from autoreason.programs.examiner.process import ExaminerClient

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
    if not isinstance(problem, Mapping):
        yield Path(problem)
        return
    with tempfile.TemporaryDirectory(prefix="autoreason-") as folder:
        path = Path(folder, "problem.json")
        try:
            path.write_bytes(msgspec.json.encode(dict(problem)))
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"the problem cannot be written as JSON ({error}); give texts, numbers and lists"
            ) from None
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
