"""What is in a set of problems, and how known solutions and other programs do on its tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Assignment, CodeVerdict, Trial
from autoreason.programs.events import describe_failure, describe_sandbox
from autoreason.programs.examiner.examiner import ProgramResult, locate_test, try_solutions
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.problem import (
    NO_CHECKER,
    Problem,
    ProblemSet,
    Share,
    check_test_limits,
    describe_comparison,
    find_problem,
    shares,
    split_judgeable,
    to_assignment,
)
from autoreason.report.numbers import UNKNOWN, count
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, Tone, figures, words

_MAX_LEFT_OUT = 20
"""Broken records that are named one by one."""
_PARTS = ("input", "expected", "got", "trace")
"""What is shown of the first test that failed."""
_BAD: dict[str, Tone] = {verdict.replace("_", " "): "bad" for verdict in CodeVerdict}
_TONES: dict[str, Tone] = {**_BAD, "accepted": "good", "sandbox error": "warning"}


@dataclass(frozen=True, repr=False)
class SetReport(Report):
    """What is in a set of problems."""

    heading: ClassVar[str] = "A set of problems"
    found: ProblemSet

    @property
    def conclusion(self) -> str:
        """How many problems there are, of which format, and their digest."""
        size = count(len(self.found.problems), "problem")
        return f"{size} ({self.found.format}), digest {self.found.digest[:12]}"

    def sections(self) -> list[Section]:
        """Problems and tests by kind and difficulty, and what cannot be used."""
        sizes = figures("problems", "public tests", "private tests")
        columns = [*words("kind", "difficulty"), *sizes, *words("notes")]
        rows = [
            (
                share.kind,
                share.difficulty or UNKNOWN,
                f"{share.problems:,}",
                f"{share.public_tests:,}",
                f"{share.private_tests:,}",
                _remarks(share),
            )
            for share in shares(self.found.problems)
        ]
        return [Section(tables=[Table(columns, rows)], sentences=_labelled(self.left_out()))]

    def left_out(self) -> list[str]:
        """Records that cannot be used, the first of them."""
        every = [*map(str, self.found.broken)]
        more = len(every) - _MAX_LEFT_OUT
        shown = every[:_MAX_LEFT_OUT]
        return [*shown, f"{more:,} more; --json names all"] if more > 0 else shown

    def to_dict(self) -> dict[str, Any]:
        """The numbers, and everything that cannot be used."""
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
    """One problem without its private tests."""

    heading: ClassVar[str] = "A problem"
    assignment: Assignment
    comparison: str
    """How answers are compared."""
    left_out: Sequence[str] = ()
    """Other records of the file, which cannot be used."""

    @property
    def conclusion(self) -> str:
        """Its name."""
        title = self.assignment.title
        return f"{self.assignment.id}: {title}" if title else self.assignment.id

    def names(self) -> list[str]:
        """An id is written as it is."""
        return [self.assignment.id]

    def sections(self) -> list[Section]:
        """What is wanted, within which limits, and the public tests."""
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
        """All that may be known of it."""
        fields: dict[str, Any] = msgspec.to_builtins(self.assignment)
        return {"conclusion": self.conclusion} | fields | {"compared": self.comparison}


def read_problem(
    source: str, name: str | None, seconds: float | None = None, megabytes: int | None = None
) -> Problem:
    """One problem of a file, under these limits where they are given."""
    problems = read_problems(source).problems
    if name is None and len(problems) > 1:
        raise InvalidInput(
            f"{source} has {len(problems):,} problems; name one with `name`, "
            f"such as {problems[0].id}"
        )
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


def _remarks(share: Share) -> str:
    counted = (
        (share.without_public_tests, "without public tests"),
        (share.unfair, "cannot be judged"),
    )
    return ", ".join(f"{number:,} {remark}" for number, remark in counted if number)


@dataclass(frozen=True, repr=False)
class SolutionsReport(Report):
    """How the known solutions of a set did."""

    heading: ClassVar[str] = "Known solutions on their tests"
    found: ProblemSet
    tried: tuple[ProgramResult, ...]
    unfair: tuple[str, ...]
    """Problems that cannot be judged."""

    @property
    def failed(self) -> list[ProgramResult]:
        """Those that fail a test, by problem."""
        failed = (one for one in self.tried if one.verdict != "accepted")
        return sorted(failed, key=lambda one: one.problem)

    @property
    def conclusion(self) -> str:
        """How many are accepted, and what was left out."""
        solutions = count(len(self.tried), "known solution")
        accepted = f"{len(self.tried) - len(self.failed):,} of {solutions} accepted"
        parts = [f"{accepted}, {count(sum(one.tests_run for one in self.tried), 'test')}"]
        if without := len(self.found.problems) - len(self.tried):
            parts.append(f"{count(without, 'problem')} without a solution")
        if self.found.broken:
            parts.append(f"{count(len(self.found.broken), 'record')} left out")
        return "; ".join([*parts, describe_sandbox(self.tried[0].sandbox_level)])

    def sections(self) -> list[Section]:
        """Every failure, and what was left out."""
        rows = [(one.problem, _verdict(one), _why(one)) for one in self.failed]
        table = Table(words("problem", "verdict", "why"), rows)
        left_out = [("Left out", str(broken)) for broken in self.found.broken]
        if self.unfair:
            unfair = count(len(self.unfair), "problem")
            left_out.append(("Left out", f"{unfair} that cannot be judged: {NO_CHECKER}"))
        sections = [Section(tables=[table])] if rows else []
        return [*sections, Section(sentences=left_out)] if left_out else sections

    def to_dict(self) -> dict[str, Any]:
        """The numbers, and every failure test by test."""
        return {
            "conclusion": self.conclusion,
            "problems": len(self.found.problems),
            "solutions": len(self.tried),
            "accepted": len(self.tried) - len(self.failed),
            "tests": sum(one.tests_run for one in self.tried),
            "sandbox_level": self.tried[0].sandbox_level,
            "failed": [program_fields(one) for one in self.failed],
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
    tried: list[ProgramResult] = []

    def emit(one: ProgramResult) -> None:
        tried.append(one)
        on_done(len(tried), len(solutions))

    await try_solutions(solutions, unsafe=unsafe, emit=emit)
    return SolutionsReport(found, tuple(tried), tuple(unfair))


@dataclass(frozen=True, repr=False)
class ProgramReport(Report):
    """How one program did on the tests of its problem."""

    heading: ClassVar[str] = "A program on its tests"
    problem: Problem
    result: ProgramResult

    @property
    def conclusion(self) -> str:
        """Its verdict, and how many tests it passed."""
        result, failed = self.result, self.result.failed
        # Where an answer differs is shown with its test.
        why = describe_failure(failed) if failed else ""
        why = "" if failed and why == failed.difference else why
        verdict = result.verdict.replace("_", " ")
        parts = [
            f"{verdict} ({why})" if why else verdict,
            f"{result.passed} of {result.total} passed",
        ]
        if 0 < result.tests_run < result.total:
            parts.append("stopped at the first failure, --every goes on")
        return f"{result.problem}: {'; '.join([*parts, describe_sandbox(result.sandbox_level)])}"

    def names(self) -> list[str]:
        """An id is written as it is."""
        return [self.result.problem]

    def sections(self) -> list[Section]:
        """Every test that was run, and what the first that failed was given and gave."""
        if not self.result.tests_run:
            return []
        columns = [*words("test", "verdict"), *figures("time", "memory"), *words("")]
        rows = [
            (
                self._name(trial),
                trial.verdict.replace("_", " "),
                f"{trial.seconds:.3f} s",
                "" if trial.memory is None else f"{trial.memory / 1e6:.0f} MB",
                describe_failure(trial),
            )
            for trial in self.result.tests
        ]
        failed = self.result.failed
        texts = {part: getattr(failed, part) for part in _PARTS} if failed else {}
        return [
            Section(tables=[Table(columns, rows, tones=_TONES)]),
            *(
                Section(f"{self._name(failed)}, {part}", text=text)
                for part, text in texts.items()
                if failed and text
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The numbers, and every test that was run."""
        return {"conclusion": self.conclusion} | program_fields(self.result, self.problem)

    def _name(self, trial: Trial) -> str:
        which, number = locate_test(self.problem, trial.number)
        return f"{which} {number}"


