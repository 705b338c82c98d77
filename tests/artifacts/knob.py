"""A research task without any process: one knob in a file, a number with noise, and a scripted proposer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from tests.run.runs import settings

from autoreason.artifacts.artifact import (
    Evaluation,
    EvaluationOutcome,
    EvaluationQuery,
    Measurement,
)
from autoreason.artifacts.research_task import ResearchTask
from autoreason.exchange import Query, Request
from autoreason.job_types import Research
from autoreason.keys import Key
from autoreason.models.doubles import ScriptedModel
from autoreason.settings import Settings
from autoreason.task import Task

START = {"knob.txt": "knob = 0\n"}
_KNOB = re.compile(r"knob = (-?[\d.]+)")


def knob_of(text: str) -> float:
    """The last knob in a text."""
    return float(_KNOB.findall(text)[-1])


class Meter:
    """Measures a knob: its value, and noise from the seed alone."""

    def __init__(self, noise: float = 0.0, best: float = 1e9, interaction: float = 0.0) -> None:
        self.noise, self.best, self.interaction = noise, best, interaction
        self.evaluations: list[tuple[str, Evaluation]] = []

    async def answer(self, query: Query[Any]) -> Any:
        """Evaluate."""
        assert isinstance(query, EvaluationQuery)
        self.evaluations.append((query.key, query.evaluation))
        return self.measure(query.evaluation)

    def measure(self, evaluation: Evaluation) -> Measurement:
        """The number of an artifact."""
        text = evaluation.files["knob.txt"]
        if "crash" in text:
            return Measurement(
                outcome=EvaluationOutcome.FAILED, detail="it crashed", tail="Traceback"
            )
        knob = knob_of(text)
        error = random.Random(f"{evaluation.seed}/{knob if self.interaction else 0}").gauss(
            0, self.noise
        )
        value = min(knob, 2 * self.best - knob) + error
        return Measurement(
            outcome=EvaluationOutcome.OK, value=value, metrics={"score": value, "size": len(text)}
        )


class SlowWhenFresh(Meter):
    """A meter whose second number grows with the knob, on evaluations that decide nothing."""

    def __init__(self, stage: str, noise: float = 0.0) -> None:
        super().__init__(noise)
        self.stage = stage

    async def answer(self, query: Query[Any]) -> Any:
        """Evaluate."""
        found: Measurement = await super().answer(query)
        slow = found.metrics["score"] if Key.parse(query.key).head == self.stage else 0.0
        return replace(found, metrics={**found.metrics, "ms": slow})


def research_task(**changes: Any) -> Task:
    """A task over the knob."""
    known: dict[str, Any] = {"files": START, "artifact": ("knob.txt",), "evaluate": "meter"}
    return Task(brief="Turn the knob.", work=ResearchTask(**known | changes))


def research_settings(seed: int = 7, **terms: Any) -> Settings:
    """Settings of a small research run."""
    return settings(seed=seed, job=Research(**{"evaluations": 60, **terms}))


def proposal(text: str, hypothesis: str = "more helps") -> str:
    """A reply with a whole file."""
    return f"HYPOTHESIS: {hypothesis}\nEXPECTED: +1\n\nknob.txt\n```\n{text}\n```\n"


def turning(step: Callable[[int], float]) -> ScriptedModel:
    """A proposer that turns the knob of the incumbent by so much in each trial."""

    def answer(request: Request) -> str:
        number = int(request.key.split("/")[1])
        shown = next(each.text for each in request.messages if "<<<FILE" in each.text)
        knob = knob_of(shown.partition("<<<FILE")[2].partition("<<<END FILE")[0])
        return proposal(f"knob = {knob + step(number):.6f}")

    return ScriptedModel(answer)
