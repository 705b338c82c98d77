"""A metric as a guard: what a number calls worse than A, beyond its noise, does not become a candidate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Any, NamedTuple

from autoreason.exchange import Query
from autoreason.jobs.context import JobContext
from autoreason.jobs.randomness import draw
from autoreason.keys import sub_key
from autoreason.parsing.documents import same_text
from autoreason.stats.shares import student_t
from autoreason.task import Work
from autoreason.tournament.authors import MissingText, WrittenText

LOOKS = 4
"""Measurements of each text, with the same seeds for all of a pass."""
_TAIL = 0.025


class Metric(Work):
    """What gives a text a number."""

    name = "a metric"
    evaluate: str
    """What measures, as the user names it."""

    @abstractmethod
    def query(self, key: str, text: str, seed: int) -> Query[Any]:
        """Asks for one measurement."""

    @abstractmethod
    def read(self, answer: Any) -> float | None:
        """The number, higher is better; None where there is none."""


class WorseText(NamedTuple):
    """A text that is left out."""

    text: str
    detail: str


class MetricGuard:
    """Compares the texts of a stage with the incumbent, which is measured once for all of them."""

    def __init__(self, context: JobContext, stage: str, incumbent: str) -> None:
        self._context, self._stage, self._incumbent = context, stage, incumbent
        self._known: list[float | None] = []

    async def check(
        self, name: str | int, written: WrittenText | MissingText
    ) -> WrittenText | MissingText | WorseText:
        """The text, or why the metric leaves it out."""
        metric = self._context.task.work
        if not isinstance(metric, Metric) or isinstance(written, MissingText):
            return written
        if same_text(written.text, self._incumbent):
            return written
        self._known = self._known or await self._measure(metric, "A", self._incumbent)
        values = await self._measure(metric, name, written.text)
        if None in values:
            return WorseText(written.text, "it has no number")
        differences = [
            value - before
            for value, before in zip(values, self._known, strict=True)
            if value is not None and before is not None
        ]
        if not is_worse(differences):
            return written
        by = f"by {-fmean(differences):.3g} on average over {len(differences)} measurements"
        return WorseText(written.text, by)

    async def _measure(self, metric: Metric, name: str | int, text: str) -> list[float | None]:
        values = []
        for look in range(LOOKS):
            seed = draw(self._context.settings.seed, sub_key(self._stage, look)).getrandbits(31)
            query = metric.query(sub_key(self._stage, name, "look", look), text, seed)
            values.append(metric.read(await self._context.ask(query)))
        return values


def is_worse(differences: Sequence[float]) -> bool:
    """Whether differences to A are below 0 beyond their noise; without noise, at all. No difference says nothing."""
    if not differences:
        return False
    apart = stdev(differences) if len(differences) > 1 else 0.0
    reach = student_t(len(differences) - 1, _TAIL) * apart / sqrt(len(differences)) if apart else 0
    return fmean(differences) + reach < 0
