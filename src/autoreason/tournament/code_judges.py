"""Seats that code fills: a metric, or a predictor fitted on past outcomes, ranks texts by its numbers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from math import isfinite

from msgspec import Struct

from autoreason.events import CodeBallot
from autoreason.exchange import Query
from autoreason.jobs.context import JobContext
from autoreason.keys import sub_key
from autoreason.task import Task
from autoreason.tournament.metric import LOOKS, measure, metric_of

_Measure = Callable[[str, str], Awaitable[float | None]]
"""The number of a text, asked for under a key."""


class Prediction(Struct, frozen=True):
    """What a predictor says of a text."""

    value: float | None
    """How well it may do, higher is better; None where it is unlike all that the predictor knows."""


class PredictionQuery(Query[Prediction], frozen=True, kw_only=True):
    """How well a text may do, by a saved fit."""

    kind = "prediction"
    fit: str
    """The digest under which it is saved."""
    text: str


def code_seats(task: Task) -> list[str]:
    """The names of the seats that code fills."""
    predictor = task.knowledge is not None and task.knowledge.seat is not None
    filled = {"metric": metric_of(task, "judge") is not None, "predictor": predictor}
    return [name for name, is_filled in filled.items() if is_filled]


class CodeJudges:
    """Vote on the panels of a run that choose; each measures a text once, however many panels it is on."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        measures: dict[str, _Measure] = {"metric": self._measure, "predictor": self._predict}
        self._seats = {name: measures[name] for name in code_seats(context.task)}
        self._values: dict[tuple[str, str], float | None] = {}

    async def vote(self, stage: str, texts: Mapping[str, str]) -> dict[str, CodeBallot]:
        """Their ballots on these texts, by the names that a verdict has for them."""
        ballots = {}
        for seat, number in self._seats.items():
            for name, text in texts.items():
                if (seat, text) not in self._values:
                    self._values[seat, text] = await number(sub_key(stage, seat, name), text)
            values = {name: self._values[seat, text] for name, text in texts.items()}
            ballots[seat] = CodeBallot(ranking=rank(values), values=values)
        return ballots

    async def _measure(self, key: str, text: str) -> float | None:
        """The mean over looks; None where one of them has no finite number."""
        metric = metric_of(self._context.task, "judge")
        assert metric is not None
        looks = await measure(self._context, metric, key, text, "metric")
        values = [each for each in looks.values if each is not None and isfinite(each)]
        # Divided first, so that the sum of large numbers stays finite.
        return sum(each / LOOKS for each in values) if len(values) == LOOKS else None

    async def _predict(self, key: str, text: str) -> float | None:
        knowledge = self._context.task.knowledge
        assert knowledge is not None
        assert knowledge.seat is not None
        query = PredictionQuery(key=key, fit=knowledge.seat.fit, text=text)
        return (await self._context.ask(query)).value


def rank(values: Mapping[str, float | None]) -> tuple[str, ...] | None:
    """The names by value, best first; None where one has no number, or two the same: a ballot has no ties."""
    numbers = {name: value for name, value in values.items() if value is not None}
    if len(set(numbers.values())) < len(values):
        return None
    return tuple(sorted(numbers, key=numbers.__getitem__, reverse=True))
