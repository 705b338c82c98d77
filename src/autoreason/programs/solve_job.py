"""A set of problems, each solved by every strategy with repeats, and scored on the private tests."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from decimal import Decimal
from functools import partial
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.events import JobFinished
from autoreason.jobs.allowance import Allowance
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import Job, Plan, build_job, read_options, run_job, user_code_errors
from autoreason.jobs.parts import part_context, run_in_windows
from autoreason.keys import PartName
from autoreason.plugins import short
from autoreason.programs.assignment import Assignment, Assignments, Examined, assignments_of
from autoreason.programs.events import Solved, examined_in, solved_in
from autoreason.programs.examination import NotExamined, examine
from autoreason.programs.program_strategy import (
    ProgramStrategy,
    find_program_strategy,
    no_program_result,
)
from autoreason.report.numbers import count
from autoreason.settings import MAX_PASSES, Settings
from autoreason.story import Story
from autoreason.task import Task

MAX_REPEATS = 100
MAX_CALLS = 1000
_MAX_WINDOWS_AHEAD = 32
"""Windows of parts that may start while an earlier part is still running."""


class SolveTerms(Struct, frozen=True, kw_only=True):
    """The set, the strategies, the repeats, and the allowance for each attempt at a problem."""

    set: Annotated[str, "The digest of the set, under which the examiner saved it."]
    strategies: tuple[str, ...]
    repeats: Annotated[int, "How often each strategy solves each problem."] = 1
    calls: Annotated[int, "Calls a strategy may make for one problem, second tries included."] = 6
    k: Annotated[int, "Survivals of A in a row that end a tournament."] = 2
    width: Annotated[int, "Problems solved at once."] = 32
    unsafe: Annotated[bool, "Programs may be run without a sandbox where there is none."] = False
    broken: Annotated[
        tuple[str, ...],
        "Lines of the set that could not be read, and why: `line 17: no statement`.",
    ] = ()

    def __post_init__(self) -> None:
        names = [short(name) for name in self.strategies]
        if not names or len(set(names)) < len(names):
            raise InvalidInput("name one strategy or several different ones for the problems")
        for name, limit in (
            ("repeats", MAX_REPEATS),
            ("calls", MAX_CALLS),
            ("k", MAX_PASSES),
            ("width", MAX_CALLS),
        ):
            if not 1 <= getattr(self, name) <= limit:
                raise InvalidInput(
                    f"`{name}` is {getattr(self, name)}; give a number from 1 to {limit}"
                )

    def count_parts(self, task: Task) -> int:
        """Problems that can be judged, times strategies, times repeats."""
        problems = sum(not each.remark for each in assignments_of(task))
        return problems * len(self.strategies) * self.repeats


class Solve(Job):
    """Solves every problem by every strategy with the public tests in view, and scores on the private ones."""

    summary = "programs for a set of problems, by one strategy or several at matched calls"
    writes = "programs"

    async def run(self) -> JobFinished:
        """Solve all problems, a window of them at a time."""
        terms = read_options(self.settings, SolveTerms)
        await run_in_windows(self._work_items(terms), terms.width, _MAX_WINDOWS_AHEAD * terms.width)
        best = self._best_program()
        reason = self._reason(terms)
        return self.finish(reason, best.program, best.part) if best else self.finish(reason)

    @classmethod
    def check(cls, settings: Settings) -> None:
        """Check the terms, and every strategy with them."""
        terms = read_options(settings, SolveTerms)
        for name in terms.strategies:
            kind = find_program_strategy(name)
            with user_code_errors(kind, name):
                kind.check(_strategy_settings(settings, name, terms))

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        """There must be problems to solve."""
        if not assignments_of(task):
            raise InvalidInput(
                f"{settings.strategy} writes programs and was given no problem; use `autoreason solve`"
            )

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """Calls for one problem: from a first draft that passes to every allowed call."""
        terms = read_options(settings, SolveTerms)
        low: dict[str, int] = {"author": len(terms.strategies) * terms.repeats}
        high: dict[str, int] = {}
        for name in terms.strategies:
            for role, calls in find_program_strategy(name).planned(terms.calls).items():
                high[role] = high.get(role, 0) + calls * terms.repeats
        # Half-way: about half of all first drafts pass in published results.
        likely = {role: -(-(low.get(role, 0) + calls) // 2) for role, calls in high.items()}
        return low, likely, high

    @classmethod
    def plan_count(cls, task: Task) -> int:
        """Once for each problem that can be examined fairly."""
        return sum(not each.remark for each in assignments_of(task))

    def _work_items(self, terms: SolveTerms) -> Iterator[Callable[[], Coroutine[Any, Any, None]]]:
        """Repeat by repeat, so that a set that is stopped early has run all strategies equally often."""
        for repeat in range(1, terms.repeats + 1):
            for number, assignment in enumerate(assignments_of(self.context.task), 1):
                for name in terms.strategies if not assignment.remark else ():
                    yield partial(self._solve, number, assignment, name, repeat, terms)

    async def _solve(
        self,
        number: int,
        assignment: Assignment,
        name: str,
        repeat: int,
        terms: SolveTerms,
    ) -> None:
        """Solve one problem by one strategy, once, and emit the result."""
        part = part_name(number, name, repeat)
        task = Task(brief=assignment.statement, work=Assignments((assignment,)))
        allowance = Allowance("calls", Decimal(terms.calls))
        settings = _strategy_settings(self.settings, name, terms)
        seed_key = f"{number}/{repeat}"
        context = part_context(
            self.context, part, self.emit, task, settings, allowance, seed_name=seed_key
        )
        strategy = build_job(find_program_strategy(name), context)
        solved = Solved(
            part=part,
            problem=assignment.id,
            difficulty=assignment.difficulty,
            strategy=short(name),
            repeat=repeat,
            program=None,
            public=None,
            private=None,
            first=None,
            attempts=0,
            status="running",
            reason="",
            spent=allowance.total,
        )
        try:
            solved = await _score(context, strategy, solved)
        except NotExamined as failure:
            # Not a result: the tests could not be run, which says nothing about the program.
            program = strategy.story.text
            solved = replace(solved, program=program, status=failure.status, reason=str(failure))
        self.emit(replace(solved, spent=allowance.total))

    def _reason(self, terms: SolveTerms) -> str:
        out = sum(bool(each.remark) for each in assignments_of(self.context.task))
        parts = [
            count(len(assignments_of(self.context.task)) - out, "problem"),
            count(len(terms.strategies), "strategy", "strategies"),
            count(terms.repeats, "repeat"),
        ]
        return ", ".join(parts) + (f"; {count(out, 'problem')} left out" if out else "")

    def _best_program(self) -> Solved | None:
        """For one problem the program that passes most public tests, the earliest; None for a set."""
        programs = [each for each in solved_in(self.story) if each.program]
        if len({each.problem for each in programs}) != 1:
            return None
        return max(programs, key=lambda each: each.public.passed if each.public else 0)


async def _score(context: JobContext, strategy: ProgramStrategy, solved: Solved) -> Solved:
    """A strategy's program with its verdicts."""
    assignment = assignments_of(context.task)[0]
    delivered = await run_job(strategy)
    story = strategy.story
    program = delivered.text or None
    solved = replace(
        solved,
        program=program,
        first=_without_trials(examined_in(story)[0].examined) if examined_in(story) else None,
        attempts=sum(bool(each.program) for each in examined_in(story))
        # Without public tests nothing is examined.
        or max(len(strategy.attempts), int(program is not None)),
        status=delivered.status,
        reason=delivered.reason,
    )
    if program is None:
        return _without_program(solved, story, assignment)
    public = next(
        (each.examined for each in examined_in(story)[::-1] if each.program == program), None
    )
    if public is None and assignment.public:
        public = await examine(context, "public/examined", program, "public", every=True)
    solved = replace(solved, public=_without_trials(public))
    if not assignment.private:
        return solved
    try:
        private = await examine(context, "private/examined", program, "private")
    except NotExamined as failure:
        return replace(solved, status=failure.status, reason=str(failure))
    return replace(solved, private=_without_trials(private))


def _without_program(solved: Solved, story: Story, assignment: Assignment) -> Solved:
    """Answers without a program are wrong answers; answers that were never complete are no result."""
    if not examined_in(story):
        return replace(solved, status=NotExamined.status)
    return replace(
        solved,
        public=no_program_result("public", len(assignment.public)) if assignment.public else None,
        private=no_program_result("private", assignment.private) if assignment.private else None,
    )


def _without_trials(examined: Examined | None) -> Examined | None:
    """Without single tests, so that a set stays small: public ones are emitted where they are run."""
    return replace(examined, trials=()) if examined else None


def _strategy_settings(settings: Settings, strategy: str, terms: SolveTerms) -> Settings:
    return replace(
        settings,
        strategy=strategy,
        strategy_options={},
        k=terms.k,
        # The allowance ends it, and tests decide where judges fail.
        passes=MAX_PASSES,
        playoff=0,
        confirmation=0,
        style="holistic" if settings.style == "holistic" else "reasoned",
    )


def part_name(number: int, strategy: str, repeat: int) -> str:
    """The name of the part in which a strategy solves a problem: `17/search/2`."""
    return str(PartName(short(strategy), repeat, problem=number))
