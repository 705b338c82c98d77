"""Known solutions on the tests of their problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from autoreason.errors import InvalidInput
from autoreason.programs.examiner.trials import ProgramResult, try_solutions
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.problem import NO_CHECKER
from autoreason.programs.problems.sets import ProblemSet, split_judgeable
from autoreason.programs.statements import failure, sandbox
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table


@dataclass(frozen=True)
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
        parts = [f"{accepted}, {count(sum(one.run for one in self.tried), 'test')}"]
        if without := len(self.found.problems) - len(self.tried):
            parts.append(f"{count(without, 'problem')} without a solution")
        if self.found.broken:
            parts.append(f"{count(len(self.found.broken), 'record')} left out")
        return "; ".join([*parts, sandbox(self.tried[0].level)])

    def sections(self) -> list[Section]:
        """Every failure, and what was left out."""
        rows = [(one.problem, _verdict(one), _why(one)) for one in self.failed]
        heads = ("problem", "verdict", "why")
        table = Table([Column(head, figures=False) for head in heads], rows)
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
            "tests": sum(one.run for one in self.tried),
            "level": self.tried[0].level,
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


def program_fields(tried: ProgramResult) -> dict[str, Any]:
    """One program for other programs: the tests that were run, timed to the microsecond."""
    fields: dict[str, Any] = msgspec.to_builtins(tried)
    if not tried.run:
        return fields | {"tests": []}
    for row in fields["tests"]:
        row |= {name: round(row[name], 6) for name in ("seconds", "wall") if name in row}
    return fields


def _verdict(one: ProgramResult) -> str:
    assert one.failed is not None
    return f"{one.failed.verdict.replace('_', ' ')} on test {one.failed.number}"


def _why(one: ProgramResult) -> str:
    test = one.failed
    assert test is not None
    why, lines = failure(test), test.trace.strip().splitlines()
    crashed = test.verdict == "runtime_error" and not why.startswith("syntax error")
    return f"{why}, {lines[-1]}" if lines and crashed and lines[-1] not in why else why
