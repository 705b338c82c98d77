"""Running a program on tests or inputs as a query: recorded, free of charge, never run twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from autoreason.errors import Interruption, InvalidInput
from autoreason.exchange import Query
from autoreason.jobs.context import JobContext
from autoreason.programs.assignment import (
    CodeVerdict,
    Examination,
    Examined,
    Input,
    Observed,
    Probe,
    Which,
)
from autoreason.programs.task import assignments_of


class ExaminationQuery(Query[Examined], frozen=True, kw_only=True):
    """The result of a program on tests."""

    kind = "examination"
    examination: Examination


class ProbeQuery(Query[Observed], frozen=True, kw_only=True):
    """What a program does on inputs without known answers."""

    kind = "observation"
    probe: Probe


class Examiner(Protocol):
    """Runs programs and knows the tests."""

    async def examine(self, examination: Examination) -> Examined:
        """Run one program on the public or the private tests of a problem."""
        ...

    async def observe(self, probe: Probe) -> Observed:
        """Run one program on inputs without known answers."""
        ...


class NotExamined(Interruption):
    """The tests could not be run, which says nothing about the program."""

    status = "provider_failed"


async def examine(
    context: JobContext, key: str, program: str, which: Which, *, every: bool = False
) -> Examined:
    """The result of a program on the tests; raises `NotExamined` where there is none."""
    examination = Examination(
        problem=assignments_of(context.task)[0].id, program=program, which=which, every=every
    )
    examined = await context.ask(ExaminationQuery(key=key, examination=examination))
    if examined.verdict is CodeVerdict.SANDBOX_ERROR:
        trial = examined.failed
        reason = trial.detail if trial and trial.detail else "the reason is not known"
        raise NotExamined(f"the {which} tests could not be run: {reason}")
    return examined


async def observe(context: JobContext, key: str, program: str, inputs: Sequence[Input]) -> Observed:
    """What a program does on inputs; raises `NotExamined` where it could not be run."""
    problem = assignments_of(context.task)[0].id
    probe = Probe(problem=problem, program=program, inputs=tuple(inputs))
    observed = await context.ask(ProbeQuery(key=key, probe=probe))
    if any(each.failure == CodeVerdict.SANDBOX_ERROR for each in observed.observations):
        raise NotExamined("the program could not be run on further inputs: the sandbox failed")
    return observed


class ExaminerService:
    """An examiner that answers the queries of a run."""

    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner

    async def answer(self, query: Query[Any]) -> Any:
        """The result of a program on tests or inputs."""
        match query:
            case ExaminationQuery():
                return await self._examiner.examine(query.examination)
            case ProbeQuery():
                return await self._examiner.observe(query.probe)
        raise InvalidInput(f"an examiner has no answer to a {type(query).__name__}; ask a model")
