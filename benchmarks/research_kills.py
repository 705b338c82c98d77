"""Research runs killed at random moments take no evaluation twice, and end as an unbroken run does."""

from __future__ import annotations

import asyncio
import os
import random
import re
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from autoreason.artifacts.artifact import EvaluationOutcome, EvaluationQuery, Measurement
from autoreason.artifacts.research_history import NoiseMeasured, TrialDecided
from autoreason.artifacts.research_task import EvaluationSource, ResearchTask
from autoreason.artifacts.saved_evaluation import save_evaluation
from autoreason.events import AnyEvent, JobFinished
from autoreason.exchange import Query, Request, Service
from autoreason.job_types import Research
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.models.pool import ModelPool
from autoreason.run.driver import resume, start
from autoreason.run.recorded import replay
from autoreason.run.services import LazyService
from autoreason.settings import Budget, Models, make_settings
from autoreason.task import Task
from benchmarks.kills import (
    ASKED_TWICE,
    LATENCY,
    CarefulModel,
    KillResult,
    refuse_recorded,
    run_in_child,
    run_with_kills,
    story,
)

_FILES = {"knob.txt": "knob = 0\n"}
_EVALUATOR = b"""
import random

def score(artifact, seed):
    return float(artifact.text("knob.txt").split()[-1]) + random.Random(seed).gauss(0, 0.5)
"""
_KNOB = re.compile(r"knob = (-?[\d.]+)")
_EVALUATIONS = 40
_PROCESS_SECONDS = 1.5
"""How long a run with an evaluator's process lives at most before its first kill."""


class CarefulService:
    """Answers evaluations, in this process or by another service, and refuses those that are recorded."""

    def __init__(self, recorded: dict[str, Any], service: Service | None) -> None:
        self._recorded, self._service = recorded, service

    async def answer(self, query: Query[Any]) -> Any:
        """Evaluate."""
        refuse_recorded(query.key, self._recorded)
        if self._service:
            return await self._service.answer(query)
        assert isinstance(query, EvaluationQuery)
        await asyncio.sleep(random.random() * LATENCY)
        noise = random.Random(query.evaluation.seed).gauss(0, 0.5)
        value = float(query.evaluation.files["knob.txt"].split()[-1]) + noise
        return Measurement(outcome=EvaluationOutcome.OK, value=value)


def kill_research(
    kills: int,
    seed: int = 1,
    *,
    parallel: int = 1,
    process: bool = False,
    calls: int | None = None,
) -> KillResult:
    """Kill research runs so many times in all; `process` measures in an evaluator's process, `calls` is a limit."""
    started = time.monotonic()
    chance = random.Random(seed)
    kills_so_far = runs = different = asked_twice = 0
    with tempfile.TemporaryDirectory(prefix="autoreason-kills-") as folder:
        while kills_so_far < kills:
            runs += 1
            work = partial(_run, Path(folder), seed + runs, parallel, process, calls)
            path = Path(folder, f"{runs}.db")
            longest = _PROCESS_SECONDS if process else 0.12
            code, killed = run_with_kills(partial(work, path), chance, longest)
            kills_so_far += killed
            asked_twice += code == ASKED_TWICE
            unbroken = Path(folder, f"{runs}-unbroken.db")
            same = code == 0 and _is_sound(path)
            if same and parallel == 1:
                same = run_in_child(partial(work, unbroken)) == 0 and (
                    _decisions(path) == _decisions(unbroken)
                )
            different += not same
    return KillResult(kills_so_far, runs, different, asked_twice, time.monotonic() - started)


def _run(
    folder: Path, seed: int, parallel: int, process: bool, calls: int | None, path: Path
) -> None:
    """Start the one run of a journal, or resume it."""
    os.environ["XDG_DATA_HOME"] = str(folder)
    source = EvaluationSource(evaluate="evaluate.py:score", files={"evaluate.py": _EVALUATOR})
    work = ResearchTask(
        files=_FILES,
        artifact=("knob.txt",),
        evaluate=source.evaluate,
        evaluation=save_evaluation(source) if process else "",
    )
    settings = make_settings(
        Models.everywhere("scripted/scripted"),
        seed,
        job=Research(evaluations=_EVALUATIONS, parallel=parallel, patience=8),
        budget=Budget(calls=calls),
    )
    with Journal.open(str(path), create=True) as journal:
        rows = journal.runs()
        run = rows[0].id if rows and journal.events(rows[0].id) else ""
        if run and rows[0].status != "running":
            return
        pool = ModelPool()
        replies = journal.replies(run) if run else {}
        pool.add({"scripted/scripted": CarefulModel(replies, ScriptedModel(_propose))})
        lazy = LazyService(work, settings, run or "kills")
        answers = journal.answers(run) if run else {}
        service = CarefulService(answers, lazy if process else None)

        async def drive() -> None:
            try:
                if run:
                    await resume(run, journal, {"pool": pool}, service=service)
                else:
                    task = Task(brief="Turn the knob.", work=work)
                    await start(task, settings, journal, {"pool": pool}, service=service)
            finally:
                await lazy.close()

        asyncio.run(drive())


def _propose(request: Request) -> str:
    """Turn the incumbent's knob, by an amount that the number of the trial gives."""
    number = int(request.key.split("/")[1])
    shown = next(each.text for each in request.messages if "<<<FILE" in each.text)
    knob = float(_KNOB.findall(shown.partition("<<<FILE")[2].partition("<<<END FILE")[0])[-1])
    knob += random.Random(number).gauss(0.2, 0.5)
    return f"HYPOTHESIS: turn it\nEXPECTED: +1\n\nknob.txt\n```\nknob = {knob:.6f}\n```\n"


def _decisions(path: Path) -> list[AnyEvent]:
    """The story without the time that evaluations took."""
    return [
        replace(event, seconds=0.0) if isinstance(event, NoiseMeasured) else event
        for event in story(path)
    ]


def _is_sound(path: Path) -> bool:
    """Whether a run is done, replays, stayed within its evaluations and decided every trial once."""
    events = story(path)
    trials = [event.number for event in events if isinstance(event, TrialDecided)]
    with Journal.open(str(path), create=False) as journal:
        run = journal.runs()[0].id
        # What is known from an earlier evaluation is recorded again, and not taken.
        evaluations = sum(
            each.kind == EvaluationQuery.kind and not each.answer.get("repeated")
            for each in journal.answers(run).values()
        )
        replayed = asyncio.run(replay.aio(run, journal=journal))
    return (
        replayed.same
        and isinstance(events[-1], JobFinished)
        and evaluations <= _EVALUATIONS
        and sorted(trials) == list(range(1, len(trials) + 1))
    )
