"""Comparisons of strategies with scripted answers of a known price."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from zlib import crc32

from tests.run.leaving import Breaking
from tests.run.runs import TASK, lend
from tests.tournament.stage import critique, document, vote

from autoreason.exchange import Outcome, Reply, Request, Spent, Usage
from autoreason.journal import Journal
from autoreason.run.lab import PreparedLab
from autoreason.run.recorded import resume
from autoreason.run.result import StudyResult
from autoreason.run.studies import compare
from autoreason.story import Story
from autoreason.studies.lab_report import LabReport
from autoreason.studies.lab_suite import CellFinished
from autoreason.task import Task

A_CALL = {"calls": Decimal(1), "tokens": Decimal(100), "cost": Decimal("0.01")}
"""What every answer takes, by unit."""
Compared = StudyResult[LabReport]


def priced(answer: str | Callable[[Request], str]) -> Callable[[Request], Reply]:
    def reply(request: Request) -> Reply:
        return Reply(
            outcome=Outcome.OK,
            text=answer(request) if callable(answer) else answer,
            model=request.model,
            usage=Usage(input=80, output=20),
            cost=A_CALL["cost"],
        )

    return reply


def numbered(request: Request) -> str:
    """A text that no other question is answered by."""
    asked = "".join(message.text for message in request.messages) + str(request.seed)
    return document(f"Made at {request.key.replace('/', ' ')}, {crc32(asked.encode())}.")


SCRIPT: dict[str, Any] = {
    "author": priced(numbered),
    "critic": priced(critique("It lacks an example.")),
    "reviser": priced(numbered),
    "synthesizer": priced(numbered),
    "judge": priced(vote("reviser", "synthesizer")),
}


def comparing(*strategies: str, task: Task = TASK, **options: Any) -> PreparedLab:
    small = {"repeats": 2, "panel_judges": 3, "passes": 2, "judges": 2, "reviewers": 2, "seed": 7}
    return compare.prepare(task, "scripted/scripted", strategies=strategies, **{**small, **options})


async def compared(
    journal: Journal,
    chosen: PreparedLab,
    script: dict[str, Any] | None = None,
    model: Breaking | None = None,
) -> tuple[Compared, Breaking]:
    model = model or Breaking({**SCRIPT, **(script or {})})
    result = await chosen.run_async(journal=journal, pool=lend(model))
    return result, model


async def go_on_comparing(journal: Journal, run: str, model: Breaking, **options: Any) -> Compared:
    result = await resume.aio(run, journal=journal, pool=lend(model), **options)
    return cast(Compared, result)


def cells_of(result: Compared) -> dict[str, CellFinished]:
    """Cells of arms and panels by their name and their try: `improve 2`."""
    found = ((each.cell, each) for each in result.story.of(CellFinished))
    return {f"{cell.title} {cell.repeat}": each for cell, each in found}


def spent_on(result: Compared) -> dict[str, Spent]:
    return {name: each.result.spent for name, each in cells_of(result).items()}


def story_of(journal: Journal, result: Compared, name: str) -> Story:
    return journal.story(cells_of(result)[name].result.run)


def plug_in(folder: Path, name: str, body: str) -> str:
    file = folder / f"{name}.py"
    file.write_text(f"from autoreason.extend import Strategy\n\nclass Mine(Strategy):\n{body}")
    return f"{file}:Mine"


OWN = """
    prompts = ()

    async def run(self):
        await self.write_draft()
        from autoreason.tournament.challengers import write_draft
        number = 0
        while self.may_begin(number + 1):
            number += 1
            self.begin_pass(number)
            self.end_unjudged(number, await write_draft(self.context, f"pass/{number}/reviser"))
        return self.deliver("capped", "mine is done")
"""
