"""One problem solved by one strategy, once, and scored on the private tests."""

from __future__ import annotations

from dataclasses import replace as with_fields
from decimal import Decimal

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent, Delivered, JobFinished
from autoreason.job_types import Refine, Solve
from autoreason.jobs.context import Allowance, JobContext, counting
from autoreason.jobs.job import Job, Plan, build_job, run_job, user_code_errors
from autoreason.plugins import short
from autoreason.programs.assignment import Examined, Which, assignments_of
from autoreason.programs.events import Solved, examined_in
from autoreason.programs.examination import NotExamined, examine
from autoreason.programs.program_strategies import (
    ProgramStrategy,
    find_program_strategy,
    no_program_result,
)
from autoreason.settings import MAX_PASSES, Settings
from autoreason.task import Task


class SolveJob(Job):
    """Solves a problem with the public tests in view, and scores the program on the private ones."""

    summary = "a program for a problem, by a strategy with so many calls"

    async def run(self) -> JobFinished:
        terms = self.settings.job_as(Solve)
        (assignment,) = assignments_of(self.context.task)
        allowance = Allowance("calls", Decimal(terms.calls))
        context = with_fields(
            self.context,
            task=replace(self.context.task, brief=assignment.statement),
            settings=_strategy_settings(self.settings, terms),
            ask=counting(self.context.ask, allowance),
            emit=self._emit_inside,
            allowance=allowance,
        )
        strategy = build_job(find_program_strategy(terms.strategy), context)
        solved = Solved(
            problem=assignment.id,
            difficulty=assignment.difficulty,
            strategy=short(terms.strategy),
            program=None,
            public=None,
            private=None,
            private_tests=assignment.private,
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
        return self.finish(solved.reason, solved.program)

    def _emit_inside(self, event: AnyEvent) -> None:
        # The strategy's end is not that of the run: its program is scored.
        if not isinstance(event, Delivered | JobFinished):
            self.emit(event)

    @classmethod
    def check(cls, settings: Settings) -> None:
        terms = settings.job_as(Solve)
        kind = find_program_strategy(terms.strategy)
        with user_code_errors(kind, terms.strategy):
            kind.check(_strategy_settings(settings, terms))

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        if len(assignments_of(task)) != 1:
            raise InvalidInput(
                f"{settings.job.name} writes programs and was given no problem; use `autoreason solve`"
            )

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        terms = settings.job_as(Solve)
        low: dict[str, int] = {"author": 1}
        high = find_program_strategy(terms.strategy).planned(terms.calls)
        # Half-way: about half of all first drafts pass in published results.
        likely = {role: -(-(low.get(role, 0) + calls) // 2) for role, calls in high.items()}
        return low, likely, high


async def _score(context: JobContext, strategy: ProgramStrategy, solved: Solved) -> Solved:
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
        # Answers without a program are wrong answers; answers that were never complete are not a result.
        if not examined_in(story):
            return replace(solved, status=NotExamined.status)
        tests: dict[Which, int] = {"public": len(assignment.public), "private": assignment.private}
        wrong = {which: no_program_result(which, n) if n else None for which, n in tests.items()}
        return replace(solved, **wrong)
    public = next((e.examined for e in examined_in(story)[::-1] if e.program == program), None)
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


def _without_trials(examined: Examined | None) -> Examined | None:
    """Without single tests, so that a set stays small: public ones are emitted where they are run."""
    return replace(examined, trials=()) if examined else None


def _strategy_settings(settings: Settings, terms: Solve) -> Settings:
    return replace(
        settings,
        job=Refine(strategy=terms.strategy),
        k=terms.k,
        # The allowance ends it, and tests decide where judges fail.
        passes=MAX_PASSES,
        reviewers=0,
        confirmation=0,
        style="holistic" if settings.style == "holistic" else "reasoned",
    )
