"""What a set of problems may come to, made up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from autoreason.events import Status
from autoreason.exchange import Spent
from autoreason.job_types import Solve
from autoreason.programs.assignment import Assignment, CodeVerdict, Examined, Trial, Which
from autoreason.programs.events import Solved
from autoreason.settings import Models, Settings
from autoreason.story import Story
from autoreason.studies.lab_report import LabReport, lab_report
from autoreason.studies.lab_suite import (
    CellFinished,
    CellResult,
    Suite,
    SuiteWork,
    all_cells,
    solve_problems,
)
from autoreason.task import Task

Verdicts = CodeVerdict
PASSED, WRONG = Verdicts.ACCEPTED, Verdicts.WRONG_ANSWER


def examined(
    verdict: CodeVerdict | None, which: Which = "public", total: int = 3, detail: str = ""
) -> Examined | None:
    """A program under tests; None where it was not examined."""
    if verdict is None:
        return None
    passed = total if verdict is PASSED else 0
    trials = (Trial(number=1, verdict=verdict, detail=detail),)
    return Examined(
        which=which,
        verdict=verdict,
        passed=passed,
        run=1,
        total=total,
        trials=trials,
        level="bubblewrap",
    )


def solved(
    problem: str,
    strategy: str = "tournament",
    *,
    repeat: int = 1,
    first: CodeVerdict | None = WRONG,
    public: CodeVerdict | None = PASSED,
    private: CodeVerdict | None = PASSED,
    program: str | None = "print(1)\n",
    difficulty: str = "easy",
    calls: int = 6,
    status: Status = "converged",
    reason: str = "it passes every public test",
    detail: str = "",
) -> Solved:
    return Solved(
        part=f"{problem.removeprefix('p')}/{strategy}/{repeat}",
        problem=problem,
        difficulty=difficulty,
        strategy=strategy,
        repeat=repeat,
        program=program,
        public=examined(public, detail=detail),
        private=examined(private, "private", 10, detail),
        private_tests=10,
        first=examined(first),
        attempts=2,
        status=status,
        reason=reason,
        spent=Spent(calls=calls, input=100, output=50, unpriced=calls),
    )


def verdict(passed: bool) -> CodeVerdict:
    return PASSED if passed else WRONG


def set_of(outcomes: Mapping[str, Iterable[bool]], repeat: int = 1) -> list[Solved]:
    """Strategies with what came of problem 1, 2, 3 ...; every first attempt failed."""
    return [
        solved(f"p{number}", name, private=verdict(passed), repeat=repeat)
        for name, row in outcomes.items()
        for number, passed in enumerate(row, start=1)
    ]


def assignments(
    number: int, *, private: int = 10, remarks: dict[int, str] | None = None
) -> list[Assignment]:
    return [
        Assignment(
            id=f"p{each}",
            statement="Add up.",
            difficulty="easy",
            private=private,
            remark=(remarks or {}).get(each, ""),
        )
        for each in range(1, number + 1)
    ]


def set_cells(
    results: Sequence[Solved],
    problems: Sequence[Assignment],
    repeats: int = 1,
    broken: Sequence[str] = (),
) -> tuple[Suite, list[CellFinished]]:
    rated = {each.problem: each.difficulty for each in results}
    problems = [replace(p, difficulty=rated.get(p.id, p.difficulty)) for p in problems]
    job = Solve(broken=tuple(broken))
    options = Settings(models=Models.everywhere("echo/echo"), seed=1, job=job)
    names = tuple(dict.fromkeys(each.strategy for each in results))
    suite = solve_problems(problems, options, strategies=names, repeats=repeats, prompts={})
    known = {(each.problem, each.strategy, each.repeat): each for each in results}
    cells = []
    for cell in all_cells(suite):
        if found := known.get((cell.task, cell.arms[0], cell.repeat)):
            result = CellResult(
                run="r", status=found.status, reason=found.reason, solved=found, spent=found.spent
            )
            cells.append(CellFinished(cell=cell, result=result))
    return suite, cells


def set_report(
    results: Sequence[Solved],
    problems: Sequence[Assignment],
    repeats: int = 1,
    broken: Sequence[str] = (),
) -> LabReport:
    suite, cells = set_cells(results, problems, repeats, broken)
    story = Story(task=Task(brief="a set", work=SuiteWork(suite)))
    for each in cells:
        story.apply(each)
    return lab_report(story)
