"""Programs on a stage of their own: scripted answers in, a made-up examiner, the whole story out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.tournament.stage import E, critique, shown_texts, vote

from autoreason.errors import Interruption
from autoreason.events import AnyEvent, Delivered
from autoreason.exchange import Outcome, Query, Reply, Request
from autoreason.jobs.context import Allowance, JobContext
from autoreason.programs.assignment import (
    Assignment,
    Assignments,
    CodeVerdict,
    Examination,
    Examined,
    Example,
    Observation,
    Observed,
    Probe,
    Trial,
)
from autoreason.programs.examination import ExaminationQuery, ExaminerService, ProbeQuery
from autoreason.programs.policy import Policy, PolicyQuery
from autoreason.programs.program_strategies import find_program_strategy
from autoreason.prompts import built_in
from autoreason.settings import Models, make_settings
from autoreason.task import Task

__all__ = ["critique", "shown_texts", "vote"]

Answer = str | Reply | Callable[[Request], str | Reply]

PUBLIC = 3
PROBLEM = Assignment(
    id="sum",
    statement="Read two numbers and print their sum.",
    difficulty="easy",
    seconds=2.0,
    public=tuple(Example(input=f"{n} 1\n", output=f"{n + 1}\n") for n in range(PUBLIC)),
    private=4,
)
_PASSES = re.compile(r"^passes = (\d+)", re.MULTILINE)
_BEHAVES = re.compile(r"^behaves = (\w+)", re.MULTILINE)
_HIDDEN = re.compile(r"^hidden = (\w+)", re.MULTILINE)


def program(passes: int, tag: str = "", hidden: str = "accepted") -> str:
    """A program of which the made-up examiner says that it passes so many public tests."""
    return f'passes = {passes}\nhidden = {hidden}\nprint(input(), "{tag}")'


def fenced(text: str) -> str:
    return f"This should do.\n\n```python\n{text}\n```\n"


class MadeUpExaminer:
    """Runs nothing: a program says itself what comes of it."""

    def __init__(self) -> None:
        self.asked: list[Examination] = []

    async def examine(self, examination: Examination) -> Examined:
        self.asked.append(examination)
        if examination.which == "private":
            match = _HIDDEN.search(examination.program)
            return _verdict(examination, CodeVerdict(match[1] if match else "wrong_answer"), 4)
        found = _PASSES.search(examination.program)
        passes = int(found[1]) if found else 0
        if passes > 90:
            return _verdict(examination, CodeVerdict.SANDBOX_ERROR, PUBLIC)
        return _counted(examination, passes)

    async def observe(self, probe: Probe) -> Observed:
        match = _BEHAVES.search(probe.program)
        seen = Observation(value=match[1] if match else probe.program)
        return Observed(observations=(seen,) * len(probe.inputs), level="none")


def _verdict(examination: Examination, verdict: CodeVerdict, total: int) -> Examined:
    right = verdict is CodeVerdict.ACCEPTED
    trial = Trial(number=1, verdict=verdict, detail="" if right else "so it is")
    return Examined(
        which=examination.which,
        verdict=verdict,
        passed=total if right else 0,
        run=total if right else 1,
        total=total,
        trials=(trial,),
        level="none",
    )


def _counted(examination: Examination, passes: int) -> Examined:
    tests_run = PUBLIC if examination.every else min(PUBLIC, passes + 1)
    trials = tuple(
        Trial(
            number=n,
            verdict=CodeVerdict.ACCEPTED if n <= passes else CodeVerdict.WRONG_ANSWER,
            input=f"{n - 1} 1",
            expected=str(n),
            got="0",
        )
        for n in range(1, tests_run + 1)
    )
    right = passes >= PUBLIC
    return Examined(
        which="public",
        verdict=CodeVerdict.ACCEPTED if right else CodeVerdict.WRONG_ANSWER,
        passed=min(passes, PUBLIC),
        run=tests_run,
        total=PUBLIC,
        trials=trials,
        level="none",
    )


@dataclass
class Worked:
    allowance: Allowance
    events: list[AnyEvent] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    queries: list[Query[Any]] = field(default_factory=list)
    examiner: MadeUpExaminer = field(default_factory=MadeUpExaminer)
    ending: Delivered | None = None
    interruption: Interruption | None = None

    @property
    def delivered(self) -> Delivered:
        assert self.ending
        return self.ending

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def roles(self) -> list[str]:
        return [request.role for request in self.requests]


async def work(
    strategy: str,
    script: Mapping[str, Answer],
    *,
    calls: int = 6,
    problem: Assignment = PROBLEM,
    seed: int = 7,
    **changes: Any,
) -> Worked:
    """Let a strategy work on a problem with scripted answers, by key or else by role."""
    allowance = Allowance("calls", Decimal(calls))
    worked = Worked(allowance)
    policy = Policy()

    async def ask(request: Request | Query[Any]) -> Any:
        if isinstance(request, Query):
            worked.queries.append(request)
            if isinstance(request, ExaminationQuery | ProbeQuery):
                return await ExaminerService(worked.examiner).answer(request)
            assert isinstance(request, PolicyQuery)
            policy.learn(request.turn)
            return script.get(request.key, policy.choose(request.turn))
        worked.requests.append(request)
        scripted = script.get(request.key, script.get(request.role, ""))
        scripted = scripted(request) if callable(scripted) else scripted
        if isinstance(scripted, str):
            scripted = Reply(outcome=Outcome.OK, text=scripted, model=request.model)
        allowance.charge(scripted)
        return scripted

    settings = make_settings(
        Models.everywhere("scripted/x"), seed, strategy=strategy, **{"k": 2, **changes}
    )
    task = Task(brief=problem.statement, work=Assignments((problem,)))
    prompts = built_in(writes="programs")
    context = JobContext(task, settings, prompts, ask, worked.events.append, allowance)
    try:
        worked.ending = await find_program_strategy(strategy)(context).run()
    except Interruption as interruption:
        worked.interruption = interruption
    return worked
