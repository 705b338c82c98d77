"""Running a program on tests as a request like any other: recorded, free of charge, and never run twice."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from autoreason.assignment import (
    CodeVerdict,
    Examination,
    Examined,
    Input,
    Observed,
    Probe,
    Which,
)
from autoreason.errors import Interruption
from autoreason.exchange import Message, Outcome, Reply, Request
from autoreason.jobs.context import JobContext

EXAMINER: Final = "examiner"
"""Stands where other requests name a model."""
OBSERVER: Final = "observer"
"""The same where a program is only watched, because there is no test to hold."""


class Examiner(Protocol):
    """Whoever runs programs and knows the tests."""

    async def examine(self, examination: Examination) -> Examined:
        """Run one program on the public or the private tests of a problem."""
        ...

    async def observe(self, probe: Probe) -> Observed:
        """Run one program on inputs whose answers nobody knows."""
        ...


class NotExamined(Interruption):
    """The tests could not be held, which says nothing of the program."""

    status = "provider_failed"


async def examine(
    context: JobContext, key: str, program: str, which: Which, *, every: bool = False
) -> Examined:
    """What comes of a program under the tests; raises `NotExamined` where that is no result."""
    examination = Examination(
        problem=context.task.assignments[0].id, program=program, which=which, every=every
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
        why = trial.detail if trial and trial.detail else "nobody can say why"
        raise NotExamined(f"the {which} tests could not be held: {why}")
    return examined


async def observe(context: JobContext, key: str, program: str, inputs: Sequence[Input]) -> Observed:
    """What a program does on inputs; raises `NotExamined` where that cannot be seen."""
    problem = context.task.assignments[0].id
    probe = Probe(problem=problem, program=program, inputs=())
    request = Request(
        role=EXAMINER,
        key=key,
        model=OBSERVER,
        # The inputs by themselves: a journal keeps a long text once, and these are the same for every program.
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
    answered: Examined | Observed
    if request.model == OBSERVER:
        inputs, probe = (message.text for message in request.messages)
        answered = await examiner.observe(
            replace(
                msgspec.json.decode(probe, type=Probe),
                inputs=msgspec.json.decode(inputs, type=tuple[Input, ...]),
            )
        )
    else:
        examination = msgspec.json.decode(request.messages[0].text, type=Examination)
        answered = await examiner.examine(examination)
    return Reply(
        outcome=Outcome.OK,
        text=msgspec.json.encode(answered).decode(),
        model=answered.level or request.model,
        seconds=monotonic() - started,
    )
