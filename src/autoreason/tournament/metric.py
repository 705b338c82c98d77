"""A metric: a number for a text, and in which role a tournament uses it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, NamedTuple

from autoreason.exchange import Query
from autoreason.jobs.context import JobContext, draw
from autoreason.keys import sub_key
from autoreason.task import Task, Work

MetricRole = Literal["guard", "judge"]
"""A guard keeps worse texts off the ballot; a judge ranks the texts on it."""
EVALUATIONS = 4
"""Measurements of each text, with the same seeds for all texts that are compared."""


class Metric(Work):
    """What gives a text a number."""

    name = "a metric"
    evaluate: str
    """What measures, as the user names it."""
    role: MetricRole

    @abstractmethod
    def query(self, key: str, text: str, seed: int) -> Query[Any]:
        """Asks for one measurement."""

    @abstractmethod
    def read(self, answer: Any) -> float | None:
        """The number, higher is better; None where there is none."""

    def fault(self, answer: Any) -> str:  # noqa: ARG002
        """Why there is no number, in words; empty where that is not known."""
        return ""


def metric_of(task: Task, role: MetricRole) -> Metric | None:
    """The task's metric, where it has one in this role."""
    work = task.work
    return work if isinstance(work, Metric) and work.role == role else None


class MeasuredText(NamedTuple):
    """The numbers of a text, evaluation by evaluation, and why one of them is missing."""

    values: list[float | None]
    fault: str


async def measure(
    context: JobContext, metric: Metric, key: str, text: str, seeds: str
) -> MeasuredText:
    """The numbers of a text; texts measured with the same `seeds` share them."""
    values, fault = [], ""
    for evaluation in range(EVALUATIONS):
        seed = draw(context.settings.seed, sub_key(seeds, evaluation)).getrandbits(31)
        query = metric.query(sub_key(key, "evaluation", evaluation), text, seed)
        answer = await context.ask(query)
        values.append(metric.read(answer))
        fault = fault or metric.fault(answer)
    return MeasuredText(values, fault)
