"""A metric as one judge among others: it ranks texts by its number, with a seat of its own."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from autoreason.events import MetricBallot
from autoreason.jobs.context import JobContext
from autoreason.keys import sub_key
from autoreason.tournament.metric import LOOKS, Metric, measure, metric_of


class MetricJudge:
    """Votes on the panels of a run that choose; each text is measured once, however many panels it is on."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self._values: dict[str, float | None] = {}

    async def vote(self, stage: str, texts: Mapping[str, str]) -> MetricBallot | None:
        """Its ballot on these texts; None where the task has no metric that judges."""
        metric = metric_of(self._context.task, "judge")
        if metric is None:
            return None
        for name, text in texts.items():
            if text not in self._values:
                key = sub_key(stage, "metric", name)
                self._values[text] = await self._value(metric, key, text)
        values = {name: self._values[text] for name, text in texts.items()}
        return MetricBallot(ranking=rank(values), values=values)

    async def _value(self, metric: Metric, key: str, text: str) -> float | None:
        """The mean over looks; None where one of them has no finite number."""
        looks = await measure(self._context, metric, key, text, "metric")
        values = [each for each in looks.values if each is not None and isfinite(each)]
        # Divided first, so that the sum of large numbers stays finite.
        return sum(each / LOOKS for each in values) if len(values) == LOOKS else None


def rank(values: Mapping[str, float | None]) -> tuple[str, ...] | None:
    """The names by value, best first; None where one has no number, or two the same: a ballot has no ties."""
    numbers = {name: value for name, value in values.items() if value is not None}
    if len(set(numbers.values())) < len(values):
        return None
    return tuple(sorted(numbers, key=numbers.__getitem__, reverse=True))
