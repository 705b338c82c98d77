"""An evaluator as the service of a run: what it could not measure is no result, and pauses the run."""

from __future__ import annotations

from typing import Any

from autoreason.artifacts.measurement import Evaluator, LookOutcome, LookQuery
from autoreason.errors import InvalidInput, ProviderFailed
from autoreason.exchange import Query

_ATTEMPTS = 3


class EvaluationService:
    """Answers looks; where the evaluator itself fails three times in a row, the run pauses."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

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
                return measurement
            detail = measurement.detail or detail
        raise ProviderFailed(
            f"the evaluator could not be run {_ATTEMPTS} times in a row ({detail or 'no reason given'}); "
            "what was measured is kept"
        )
