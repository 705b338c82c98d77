"""A model with all its layers."""

from __future__ import annotations

import asyncio
from random import Random

from autoreason.exchange import Model
from autoreason.models.circuit_breaker import CircuitBreaker, GuardedModel, Sleep
from autoreason.models.concurrency import LimitedModel, Limiter
from autoreason.models.retry import RetryingModel, RetryPolicy


def stack(
    model: Model,
    *,
    limiter: Limiter,
    breaker: CircuitBreaker,
    policy: RetryPolicy | None = None,
    rng: Random | None = None,
    sleep: Sleep = asyncio.sleep,
) -> Model:
    """The model with its layers in the right order: retry around limiter around circuit breaker around model.

    Retry is outermost, so that a call in back-off takes no place in the limiter. The circuit breaker is
    innermost, so that it counts every try, and a call that waited in the limiter learns of an outage
    before it is sent; retry asks it too, so that new calls and those in back-off end at once.
    `limiter` and `breaker` are one each per provider, shared by all its models.
    """
    guarded = GuardedModel(model, breaker)
    limited = LimitedModel(guarded, limiter)
    return RetryingModel(limited, breaker=breaker, policy=policy, rng=rng, sleep=sleep)
