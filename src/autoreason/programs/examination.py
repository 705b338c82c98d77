"""Running a program on tests as a request like any other: recorded, free of charge, never run twice."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from autoreason.errors import Interruption
from autoreason.exchange import Message, Outcome, Reply, Request
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

EXAMINER: Final = "examiner"
"""In place of the model that other requests name."""
OBSERVER: Final = "observer"
"""The same where a program is only observed, because there is no test to run."""


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
    request = Request(
        role=EXAMINER,
        key=key,
        model=EXAMINER,
        messages=(Message("user", msgspec.json.encode(examination).decode()),),
        max_tokens=0,
    )
    examined = msgspec.json.decode((await context.ask(request)).text, type=Examined)
    if examined.verdict is CodeVerdict.SANDBOX_ERROR:
        trial = examined.failed
        reason = trial.detail if trial and trial.detail else "the reason is not known"
        raise NotExamined(f"the {which} tests could not be run: {reason}")
    return examined


async def observe(context: JobContext, key: str, program: str, inputs: Sequence[Input]) -> Observed:
    """What a program does on inputs; raises `NotExamined` where it could not be run."""
    problem = assignments_of(context.task)[0].id
    probe = Probe(problem=problem, program=program, inputs=())
    request = Request(
        role=EXAMINER,
        key=key,
        model=OBSERVER,
        # The inputs in a separate message: a journal stores a text once, and they are the same for every program.
        messages=tuple(
            Message("user", msgspec.json.encode(part).decode()) for part in (inputs, probe)
        ),
        max_tokens=0,
    )
    observed = msgspec.json.decode((await context.ask(request)).text, type=Observed)
    if any(each.failure == CodeVerdict.SANDBOX_ERROR for each in observed.observations):
        raise NotExamined("the program could not be run on further inputs: the sandbox failed")
    return observed


async def answer(examiner: Examiner, request: Request) -> Reply:
    """The examiner's answer to such a request."""
    started = monotonic()
    result: Examined | Observed
    if request.model == OBSERVER:
        inputs, probe = (message.text for message in request.messages)
        result = await examiner.observe(
            replace(
                msgspec.json.decode(probe, type=Probe),
                inputs=msgspec.json.decode(inputs, type=tuple[Input, ...]),
            )
        )
    else:
        examination = msgspec.json.decode(request.messages[0].text, type=Examination)
        result = await examiner.examine(examination)
    return Reply(
        outcome=Outcome.OK,
        text=msgspec.json.encode(result).decode(),
        model=result.level or request.model,
        seconds=monotonic() - started,
    )
