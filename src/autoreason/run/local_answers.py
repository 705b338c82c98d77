"""What jobs of other rooms leave open and this process answers: the next action, order, constants, predictions."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from autoreason.artifacts.measurement import KnownLookQuery, Measurement
from autoreason.artifacts.order import OrderQuery, Orders
from autoreason.artifacts.tuning import TuningQuery, suggest
from autoreason.exchange import Query
from autoreason.programs.policy import Policy, PolicyQuery
from autoreason.run.recall import Memory
from autoreason.tournament.code_judges import Prediction, PredictionQuery


class LocalAnswers:
    """Answers queries for which nothing is started; created with the first query, for most runs have none."""

    def __init__(self, memory: Memory, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._orders = Orders(memory.questions(OrderQuery))

    def note(self, query: Query[Any]) -> None:
        """Learn from a query, whether its answer is recorded or not."""
        if isinstance(query, PolicyQuery):
            self._policy.learn(query.turn)

    async def answer(self, query: Query[Any]) -> Any:
        """The answer; None to what is not answered here."""
        match query:
            case PolicyQuery():
                return self._policy.choose(query.turn)
            case OrderQuery():
                return self._orders.answer(query)
            case KnownLookQuery(known=Measurement() as known):
                return replace(known, repeated=True)
            case TuningQuery():
                return await asyncio.to_thread(suggest, query)
            case PredictionQuery():
                return await asyncio.to_thread(_predict, query)
        return None


def _predict(query: PredictionQuery) -> Prediction:
    from autoreason.knowledge.ridge import load_ridge

    return Prediction(load_ridge(query.fit).predict(query.text))
