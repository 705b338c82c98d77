"""An evaluator as the service of a run: what it could not measure is no result, and pauses the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autoreason.artifacts.measurement import Evaluator, LookOutcome, LookQuery, Measurement
from autoreason.errors import InvalidInput, MetricFailed
from autoreason.exchange import Query
from autoreason.keys import Key

_ATTEMPTS = 3


class EvaluationService:
    """Answers looks; where the evaluator itself fails three times in a row, the run pauses.

    So it does after `max_without` looks in a row without a value, where a number is given; and at the
    last look at a text that needs one and got none.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        max_without: int | None = None,
        needs_value: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._evaluator = evaluator
        self._max_without = max_without
        self._needs_value = needs_value
        """Of the key of a look: whether it is the last at a text that needs a value."""
        self._without = 0
        self._valued: Key | None = None
        """The text that had a value last, by the key of its looks."""

    async def answer(self, query: Query[Any]) -> Any:
        """Take a look, and again where the evaluator itself failed."""
        if not isinstance(query, LookQuery):
            raise InvalidInput(
                f"an evaluator has no answer to a {type(query).__name__}; ask a model"
            )
        detail = ""
        for _ in range(_ATTEMPTS):
            measurement = await self._evaluator.measure(query.look)
            if measurement.outcome is not LookOutcome.EVALUATOR_ERROR:
                self._count(query.key, measurement)
                return measurement
            detail = measurement.detail or detail
        raise MetricFailed(
            f"the evaluator could not be run {_ATTEMPTS} times in a row ({detail or 'no reason given'}); "
            "what was measured is kept"
        )

    def _count(self, key: str, measurement: Measurement) -> None:
        """Pause before a look is recorded that is one too many without a value, so that it is taken again."""
        text = Key.parse(key).before("look")
        if measurement.outcome is LookOutcome.OK:
            self._without, self._valued = 0, text
            return
        self._without += 1
        lacking = self._needs_value(key) and self._valued != text
        if lacking or self._without == self._max_without:
            why = measurement.detail or measurement.outcome
            times = "" if self._without == 1 else f" {self._without} times in a row, the last time"
            raise MetricFailed(
                f"the metric gave no number{times} because: {why}; what was measured is kept"
            )
