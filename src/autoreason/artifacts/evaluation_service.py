"""An evaluator as the service of a run: what it could not measure is no result, and pauses the run."""

from __future__ import annotations

from typing import Any

from autoreason.artifacts.measurement import Evaluator, LookOutcome, LookQuery, Measurement
from autoreason.errors import InvalidInput, ProviderFailed
from autoreason.exchange import Query

_ATTEMPTS = 3


class EvaluationService:
    """Answers looks; where the evaluator itself fails three times in a row, the run pauses.

    So it does after `max_without` looks in a row without a value, where a number is given.
    """

    def __init__(self, evaluator: Evaluator, max_without: int | None = None) -> None:
        self._evaluator = evaluator
        self._max_without = max_without
        self._without = 0

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
                self._count(measurement)
                return measurement
            detail = measurement.detail or detail
        raise ProviderFailed(
            f"the evaluator could not be run {_ATTEMPTS} times in a row ({detail or 'no reason given'}); "
            "what was measured is kept"
        )

    def _count(self, measurement: Measurement) -> None:
        """Pause before a look is recorded that is one too many without a value, so that it is taken again."""
        self._without = 0 if measurement.outcome is LookOutcome.OK else self._without + 1
        if self._without == self._max_without:
            why = measurement.detail or measurement.outcome
            raise ProviderFailed(
                f"the metric gave no number {self._without} times in a row, the last time because: {why}; "
                "what was measured is kept"
            )
