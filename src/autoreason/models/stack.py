"""A model with all its layers on."""

from __future__ import annotations

import asyncio
from random import Random

from autoreason.exchange import Model
from autoreason.models.concurrency import ConcurrencyLimiter, LimitedModel
from autoreason.models.guard import CircuitBreaker, GuardedModel, Sleep
from autoreason.models.retry import Retrying, RetryPolicy


def stack(
    model: Model,
    *,
    gate: ConcurrencyLimiter,
    guard: CircuitBreaker,
    patience: RetryPolicy | None = None,
    rng: Random | None = None,
    sleep: Sleep = asyncio.sleep,
) -> Model:
    """The model with its layers in the right order: retry around gate around guard around model.

    Retry is outermost, so that a call in back-off holds no place in the gate. The guard is
    innermost, so that it counts every try, and a call that waited in the gate learns of an outage
    before it is sent; retry asks it too, so that new calls and those in back-off end at once.
    `gate` and `guard` are one each for a provider, shared by all its models.
    """
    guarded = GuardedModel(model, guard)
    limited = LimitedModel(guarded, gate)
    return Retrying(limited, guard=guard, patience=patience, rng=rng, sleep=sleep)
