"""Running a program on tests as a request like any other: recorded, free of charge, and never run twice."""

from __future__ import annotations

from time import monotonic
from typing import Final, Protocol

import msgspec

from autoreason.assignment import CodeVerdict, Examination, Examined, Which
from autoreason.errors import Interruption
from autoreason.exchange import Message, Outcome, Reply, Request
from autoreason.tournament.venue import Venue

EXAMINER: Final = "examiner"
"""Stands where other requests name a model."""


class Examiner(Protocol):
    """Whoever runs programs and knows the tests."""

    async def examine(self, examination: Examination) -> Examined:
        """Run one program on the public or the private tests of a problem."""
        ...


class NotExamined(Interruption):
    """The tests could not be held, which says nothing of the program."""

    status = "provider_failed"


async def examine(
    venue: Venue, key: str, program: str, which: Which, *, every: bool = False
) -> Examined:
    """What comes of a program under the tests; raises `NotExamined` where that is no result."""
    examination = Examination(
        problem=venue.task.assignments[0].id, program=program, which=which, every=every
    )
    request = Request(
        role=EXAMINER,
        key=key,
        model=EXAMINER,
        messages=(Message("user", msgspec.json.encode(examination).decode()),),
        max_tokens=0,
    )
    examined = msgspec.json.decode((await venue.ask(request)).text, type=Examined)
    if examined.verdict is CodeVerdict.SANDBOX_ERROR:
        trial = examined.failed
        why = trial.detail if trial and trial.detail else "nobody can say why"
        raise NotExamined(f"the {which} tests could not be held: {why}")
    return examined


async def answer(examiner: Examiner, request: Request) -> Reply:
    """The examiner's answer to such a request."""
    started = monotonic()
    examination = msgspec.json.decode(request.messages[0].text, type=Examination)
    examined = await examiner.examine(examination)
    return Reply(
        outcome=Outcome.OK,
        text=msgspec.json.encode(examined).decode(),
        model=examined.level or request.model,
        seconds=monotonic() - started,
    )
