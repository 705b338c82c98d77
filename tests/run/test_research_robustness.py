"""Research under bad luck: two runs on one task, a proposer that writes rubbish, an evaluator edited meanwhile."""

from __future__ import annotations

import asyncio
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.artifacts.knob import Meter, research_settings, research_task
from tests.run.test_research import EVALUATOR, up

from autoreason.artifacts.artifact import (
    Evaluation,
    EvaluationOutcome,
    EvaluationQuery,
    Measurement,
    OrderQuery,
    Orders,
)
from autoreason.artifacts.research_history import NoiseMeasured, TrialDecided
from autoreason.artifacts.research_job import ResearchJob
from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent
from autoreason.exchange import Query, Request
from autoreason.jobs.context import JobContext
from autoreason.models.doubles import ScriptedModel
from autoreason.paths import data_folder
from autoreason.prompts import built_in
from autoreason.run.products import ResearchResult
from autoreason.run.recorded import replay, resume
from autoreason.run.research import research
from autoreason.run.result import StopSwitch

PROMPTS = built_in(writes="files")
FRAGMENTS = (
    *("HYPOTHESIS:", "EXPECTED: +1", "knob.txt", "../knob.txt", "/etc/passwd", "REMOVE knob.txt"),
    *("```", "````", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "knob = 1", "crash", ""),
)
RUBBISH = st.lists(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=20), max_size=8).map("\n".join),
    min_size=1,
    max_size=6,
)


def prepare(folder: Path, evaluator: str = EVALUATOR) -> Path:
    """A task whose evaluator reads a knob."""
    (folder / "knob.txt").write_text("knob = 0\n")
    (folder / "evaluate.py").write_text(evaluator)
    task = folder / "task.md"
    task.write_text("---\nartifact: knob.txt\nevaluate: evaluate.py:score\n---\nTurn the knob.\n")
    return task


async def test_two_runs_on_one_task_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    task = prepare(tmp_path)
    both = await asyncio.gather(
        *(research.aio(task, up(), evaluations=30, patience=3, seed=seed) for seed in (1, 2))
    )
    assert [each.status for each in both] == ["done", "done"]
    assert [each.gain.gain for each in both if each.gain] == [3.0, 3.0]
    assert len(list((data_folder() / "evaluations").glob("*.msgpack"))) == 1
    assert len({each.run for each in both}) == 2


class TolerantMeter(Meter):
    """A meter for which an artifact without a knob fails."""

    def measure(self, evaluation: Evaluation) -> Measurement:
        """The number of an artifact that has one."""
        if set(evaluation.files) == {"knob.txt"} and "knob = " in evaluation.files["knob.txt"]:
            return super().measure(evaluation)
        return Measurement(outcome=EvaluationOutcome.FAILED, detail="no knob")


@settings(max_examples=100, deadline=None)
@given(replies=RUBBISH)
def test_a_proposer_that_writes_rubbish_costs_trials_and_nothing_else(replies: list[str]) -> None:
    meter, orders, events = TolerantMeter(best=5), Orders(), list[AnyEvent]()
    answers = cycle(replies)
    model = ScriptedModel(lambda _: next(answers))

    async def ask(asked: Request | Query[Any]) -> Any:
        match asked:
            case Request():
                return await model.ask(asked)
            case EvaluationQuery():
                return await meter.answer(asked)
            case OrderQuery():
                return orders.answer(asked)
        return ""

    terms = research_settings(evaluations=20, patience=4)
    context = JobContext(research_task(), terms, PROMPTS, ask, events.append)
    end = asyncio.run(ResearchJob(context).run())
    assert end.status == "done"
    changed = {path for each in events if isinstance(each, TrialDecided) for path in each.changes}
    assert changed <= {"knob.txt"}
    assert all(set(evaluation.files) <= {"knob.txt"} for _, evaluation in meter.evaluations)


def test_a_run_that_goes_on_is_measured_by_the_evaluator_it_started_with(tmp_path: Path) -> None:
    task, stopped = prepare(tmp_path), StopSwitch()

    def stop(event: object) -> None:
        if isinstance(event, NoiseMeasured):
            stopped.stop()

    first = research(
        task, up(), evaluations=30, patience=3, on_event=stop, stop_switch=stopped, seed=3
    )
    assert first.status == "stopped"
    (tmp_path / "evaluate.py").write_text("def score(artifact):\n    return 1e9\n")
    whole = resume(first.run, model=up())
    assert isinstance(whole, ResearchResult)
    assert whole.gain
    assert whole.gain.gain == 3.0
    assert replay(whole.run).same


def test_a_saved_evaluator_that_was_tampered_with_measures_nothing(tmp_path: Path) -> None:
    task, stopped = prepare(tmp_path), StopSwitch()

    def stop(event: object) -> None:
        if isinstance(event, NoiseMeasured):
            stopped.stop()

    first = research(task, up(), evaluations=30, on_event=stop, stop_switch=stopped, seed=3)
    (saved,) = (data_folder() / "evaluations").glob("*.msgpack")
    body = saved.read_bytes()
    saved.chmod(0o600)
    saved.write_bytes(body.replace(b"float(", b"hash (", 1))
    assert saved.read_bytes() != body
    with pytest.raises(InvalidInput, match="was changed; remove it and start again"):
        resume(first.run, model=up())