def program_fields(tried: ProgramResult, problem: Problem | None = None) -> dict[str, Any]:
    """One program for other programs: the tests that were run, timed to the microsecond.

    With its problem, tests are numbered among the public or the private ones.
    """
    fields: dict[str, Any] = msgspec.to_builtins(tried)
    if not tried.tests_run:
        return fields | {"tests": []}
    for row in fields["tests"]:
        row |= {name: round(row[name], 6) for name in ("seconds", "wall") if name in row}
        if problem:
            row["which"], row["number"] = locate_test(problem, row["number"])
    return fields


def _verdict(one: ProgramResult) -> str:
    assert one.failed is not None
    return f"{one.failed.verdict.replace('_', ' ')} on test {one.failed.number}"


def _why(one: ProgramResult) -> str:
    test = one.failed
    assert test is not None
    why, lines = describe_failure(test), test.trace.strip().splitlines()
    crashed = test.verdict == "runtime_error" and not why.startswith("syntax error")
    return f"{why}, {lines[-1]}" if lines and crashed and lines[-1] not in why else why


def choose_problems(
    assignments: Sequence[Assignment], options: Mapping[str, Any]
) -> Sequence[Assignment]:
    """The problems of the difficulty and number that are asked for."""
    difficulty = options.get("difficulty")
    chosen = assignments
    if difficulty is not None:
        chosen = [each for each in assignments if each.difficulty.lower() == difficulty.lower()]
        if not chosen:
            known = sorted({each.difficulty for each in assignments if each.difficulty})
            there = f"there are {', '.join(known)}" if known else "the problems have none"
            raise InvalidInput(f"no problem of difficulty {difficulty!r}; {there}")
    chosen = chosen[: options.get("limit")]
    if chosen and all(each.remark for each in chosen):
        first = chosen[0]
        raise InvalidInput(f"no problem can be examined fairly; {first.id}: {first.remark}")
    return chosen
