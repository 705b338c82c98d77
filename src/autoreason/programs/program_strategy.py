"""The base of strategies for programs, the context in which they write, and how they are found by name."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

from autoreason.contract import count_words
from autoreason.errors import InvalidInput, StrategyError
from autoreason.events import (
    CandidateDropped,
    CandidateReady,
    Delivered,
    DraftFailed,
    DraftReady,
    EndedBy,
    Incumbent,
    Slot,
    Status,
)
from autoreason.exchange import Message, Outcome, Query, Reply, Request, Role
from autoreason.jobs.allowance import Allowance
from autoreason.jobs.context import JobContext, draw
from autoreason.jobs.job import Plan
from autoreason.keys import pass_key, sub_key, try_key
from autoreason.plugins import is_own
from autoreason.programs.assignment import Assignment, CodeVerdict, Examined, Which, assignments_of
from autoreason.programs.events import ProgramExamined, examined_in
from autoreason.programs.examination import examine, feedback, unstated_tests
from autoreason.programs.source import read_program, same_program
from autoreason.settings import MAX_PASSES
from autoreason.strategies.registry import BUILT_IN, find_strategy
from autoreason.tournament.judges import PANEL_SETTINGS
from autoreason.tournament.stop import Ending
from autoreason.tournament.strategy import Strategy
from autoreason.tournament.writing import MissingText


@dataclass(frozen=True)
class ProgramContext(JobContext):
    """A job context whose task is a problem with its public tests."""

    @cached_property
    def opening(self) -> tuple[Message, ...]:
        """The messages that begin every conversation."""
        assignment = assignments_of(self.task)[0]
        examples = unstated_tests(assignment)
        text = self.prompt(
            "task",
            "task",
            title=assignment.title,
            statement=assignment.statement,
            entry_point=assignment.entry_point,
            starter=""
            if assignment.starter.strip() in assignment.statement
            else assignment.starter,
            seconds=f"{assignment.seconds:g}",
            memory=assignment.memory_mb,
            examples=examples,
        )
        return self.begin(text)


def program_context(context: JobContext, allowance: Allowance) -> ProgramContext:
    """The same context for a problem, where no request may exceed the allowance."""
    calls = 0

    async def ask(request: Request | Query[Any]) -> Any:
        nonlocal calls
        calls += isinstance(request, Request)
        if allowance.amount is not None and calls > allowance.amount:
            raise StrategyError(
                f"the strategy {context.settings.job.name} asks for more than its {allowance.amount} calls; "
                "let it ask only while may_ask() is true"
            )
        return await context.ask(request)

    same = {each.name: getattr(context, each.name) for each in fields(JobContext)}
    return ProgramContext(**same | {"ask": ask})


PROGRAM_JUDGE_SETTINGS = (*PANEL_SETTINGS, "early_stop")
"""What panels over programs look at."""


class Attempt(NamedTuple):
    """A program and its result on the public tests."""

    stage: str
    program: str
    examined: Examined | None
    """None where the problem has no public tests."""

    @property
    def passed(self) -> int:
        """How many public tests it passes."""
        return self.examined.passed if self.examined else 0

    @property
    def passes_all(self) -> bool:
        """Whether it passes every public test, so that no failure is left to fix."""
        return self.examined is None or self.examined.verdict is CodeVerdict.ACCEPTED


class ProgramStrategy(Strategy):
    """Solves a problem by a program, within an allowance of calls that is never exceeded.

    `author` writes an independent attempt, `repair` and `merge` build one from earlier ones; `revise` and `challenge`
    write one within a pass, between `begin_pass` and `end_pass`. Each is examined on the public tests, and `hand_in`
    ends the run.
    """

    ending = "self.hand_in(...)"
    max_inconclusive = MAX_PASSES

    prompts: ClassVar[tuple[str, ...] | None] = None
    counts_tests: ClassVar[bool] = True
    """Whether every public test is run on an attempt; otherwise the first that fails ends it."""

    def __init__(self, context: JobContext) -> None:
        if not assignments_of(context.task) or context.allowance is None:
            raise InvalidInput(
                f"{context.settings.job.name} writes programs; use it with `autoreason solve`"
            )
        super().__init__(program_context(context, context.allowance))
        self.allowance: Allowance = context.allowance
        self.attempts: list[Attempt] = []
        """Every program written so far, in order."""
        self._unwritten: MissingText | None = None

    @classmethod
    def planned(cls, calls: int) -> Plan:
        """Calls by role where nothing passes the public tests and the allowance is used up."""
        return {"author": calls}

    @property
    def assignment(self) -> Assignment:
        """The problem."""
        return assignments_of(self.context.task)[0]

    def may_ask(self, calls: int = 1) -> bool:
        """Whether this many calls are left."""
        left = self.allowance.left
        return left is None or left >= calls

    async def examine(self, stage: str, program: str) -> Examined | None:
        """Run a program on the public tests, if any, and emit the result."""
        if program and not self.assignment.public:
            return None
        if program:
            key = sub_key(stage, "examined")
            examined = await examine(self.context, key, program, "public", every=self.counts_tests)
        else:
            examined = no_program_result("public", len(self.assignment.public))
        self.emit(ProgramExamined(stage=stage, program=program, examined=examined))
        return examined

    async def author(self) -> Attempt | None:
        """One more independent attempt; None where the answer has no program."""
        stage = self._stage("attempt")
        prompt = self.context.prompt("author", stage)
        return await self._attempt(stage, "author", self.settings.models.author, prompt)

    async def repair(self, attempt: Attempt) -> Attempt | None:
        """A failing attempt repaired with its results in view; None where the answer has no program."""
        stage = self._stage("repair")
        prompt = self.repair_prompt(stage, attempt)
        return await self._attempt(stage, "reviser", self.settings.models.author, prompt)

    async def merge(self, one: Attempt, other: Attempt) -> Attempt | None:
        """One program merged from two; None where the answer has no program."""
        stage = self._stage("merge")
        prompt = self.merge_prompt(stage, one, other)
        return await self._attempt(stage, "synthesizer", self.settings.models.synthesizer, prompt)

    async def first_program(self) -> Attempt | None:
        """The author's first answer that is a program; None where the allowance ends before there is one."""
        attempt = None
        while attempt is None and self.may_ask():
            attempt = await self.author()
        return attempt

    async def revise(
        self, number: int, attempt: Attempt, findings: str = "", tried: str = ""
    ) -> Attempt | None:
        """The challenger B of a started pass: an attempt revised with its results in view."""
        prompt = self.repair_prompt(pass_key(number, "reviser"), attempt, findings, tried)
        return await self.challenge(number, "B", "reviser", self.settings.models.author, prompt)

    async def challenge(
        self, number: int, slot: Slot, role: Role, model: str, prompt: str
    ) -> Attempt | None:
        """A challenger of a started pass, examined; None where it is dropped, which is emitted."""
        self.check_pass_started(number)
        written = await self._write(role, pass_key(number, role), model, prompt)
        stage = pass_key(number, slot)
        dropped = partial(CandidateDropped, number=number, slot=slot)
        if isinstance(written, MissingText):
            self.emit(dropped(reason=written.reason, detail=written.detail))
            return None
        if not written:
            await self.examine(stage, written)
            self.emit(dropped(reason="empty", detail="there was no program in the answer"))
            return None
        if any(same_program(written, other.program) for other in self.attempts):
            detail = "the same as a program that was tried before"
            self.emit(dropped(reason="clone", detail=detail, text=written))
            return None
        words = count_words(written)
        self.emit(CandidateReady(number=number, slot=slot, text=written, words=words))
        return self._add_attempt(stage, written, await self.examine(stage, written))

    def repair_prompt(self, key: str, attempt: Attempt, findings: str = "", tried: str = "") -> str:
        """The prompt to repair an attempt."""
        results = self.results(attempt)
        return self.context.prompt(
            "reviser",
            key,
            program=attempt.program,
            results=results,
            findings=findings,
            tried=tried,
        )

    def merge_prompt(self, key: str, one: Attempt, other: Attempt) -> str:
        """The prompt to merge two programs, shown in random order."""
        pair = [one, other]
        draw(self.settings.seed, f"{key}/order").shuffle(pair)
        programs = [{"text": each.program, "results": self.results(each)} for each in pair]
        return self.context.prompt("synthesizer", key, programs=programs)

    def results(self, attempt: Attempt) -> str:
        """The test results of an attempt, as a model reads them."""
        return feedback(attempt.examined, self.assignment) if attempt.examined else ""

    def best(self) -> Attempt | None:
        """The attempt that passes most public tests, the earliest among equals."""
        return max(self.attempts, key=lambda attempt: attempt.passed, default=None)

    def hand_in(
        self, attempt: Attempt | None, status: Status = "capped", reason: str = ""
    ) -> Delivered:
        """End the run with this program, and the reason."""
        if attempt is None:
            nothing = Incumbent(name="nothing", since=0, text="", keeps_contract=True)
            why = f": {self._unwritten.detail}" if self._unwritten else ""
            reason = f"no program came of {self._calls_made()}{why}"
            return self.deliver("capped", Ending("allowance", reason), nothing)
        ended_by: EndedBy = "survivals" if status == "converged" else "allowance"
        if attempt.examined is None:
            status, ended_by = "done", "drafts"
            reason = reason or "there are no public tests, so the first program is handed in"
        elif attempt.passes_all:
            tests = attempt.examined.total
            passes = (
                f"it passes {'the one public test' if tests == 1 else f'all {tests} public tests'}"
            )
            status, ended_by = "converged", "tests"
            reason = f"{passes}; {reason}" if reason else passes
        program = Incumbent(
            name=attempt.stage.replace("/", " "), since=0, text=attempt.program, keeps_contract=True
        )
        return self.deliver(
            status, Ending(ended_by, reason or self._spent_reason(attempt)), program
        )

    def _stage(self, action: str) -> str:
        """The name of the next attempt: `draft`, `attempt/2`, `repair/3`."""
        untested = sum(each.examined is None for each in self.attempts)
        number = self.story.failed_drafts + len(examined_in(self.story)) + untested + 1
        return "draft" if number == 1 else sub_key(action, number)

    async def _attempt(self, stage: str, role: Role, model: str, prompt: str) -> Attempt | None:
        """A program outside of any pass, examined; None where the answer has none."""
        written = await self._write(role, stage, model, prompt)
        if isinstance(written, MissingText):
            self._unwritten = written
            attempt = self.story.failed_drafts
            self.emit(DraftFailed(attempt=attempt, reason=written.reason, detail=written.detail))
            return None
        if written and self.story.draft is None:
            self.emit(DraftReady(text=written, words=count_words(written), given=False))
        return self._add_attempt(stage, written, await self.examine(stage, written))

    def _add_attempt(self, stage: str, program: str, examined: Examined | None) -> Attempt | None:
        if not program:
            return None
        attempt = Attempt(stage, program, examined)
        self.attempts.append(attempt)
        return attempt

    async def _write(self, role: Role, key: str, model: str, prompt: str) -> str | MissingText:
        """A program from a complete reply, requested at most twice; empty where it has none."""
        request = self.context.request(role, try_key(key, 0), model, prompt)
        reply = await self.context.ask(request)
        program = self._read(reply)
        if not program and self.may_ask():
            reply = await self.context.ask(
                self.context.second_request(request, try_key(key, 1), reply, "program_again")
            )
            program = self._read(reply)
        return _unwritten(reply) if program is None else program

    def _read(self, reply: Reply) -> str | None:
        """The program in a reply, empty where it has none; None where the reply is not complete."""
        if reply.outcome is not Outcome.OK:
            return None
        return read_program(reply.text, self.assignment.entry_point) or ""

    def _spent_reason(self, attempt: Attempt) -> str:
        some = f"{attempt.passed} of {len(self.assignment.public)} public tests"
        passed = some if attempt.passed else "no public test"
        return f"after {self._calls_made()} it passes {passed}"

    def _calls_made(self) -> str:
        return f"{self.allowance.total.calls} of {self.allowance.amount} calls"


