"""Strategies for programs: their base, how they are found by name, and all that are built in besides search."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

from autoreason.contract import count_words
from autoreason.errors import InvalidInput, StrategyError
from autoreason.events import (
    CandidateDropped,
    CandidateReady,
    CritiqueWritten,
    Delivered,
    DraftFailed,
    DraftReady,
    EndedBy,
    Incumbent,
    Slot,
    Status,
)
from autoreason.exchange import Message, Outcome, Query, Reply, Request, Role, Schema, object_schema
from autoreason.jobs.context import Allowance, JobContext, draw, repeat_request
from autoreason.jobs.job import Plan
from autoreason.keys import pass_key, sub_key, try_key
from autoreason.parsing.critiques import describe
from autoreason.plugins import is_own
from autoreason.programs import examination
from autoreason.programs.assignment import Assignment, CodeVerdict, Examined, Which, assignments_of
from autoreason.programs.events import ProgramExamined, examined_in
from autoreason.settings import MAX_PASSES
from autoreason.strategies import BUILT_IN, find_strategy
from autoreason.tournament.judges import PANEL_SETTINGS
from autoreason.tournament.strategy import Ending, Strategy, describe_survivals
from autoreason.tournament.voting import MAX_REQUESTS_PER_SEAT, PanelSize
from autoreason.tournament.writing import CRITIC_SETTINGS, MissingText, ask_critic, critic_key


@dataclass(frozen=True)
class ProgramContext(JobContext):
    """A job context whose task is a problem with its public tests."""

    @cached_property
    def opening(self) -> tuple[Message, ...]:
        assignment = assignments_of(self.task)[0]
        examples = examination.unstated_tests(assignment)
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
            name = context.settings.job.name
            raise InvalidInput(f"{name} writes programs; use it with `autoreason solve`")
        super().__init__(program_context(context, context.allowance))
        self.allowance: Allowance = context.allowance
        self.attempts: list[Attempt] = []
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
            examined = await examination.examine(
                self.context, key, program, "public", every=self.counts_tests
            )
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
        if any(examination.same_program(written, other.program) for other in self.attempts):
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
            "reviser", key, program=attempt.program, results=results, findings=findings, tried=tried
        )

    def merge_prompt(self, key: str, one: Attempt, other: Attempt) -> str:
        """The prompt to merge two programs, shown in random order."""
        pair = [one, other]
        draw(self.settings.seed, f"{key}/order").shuffle(pair)
        programs = [{"text": each.program, "results": self.results(each)} for each in pair]
        return self.context.prompt("synthesizer", key, programs=programs)

    def results(self, attempt: Attempt) -> str:
        """The test results of an attempt, as a model reads them."""
        return examination.feedback(attempt.examined, self.assignment) if attempt.examined else ""

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
            which = "the one public test" if tests == 1 else f"all {tests} public tests"
            passes = f"it passes {which}"
            status, ended_by = "converged", "tests"
            reason = f"{passes}; {reason}" if reason else passes
        program = Incumbent(
            name=attempt.stage.replace("/", " "), since=0, text=attempt.program, keeps_contract=True
        )
        reason = reason or self._spent_reason(attempt)
        return self.deliver(status, Ending(ended_by, reason), program)

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
        return examination.read_program(reply.text, self.assignment.entry_point) or ""

    def _spent_reason(self, attempt: Attempt) -> str:
        some = f"{attempt.passed} of {len(self.assignment.public)} public tests"
        passed = some if attempt.passed else "no public test"
        return f"after {self._calls_made()} it passes {passed}"

    def _calls_made(self) -> str:
        return f"{self.allowance.total.calls} of {self.allowance.amount} calls"


def no_program_result(which: Which, total: int) -> Examined:
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


class SingleProgram(ProgramStrategy):
    """Independent attempts until one passes every public test; that one is handed in.

    Where none does, the first is handed in: there is nothing to choose by.
    """

    summary = "independent attempts; the first that passes the public tests, else the first"
    counts_tests = False
    used_settings = ()

    async def run(self) -> Delivered:
        while self.may_ask():
            attempt = await self.author()
            if attempt and attempt.passes_all:
                return self.hand_in(attempt)
        return self.hand_in(self.attempts[0] if self.attempts else None)


class BestOfNPrograms(ProgramStrategy):
    """Independent attempts; the one that passes most public tests is handed in, the earliest among equals.

    It stops early only where one passes them all: no other could be chosen before it.
    """

    summary = "independent attempts; the one that passes most public tests"
    used_settings = ()

    async def run(self) -> Delivered:
        while self.may_ask():
            attempt = await self.author()
            if attempt and attempt.passes_all:
                break
        return self.hand_in(self.best())


_FIELDS = ("problem", "approach", "failure", "alternatives", "edge_cases")
ANALYSIS = Schema(
    name="analysis",
    definition=object_schema({name: {"type": "string"} for name in _FIELDS}),
    plain="Answer with one JSON object whose keys are "
    + ", ".join(f'"{name}"' for name in _FIELDS)
    + ", each with a text.",
)


class CritiqueRevisePrograms(ProgramStrategy):
    """A draft, then rounds in which one call finds what is wrong and fixes it.

    As published, every round continues from the latest program, and the last one is handed in, better or not.
    """

    summary = "a draft, then critique and revision in one call a round; the last is handed in"
    used_settings = ()

    async def run(self) -> Delivered:
        current = await self.first_program()
        number = 0
        while current and not current.passes_all and self.may_ask():
            number += 1
            self.begin_pass(number)
            revision = await self.revise(number, current)
            if revision:
                self.end_pass(number, "unjudged", "B")
            else:
                self.end_pass(number, "unopposed", "A", reason="the revision cannot stand")
            current = revision or current
        return self.hand_in(current)

    @classmethod
    def planned(cls, calls: int) -> Plan:
        return {"author": 1, "reviser": calls - 1}


class AnalyseRevisePrograms(ProgramStrategy):
    """A draft; where it fails, one structured analysis of why, then revisions that use it.

    Every revision continues from the best program so far, and the best is handed in, the earliest among equals.
    """

    summary = "a draft, an analysis of its failure, revisions that know it; the best is kept"
    used_settings = ("critic_model", "critic_temperature", "critic_effort")

    async def run(self) -> Delivered:
        best = await self.first_program()
        number = 0
        analysis = last_failure = ""
        while best and not best.passes_all and self.may_ask():
            number += 1
            self.begin_pass(number)
            if number == 1:
                analysis = await self._analyse(best)
            revision = None
            if self.may_ask():
                revision = await self.revise(number, best, analysis, last_failure)
            if revision and revision.passed > best.passed:
                best, last_failure = revision, ""
                self.end_pass(number, "unjudged", "B")
            else:
                reason = "the revision cannot stand"
                if revision:
                    last_failure = f"{revision.program}\n\n{self.results(revision)}"
                    reason = "the revision passes no more of the public tests"
                    detail = f"it passes {revision.passed} of the public tests, and A {best.passed}"
                    weaker = CandidateDropped(
                        number=number, slot="B", reason="tests", detail=detail
                    )
                    self.emit(weaker)
                self.end_pass(number, "unopposed", "A", reason=reason)
        return self.hand_in(best)

    @classmethod
    def planned(cls, calls: int) -> Plan:
        return {"author": 1, "critic": min(1, calls - 1), "reviser": max(0, calls - 2)}

    async def _analyse(self, attempt: Attempt) -> str:
        """Why it fails, as text for a reviser; empty where the reply cannot be read."""
        results = self.results(attempt)
        key = pass_key(1, "critic", 0)
        prompt = self.context.prompt("analyst", key, program=attempt.program, results=results)
        request = self.context.request(
            "critic", try_key(key, 0), self.settings.models.critic, prompt, schema=ANALYSIS
        )
        reply = await self.context.ask(request)
        # A call for the revision itself must be left.
        if reply.outcome is not Outcome.OK and self.may_ask(2):
            reply = await self.context.ask(repeat_request(request, try_key(key, 1), reply))
        analysis = read_analysis(reply)
        self.emit(CritiqueWritten(number=1, critic=0, prose=analysis, readable=bool(analysis)))
        return analysis


def read_analysis(reply: Reply) -> str:
    """The analysis with headings; the reply as it is where it has another form."""
    if reply.outcome is not Outcome.OK:
        return ""
    try:
        analysis: Any = json.loads(reply.text)
    except (ValueError, RecursionError):
        return reply.text.strip()
    if not isinstance(analysis, dict):
        return reply.text.strip()
    sections = [(name, str(analysis.get(name) or "").strip()) for name in _FIELDS]
    return "\n\n".join(
        f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in sections if text
    )


_MIN_JUDGES = 2
_MIN_PASS_CALLS = 2
"""Calls of the shortest pass: a critic and a revision."""


class ProgramTournament(ProgramStrategy):
    """In every pass A may win; a program that passes every public test is not rewritten."""

    summary = "A, a revision B and a synthesis AB; tests bar the weaker, judges choose among equals"
    used_settings = (
        *(*CRITIC_SETTINGS, *PROGRAM_JUDGE_SETTINGS),
        *("synthesizer_model", "k", "tie_order"),
    )

    async def run(self) -> Delivered:
        """Run passes until A passes every test, survives k passes in a row, or too few calls are left."""
        incumbent = await self.first_program()
        number = 0
        while incumbent and not incumbent.passes_all and self.may_ask(_MIN_PASS_CALLS):
            number += 1
            incumbent = await self._run_pass(number, incumbent)
            if self.story.streak >= self.settings.k:
                break
        if self.story.streak >= self.settings.k:
            return self.hand_in(incumbent, "converged", describe_survivals(self.story.streak))
        return self.hand_in(incumbent)

    @classmethod
    def planned(cls, calls: int) -> Plan:
        """A draft, then passes of a critic, two challengers and a panel with the remaining calls."""
        passes, left = divmod(calls - 1, 6)
        plan = {"author": 1, "critic": passes, "reviser": passes, "synthesizer": passes}
        plan["judge"] = 3 * passes
        for role in ("critic", "reviser", "synthesizer")[: left if left >= _MIN_PASS_CALLS else 0]:
            plan[role] += 1
        plan["judge"] += left - 3 if left - 3 >= _MIN_JUDGES else 0
        return plan

    async def _run_pass(self, number: int, incumbent: Attempt) -> Attempt:
        self.begin_pass(number)
        findings = await self._criticise(number, incumbent)
        candidates: dict[Slot, Attempt] = {"A": incumbent}
        if revision := await self.revise(number, incumbent, findings):
            candidates["B"] = revision
        if revision and not revision.passes_all and self.may_ask():
            prompt = self.merge_prompt(pass_key(number, "synthesizer"), incumbent, revision)
            model = self.settings.models.synthesizer
            if synthesis := await self.challenge(number, "AB", "synthesizer", model, prompt):
                candidates["AB"] = synthesis
        await self._decide(number, self._gate(number, candidates))
        decided = self.story.passes[-1].decided
        return candidates[decided.winner if decided and decided.winner else "A"]

    async def _criticise(self, number: int, incumbent: Attempt) -> str:
        """The problems a critic finds; empty where the answer cannot be read: the test results suffice."""
        program, results = incumbent.program, self.results(incumbent)
        key = critic_key(number, 0)
        prompt = self.context.prompt("critic", key, program=program, results=results)
        critique = await ask_critic(
            self.context,
            number,
            0,
            program,
            prompt,
            # A call for the revision itself must be left.
            may_repeat=lambda: self.may_ask(_MIN_PASS_CALLS),
        )
        self.emit(critique)
        return describe(critique.problems)

    def _gate(self, number: int, candidates: Mapping[Slot, Attempt]) -> dict[Slot, Attempt]:
        """The candidates that pass the most public tests, in tie order; the others are dropped."""
        best = max(attempt.passed for attempt in candidates.values())
        order = sorted(candidates, key=self.settings.tie_order.index)
        for slot in order:
            passed = candidates[slot].passed
            if passed < best:
                detail = f"it passes {passed} of the public tests, another {best}"
                self.emit(CandidateDropped(number=number, slot=slot, reason="tests", detail=detail))
        return {slot: candidates[slot] for slot in order if candidates[slot].passed == best}

    async def _decide(self, number: int, ballot: Mapping[Slot, Attempt]) -> None:
        """A single candidate wins; among equals judges decide, or the tie order where too few calls are left."""
        first, *others = ballot
        if not others:
            tests = f"{ballot[first].passed} of {len(self.assignment.public)} public tests"
            reason = f"it alone passes {tests}"
            if first == "A" and not self.story.passes[-1].candidates:
                reason = "no challenger was left"
            if ballot[first].passes_all:
                reason = "it passes every public test"
            return self.decide(number, first, reason=reason)
        left = self.allowance.left
        calls = self.settings.panel_judges * MAX_REQUESTS_PER_SEAT if left is None else int(left)
        if calls < _MIN_JUDGES:
            equals = f"{' and '.join(ballot)} pass equally many public tests"
            reason = f"{equals}, and too few calls are left for judges"
            return self.decide(number, first, reason=reason)
        # Judges see no comments: those might reveal where a program comes from.
        texts = {slot: examination.without_comments(each.program) for slot, each in ballot.items()}
        judges = min(self.settings.panel_judges, calls)
        ties, early = self.settings.ties_survive, self.settings.early_stop
        size = PanelSize(judges, early_stop=early, calls=calls, ties_survive=ties)
        # Where the tests exclude A, another candidate must take its place.
        return await self.vote(number, texts, size, fallback=None if first == "A" else first)
