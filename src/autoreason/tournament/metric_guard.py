"""A metric as a guard: what a number calls worse than A, beyond its noise, does not become a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from autoreason.jobs.context import JobContext
from autoreason.keys import sub_key
from autoreason.parsing.documents import same_text
from autoreason.stats.shares import student_t
from autoreason.tournament.authors import MissingText, WrittenText
from autoreason.tournament.metric import LOOKS, measure, metric_of

_TAIL = 0.025


class WorseText(NamedTuple):
    """A text that is left out."""

    text: str
    detail: str
    reason: Literal["metric", "number", "added"] = "metric"
    """Its number is worse, or it has none; or it says more than the texts it may only cut."""


class MetricGuard:
    """Compares the texts of a stage with the incumbent, which is measured once for all of them."""

    def __init__(self, context: JobContext, stage: str, incumbent: str) -> None:
        self._context, self._stage, self._incumbent = context, stage, incumbent
        self._known: list[float | None] = []

    async def check(
        self, name: str | int, written: WrittenText | MissingText
    ) -> WrittenText | MissingText | WorseText:
        """The text, or why the metric leaves it out."""
        metric = metric_of(self._context.task, "guard")
        if metric is None or isinstance(written, MissingText):
            return written
        if same_text(written.text, self._incumbent):
            return written
        context, stage = self._context, self._stage
        if not self._known:
            key = sub_key(stage, "A")
            self._known, _ = await measure(context, metric, key, self._incumbent, stage)
        values, fault = await measure(context, metric, sub_key(stage, name), written.text, stage)
        if None in values:
            return WorseText(written.text, fault, "number")
        differences = [
            value - before
            for value, before in zip(values, self._known, strict=True)
            if value is not None and before is not None
        ]
        if not is_worse(differences):
            return written
        by = f"by {-fmean(differences):.3g} on average over {len(differences)} measurements"
        return WorseText(written.text, by)


def ends_incumbent(key: str) -> bool:
    """Whether a look is the last at the incumbent, without whose number nothing can be compared."""
    return key.endswith(sub_key("metric", "A", "look", LOOKS - 1))


def is_worse(differences: Sequence[float]) -> bool:
    """Whether differences to A are below 0 beyond their noise; without noise, at all. No difference says nothing."""
    if not differences:
        return False
    apart = stdev(differences) if len(differences) > 1 else 0.0
    reach = student_t(len(differences) - 1, _TAIL) * apart / sqrt(len(differences)) if apart else 0
    return fmean(differences) + reach < 0
