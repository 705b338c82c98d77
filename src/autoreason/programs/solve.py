"""A set of problems, each worked on by every strategy as often as asked, and scored on the private tests."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autoreason.assignment import Assignment, Examined
from autoreason.errors import InvalidInput
from autoreason.events import Delivered, Incumbent, Solved
from autoreason.jobs.allowance import Allowance
from autoreason.jobs.context import JobContext
from autoreason.jobs.parts import part_context, run_in_windows
from autoreason.plugins import short
from autoreason.programs.examination import NotExamined, examine
from autoreason.programs.registry import find_program_strategy
from autoreason.programs.strategy import ProgramStrategy, no_code
from autoreason.settings import MAX_PASSES, Settings
from autoreason.story import Story
from autoreason.strategies.runner import build_strategy, run_strategy, user_code_errors
from autoreason.task import Task
from autoreason.tournament.plan import Plan
from autoreason.tournament.strategy import Strategy, read_options

MAX_REPEATS = 100
MAX_CALLS = 1000
_AHEAD = 32
"""Windows of parts that may be begun after one that takes its time."""


class Terms(Struct, frozen=True, kw_only=True):
    """Which set, which strategies, how often, and what each attempt at a problem may take."""

    set: str
    """The digest of the set, under which the examiner keeps it."""
    strategies: tuple[str, ...]
    repeats: int = 1
    calls: int = 6
    """Calls each strategy has for a problem, second tries included."""
    k: int = 2
    """Survivals of A in a row that end a tournament."""
    width: int = 32
    """Problems worked on at once."""
    unsafe: bool = False
    """Programs may be run without a sandbox where there is none."""
    broken: tuple[str, ...] = ()
    """Lines of the set that could not be read, and why: `line 17: no statement`."""

    def __post_init__(self) -> None:
        names = [short(name) for name in self.strategies]
        if not names or len(set(names)) < len(names):
            raise InvalidInput("name one strategy or several different ones for the problems")
        for name, most in (
            ("repeats", MAX_REPEATS),
            ("calls", MAX_CALLS),
            ("k", MAX_PASSES),
            ("width", MAX_CALLS),
        ):
            if not 1 <= getattr(self, name) <= most:
                raise InvalidInput(
                    f"`{name}` is {getattr(self, name)}; give a number from 1 to {most}"
                )


class Solve(Strategy):
    """Every problem by every strategy: written with the public tests in view, scored on the private ones."""

    summary = "programs for a set of problems, by one strategy or several at matched calls"
    over_programs = True

    async def run(self) -> Delivered:
        """Work on all problems, a window of them at a time."""
        terms = read_options(self.settings, Terms)
        await run_in_windows(self._works(terms), terms.width, _AHEAD * terms.width)
        return self.deliver("done", self._reason(terms), self._handed_in())

    @classmethod
    def check(cls, settings: Settings) -> None:
        """The terms, and every strategy with them."""
        terms = read_options(settings, Terms)
        for name in terms.strategies:
            kind = find_program_strategy(name)
            with user_code_errors(kind, name):
                kind.check(_alone(settings, name, terms))

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """Calls for one problem: from first drafts that pass to every call that is allowed."""
        terms = read_options(settings, Terms)
        low: dict[str, int] = {"author": len(terms.strategies) * terms.repeats}
        high: dict[str, int] = {}
        for name in terms.strategies:
            for role, calls in find_program_strategy(name).planned(terms.calls).items():
                high[role] = high.get(role, 0) + calls * terms.repeats
        # Taken to be half-way: about half of all first drafts pass in what is published.
        likely = {role: -(-(low.get(role, 0) + calls) // 2) for role, calls in high.items()}
        return low, likely, high

    def _works(self, terms: Terms) -> Iterator[Callable[[], Coroutine[Any, Any, None]]]:
        """Repeat after repeat, so that a set that is stopped early has worked on all strategies alike."""
        for repeat in range(1, terms.repeats + 1):
            for number, assignment in enumerate(self.context.task.assignments, 1):
                for name in terms.strategies if not assignment.remark else ():
                    yield partial(self._solve, number, assignment, name, repeat, terms)

    async def _solve(
        self,
        number: int,
        assignment: Assignment,
        name: str,
        repeat: int,
        terms: Terms,
    ) -> None:
        """One problem by one strategy, once; whatever comes of it is told."""
        part = part_name(number, name, repeat)
        task = Task(brief=assignment.statement, assignments=(assignment,))
        allowance = Allowance("calls", Decimal(terms.calls))
        settings = _alone(self.settings, name, terms)
        luck = f"{number}/{repeat}"
        context = part_context(
            self.context, part, self.emit, task, settings, allowance, seed_name=luck
        )
        strategy = build_strategy(find_program_strategy(name), context)
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
            solved = await _scored(context, strategy, solved)
        except NotExamined as failure:
            # Not a result: the tests could not be held, which says nothing of the program.
            written = strategy.story.text
            solved = replace(solved, program=written, status=failure.status, reason=str(failure))
        self.emit(replace(solved, spent=allowance.total))

    def _reason(self, terms: Terms) -> str:
        out = sum(bool(each.remark) for each in self.context.task.assignments)
        said = [
            _count(len(self.context.task.assignments) - out, "problem"),
            _count(len(terms.strategies), "strategy", "strategies"),
            _count(terms.repeats, "repeat"),
        ]
        return ", ".join(said) + (f"; {_count(out, 'problem')} left out" if out else "")

    def _handed_in(self) -> Incumbent:
        """For one problem the program that passes most public tests, the earliest; for a set there is no one text."""
        found = [each for each in self.story.solved if each.program]
        if len({each.problem for each in found}) != 1:
            return Incumbent(name="", since=0, text="", keeps_contract=True)
        best = max(found, key=lambda each: each.public.passed if each.public else 0)
        return Incumbent(name=best.part, since=0, text=best.program or "", keeps_contract=True)


async def _scored(context: JobContext, strategy: ProgramStrategy, solved: Solved) -> Solved:
    """A strategy's program with its verdicts."""
    assignment = context.task.assignments[0]
    delivered = await run_strategy(strategy)
    story = strategy.story
    program = delivered.text or None
    solved = replace(
        solved,
        program=program,
        first=_summed(story.examined[0].examined) if story.examined else None,
        attempts=sum(bool(each.program) for each in story.examined)
        # Without public tests nothing is examined.
        or max(len(strategy.attempts), int(program is not None)),
        status=delivered.status,
        reason=delivered.reason,
    )
    if program is None:
        return _nothing(solved, story, assignment)
    public = next((each.examined for each in story.examined[::-1] if each.program == program), None)
    if public is None and assignment.public:
        public = await examine(context, "public/examined", program, "public", every=True)
    solved = replace(solved, public=_summed(public))
    if not assignment.private:
        return solved
    try:
        private = await examine(context, "private/examined", program, "private")
    except NotExamined as failure:
        return replace(solved, status=failure.status, reason=str(failure))
    return replace(solved, private=_summed(private))


def _nothing(solved: Solved, story: Story, assignment: Assignment) -> Solved:
    """Answers without a program are wrong answers; answers that never came whole are no result at all."""
    if not story.examined:
        return replace(solved, status=NotExamined.status)
    return replace(
        solved,
        public=no_code("public", len(assignment.public)) if assignment.public else None,
        private=no_code("private", assignment.private) if assignment.private else None,
    )


def _summed(examined: Examined | None) -> Examined | None:
    """Without the single tests: those of the public ones are told where they were held, and a set stays small."""
    return replace(examined, trials=()) if examined else None


def _alone(settings: Settings, strategy: str, terms: Terms) -> Settings:
    return replace(
        settings,
        strategy=strategy,
        strategy_options={},
        k=terms.k,
        # The allowance ends it, and tests speak where judges fail.
        passes=MAX_PASSES,
        max_inconclusive=MAX_PASSES,
        playoff=0,
        confirmation=0,
        style="holistic" if settings.style == "holistic" else "reasoned",
    )


def part_name(number: int, strategy: str, repeat: int) -> str:
    """Where a strategy's work on a problem is told: `17/search/2`."""
    return f"{number}/{short(strategy)}/{repeat}"


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
