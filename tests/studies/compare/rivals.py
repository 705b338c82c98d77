"""Comparisons with scripted answers of a known price."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.run.leaving import Breaking
from tests.run.runs import TASK, settings, start_run
from tests.tournament.stage import critique, document, vote

from autoreason.exchange import Outcome, Reply, Request, Spent, Usage
from autoreason.journal import Journal
from autoreason.run.result import Result
from autoreason.settings import Settings
from autoreason.studies.compare.comparison_report import ComparisonReport, comparison_report
from autoreason.task import Task

A_CALL = {"calls": Decimal(1), "tokens": Decimal(100), "cost": Decimal("0.01")}
"""What every answer takes, by unit."""


def priced(answer: str | Callable[[Request], str]) -> Callable[[Request], Reply]:
    """An answer that takes what every answer takes."""

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
    """A text that says where it was written."""
    return document(f"Made at {request.key.removesuffix('/try/0').replace('/', ' ')}.")


SCRIPT: dict[str, Any] = {
    "author": priced(numbered),
    "critic": priced(critique("It lacks an example.")),
    "reviser": priced(numbered),
    "synthesizer": priced(numbered),
    "judge": priced(vote("reviser", "synthesizer")),
}


def comparing(*strategies: str, changes: dict[str, Any] | None = None, **own: Any) -> Settings:
    """Settings of a small comparison."""
    options = {"strategies": list(strategies), "repeats": 2, "judges": 3, **own}
    small = {"passes": 2, "judges": 2, "playoff": 2, **(changes or {})}
    return settings(strategy="compare", strategy_options=options, **small)


async def compared(
    journal: Journal,
    chosen: Settings,
    script: dict[str, Any] | None = None,
    task: Task = TASK,
) -> tuple[Result, Breaking]:
    """A comparison from start to end, and the model it asked."""
    model = Breaking({**SCRIPT, **(script or {})})
    return await start_run(journal, model, task=task, settings=chosen), model


def spent_on(journal: Journal, result: Result) -> dict[str, Spent]:
    """What each part took, counted from the record."""
    parts = result.story.parts
    spent = dict.fromkeys(parts, Spent())
    for call in journal.calls(result.run):
        part = max((p for p in parts if call.request.key.startswith(f"{p}/")), key=len)
        spent[part] = spent[part].plus(call.reply)
    return spent


def reported(journal: Journal, result: Result) -> ComparisonReport:
    """Its report."""
    return comparison_report(result.story, spent_on(journal, result))


def plug_in(folder: Path, name: str, body: str) -> str:
    """A strategy of one's own."""
    file = folder / f"{name}.py"
    file.write_text(f"from autoreason.extend import Strategy\n\nclass Mine(Strategy):\n{body}")
    return f"{file}:Mine"
