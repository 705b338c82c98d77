"""Retries: a temporary failure is tried again; a permanent one is reported once and clearly."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.exchange import CallRetried, Model, OnSignal, Reply, Request
from autoreason.models.cancellation import idle_section
from autoreason.models.circuit_breaker import CircuitBreaker, Sleep, failure_message
from autoreason.models.log import LOG, attempt, kind_of
from autoreason.models.wrapper import WrapperModel

_FIXES = {
    Failure.BAD_KEY: "{provider} does not accept the key ({why}); check the key for {provider}, "
    "then `autoreason resume`",
    Failure.NO_CREDIT: "{provider} gives no more credit ({why}); top up there, "
    "then `autoreason resume`",
    Failure.NO_ACCESS: "{provider} cannot be used from here ({why}); fix that, "
    "then `autoreason resume`",
    Failure.BAD_REQUEST: "{address} does not accept the request ({why}); check that the model "
    "exists there and takes this much text, then `autoreason resume`",
}


@dataclass(frozen=True)
class RetryPolicy:
    """How long one call is tried. Waits are in seconds."""

    tries: int = 6
    """Enough for an outage of a quarter of a minute."""
    busy_tries: int = 10
    """For a provider that is up but limits the rate: limits per minute take a minute to pass."""
    first_wait: float = 1.0
    """Longest wait after the first failure; doubles with each further one."""
    max_wait: float = 30.0
    max_retry_after: float = 120.0
    """Asked to wait longer than this, a call gives up at once."""

    def tries_for(self, failure: Failure) -> int:
        """How often a call that fails like this is sent."""
        busy = failure in (Failure.RATE_LIMIT, Failure.OVERLOADED)
        return self.busy_tries if busy else self.tries

    def wait(self, failures: int, retry_after: float | None, rng: Random) -> float:
        """Seconds until the next try: as long as the provider asks, with jitter."""
        # No more than 64 doublings: a float has no room for the powers beyond.
        ceiling = min(self.max_wait, self.first_wait * 2.0 ** min(failures - 1, 64))
        return (retry_after or 0.0) + rng.uniform(ceiling / 2, ceiling)


class RetryingModel(WrapperModel):
    """A model that is asked again when a call fails temporarily."""

    def __init__(
        self,
        model: Model,
        *,
        breaker: CircuitBreaker | None = None,
        policy: RetryPolicy | None = None,
        rng: Random | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(model)
        self._breaker = breaker or CircuitBreaker(model.address.partition("/")[0])
        self._policy = policy or RetryPolicy()
        # Only spreads calls over time; nothing a run records depends on it.
        self._rng = rng or Random()
        self._sleep = sleep

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request, trying as often as the policy allows, or raise `ProviderFailed`."""
        self._breaker.check()
        failures = 0
        while True:
            try:
                with attempt(request.key, failures + 1):
                    return await self._model.ask(request, on_signal)
            except CallFailed as failed:
                failures += 1
                given_up = self._give_up(failed, failures)
                if given_up:
                    LOG.info("%s given up, attempt %d: %s", request.key, failures, kind_of(failed))
                    raise ProviderFailed(given_up) from failed
                wait = self._policy.wait(failures, failed.retry_after, self._rng)
                reason = failure_message(failed)
                LOG.info("%s again in %.1f s: %s", request.key, wait, kind_of(failed))
            # Outside the handler, so that what ends the wait is not chained to the failure.
            if on_signal:
                on_signal(CallRetried(request.key, reason, wait))
            with idle_section(reason):
                await self._breaker.wait(wait, self._sleep)

    def _give_up(self, failed: CallFailed, failures: int) -> str | None:
        """Why there is no further try, as one sentence with the fix."""
        why, address = failure_message(failed), self.address
        provider = address.partition("/")[0]
        if failed.failure in _FIXES and not failed.retry:
            fix = _FIXES[failed.failure]
            return fix.format(provider=provider, address=address, why=why)
        if failed.retry is False:
            return (
                f"{address} failed, and trying again soon will not help ({why}); "
                "`autoreason resume` later"
            )
        if (failed.retry_after or 0.0) > self._policy.max_retry_after:
            return (
                f"{provider} asks us to wait {failed.retry_after:.0f} seconds ({why}); "
                "`autoreason resume` after that"
            )
        if failures >= self._policy.tries_for(failed.failure):
            times = "once" if failures == 1 else f"{failures} times"
            return f"{address} failed {times}, last: {why}; `autoreason resume` when it is back"
        return None