def no_program_result(which: Which, total: int) -> Examined:
    """The result of an answer without a program."""
    return Examined(which=which, verdict=CodeVerdict.NO_CODE, passed=0, run=0, total=total)


def _unwritten(reply: Reply) -> MissingText:
    match reply.outcome:
        case Outcome.TRUNCATED:
            cut = "was cut off" if reply.needs_room else "repeats itself without end"
            return MissingText("truncated", f"the answer {cut}")
        case Outcome.REFUSED:
            return MissingText("refused", reply.finish or "the model declined")
    return MissingText("empty", "no text came back")


DEFAULT = "search"
PROGRAM_STRATEGIES = {
    "search": "autoreason.programs.search:Search",
    "single": "autoreason.programs.program_strategies:SingleProgram",
    "best_of_n": "autoreason.programs.program_strategies:BestOfNPrograms",
    "critique_revise": "autoreason.programs.program_strategies:CritiqueRevisePrograms",
    "analyse_revise": "autoreason.programs.program_strategies:AnalyseRevisePrograms",
    "tournament": "autoreason.programs.program_strategies:ProgramTournament",
}
"""Each imported when it is first used."""
EVERY = "all"


def strategies_named(names: str) -> tuple[str, ...]:
    """Parse `all`, one name, or several names separated by commas."""
    if names == EVERY:
        return tuple(PROGRAM_STRATEGIES)
    return tuple(name.strip() for name in names.split(",") if name.strip())


def find_program_strategy(name: str) -> type[ProgramStrategy]:
    """The class of that name; an error where there is none, or where it writes texts."""
    built_in = ", ".join(PROGRAM_STRATEGIES)
    if not is_own(name) and name not in (*PROGRAM_STRATEGIES, *BUILT_IN):
        raise InvalidInput(
            f"no strategy {name!r} for programs; there are {built_in}, or name your own as file.py:Class"
        )
    kind = find_strategy(name, PROGRAM_STRATEGIES, ProgramStrategy.__name__)
    if not issubclass(kind, ProgramStrategy):
        raise InvalidInput(
            f"{name} writes texts, not programs; take {built_in}, or a subclass of autoreason.extend.ProgramStrategy"
        )
    return kind
