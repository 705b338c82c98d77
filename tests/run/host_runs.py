"""Runs that are answered from outside: by one agent, by several, or within the process."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any
from unittest.mock import patch

from examples.host_agent import reply_to
from tests.run.runs import TASK

from autoreason.cli.__main__ import run_cli
from autoreason.errors import InvalidInput
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.models.pool import ModelPool
from autoreason.prompts import built_in
from autoreason.run import driver
from autoreason.run.host import answer, prompt_of, take
from autoreason.run.result import Result
from autoreason.settings import Models, Settings, make_settings

ADDRESS = "host/agent"


class Within:
    """The agent as a model of this process."""

    address = ADDRESS

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:  # noqa: ARG002
        """What the agent answers to the prompt of this request."""
        self.asked.append(request.key)
        return Reply(text=reply_to(prompt_of(request)), model=ADDRESS)

    async def close(self) -> None:
        """Nothing to close."""


def terms(seed: int = 7, **changes: Any) -> Settings:
    """A short run: passes, a review and a confirmation."""
    short = {"passes": 2, "review_every": 0, "reviewers": 3, "confirmation": 3}
    return make_settings(Models.everywhere(ADDRESS), seed, **short | changes)


async def begin(journal: Journal, settings: Settings | None = None, **hooks: Any) -> Result:
    """Begin a run whose questions wait."""
    chosen = {"pool": ModelPool(), **hooks}
    return await driver.start(TASK, settings or terms(), journal, chosen, prompts=built_in())  # type: ignore[arg-type]


async def resume(journal: Journal, run: str) -> Result:
    """Go on with it."""
    return await driver.resume(run, journal, {"pool": ModelPool()})


def answer_all(journal: Journal, run: str, most: int | None = None) -> int:
    """Answer what is open, as an agent does; how many answers were taken."""
    answered = 0
    for question in journal.questions(run)[:most]:
        # Another agent may be at it.
        with suppress(InvalidInput):
            answer(journal, question.token, reply_to(take(journal, question.token).text))
            answered += 1
    return answered


async def play(journal: Journal, settings: Settings | None = None) -> Result:
    """A whole run, one wave of questions after the other."""
    result = await begin(journal, settings)
    while result.status == "waiting":
        assert answer_all(journal, result.run)
        result = await resume(journal, result.run)
    return result


async def play_within(journal: Journal, settings: Settings | None = None) -> Result:
    """The same run, answered in one process."""
    pool = ModelPool()
    pool.add({ADDRESS: Within()})
    return await begin(journal, settings, pool=pool)


def play_on(place: str, seed: int) -> None:
    """Begin the one run of a journal, or go on with it, to its end: for a process that may be killed."""
    with Journal.open(place, create=True) as journal:
        rows = journal.runs()
        if not (rows and journal.events(rows[0].id)):
            asyncio.run(begin(journal, terms(seed)))
        while not (row := journal.runs()[0]).finished:
            answer_all(journal, row.id)
            asyncio.run(resume(journal, row.id))


def play_by_commands(place: str, seed: int) -> None:
    """The same through `host start`, `take`, `answer` and `next`, each in this process."""
    short = f"--rounds 1 --set reviewers=3 --set confirmation=3 --call-limit 40 --seed {seed}"
    with Journal.open(place, create=True) as journal:
        begun = [row.id for row in journal.runs() if journal.events(row.id)]
    found = command(place, "next", *begun) if begun else None
    found = found or command(place, "start", TASK.brief, *short.split())
    while not found["done"]:
        for token in found["open"]:
            asked = command(place, "take", token)
            # It may have been answered before the kill.
            if asked:
                command(place, "answer", token, given=reply_to(asked["text"]))
        found = command(place, "next", found["run"])


def command(place: str, *arguments: str, given: str = "") -> Any:
    """What a command of `host` says; None where it refuses."""
    said, answer = io.StringIO(), io.TextIOWrapper(io.BytesIO(given.encode()))
    with redirect_stdout(said), redirect_stderr(io.StringIO()), patch.object(sys, "stdin", answer):
        status = run_cli(["host", *arguments, "--json", "--journal", place])
    return None if status else json.loads(said.getvalue())
