"""Every model a process talks to, opened once: runs that share a pool share connections and limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.models import prices
from autoreason.models.batch_log import BatchLog, BatchModel
from autoreason.models.circuit_breaker import CircuitBreaker
from autoreason.models.concurrency import ConcurrencyLimiter, Limiter
from autoreason.models.open import Check, Destination, check, destination, no_batches, open_model
from autoreason.models.providers import PROVIDERS
from autoreason.models.retry import RetryingModel
from autoreason.models.stack import stack
from autoreason.models.transport import Transport
from autoreason.models.user_model import UserModel
from autoreason.models.wire import WireModel
from autoreason.settings import INSIDE, Settings, provider_of, providers_of, servers

if TYPE_CHECKING:
    from autoreason.models.local import LocalModel

_NO_LIMIT = 1000
"""Models inside the process keep to their own limits."""


def provider_limiter(name: str) -> ConcurrencyLimiter:
    """A limiter that starts with what a provider is known to take."""
    provider = PROVIDERS.get(name)
    return ConcurrencyLimiter(provider.concurrency if provider else _NO_LIMIT)


class ModelPool:
    """Models by address, each behind its layers."""

    def __init__(
        self,
        base_url: str | Mapping[str, str] | None = None,
        *,
        allow_http: bool = False,
        batch: bool = False,
        limiter: Callable[[str], Limiter] = provider_limiter,
    ) -> None:
        """Places for calls to a provider, by its name, are those that `limiter` gives."""
        self.batch = batch
        """Whether models are asked in batches."""
        self._base_url = base_url
        self._allow_http = allow_http
        self._limiter = limiter
        self._transport = Transport()
        self._bare: dict[str, Model] = {}
        self._layered: dict[str, Model] = {}
        self._own_models: dict[str, Model] = {}
        self._checked: dict[str, asyncio.Future[Check]] = {}
        self._limiters: dict[str, Limiter] = {}
        self._breakers: dict[str, CircuitBreaker] = {}

    @classmethod
    def of(cls, settings: Settings) -> ModelPool:
        """The pool for a run, which asks providers at the servers that its settings name."""
        bases = servers(settings.base_url, settings.models.all())
        return cls(bases, allow_http=settings.allow_http, batch=settings.batch)

    def add(self, models: Mapping[str, Model]) -> None:
        """Add the caller's models; they keep the layers they have, and the caller closes them."""
        self._own_models |= {address: UserModel(model) for address, model in models.items()}

    def lend(self, address: str, batches: BatchLog | None = None) -> Model:
        """The model behind an address; in batches it is asked under the log of the run that asks."""
        model = self._own_models.get(address)
        if model and self.batch:
            raise no_batches(address)
        model = model or self._layered.get(address)
        if model is None:
            model = self._layered[address] = self._open(address)
        return BatchModel(model, batches) if self.batch and batches else model

    def destination(self, address: str) -> Destination | None:
        """Where what a model is asked is sent; None where it surely stays on this machine."""
        is_object = address in self._own_models
        return destination(address, self._server(address), is_object=is_object)

    def check_here(self, address: str) -> None:
        """Raise `InvalidInput` for what this machine lacks: a key, or the weights of a local model."""
        self.lend(address)
        if local := self._local(address):
            local.check()

    async def check(self, address: str) -> Check:
        """Whether a model can be reached, takes our key and exists; asks it nothing."""
        self.check_here(address)
        if not isinstance(self._bare.get(address), WireModel):
            return Check(address=address)
        if address not in self._checked:
            asking = check(
                address,
                base_url=self._server(address),
                allow_http=self._allow_http,
                transport=self._transport,
                batch=self.batch,
            )
            self._checked[address] = asyncio.ensure_future(asking)
        return await self._checked[address]

    async def check_all(self, addresses: Sequence[str]) -> list[Check]:
        """The same of several at once; what cannot be used is a problem, not an error."""

        async def check_one(address: str) -> Check:
            try:
                return await self.check(address)
            except InvalidInput as error:
                return Check(address=address, problem=str(error))

        return await asyncio.gather(*map(check_one, addresses))

    def window(self, address: str) -> int | None:
        """Tokens a model can read and write at once; None where that is not known."""
        self.lend(address)
        local = self._local(address)
        return local.window if local else prices.window(address)

    async def close(self) -> None:
        """Close all models and connections."""
        for model in self._layered.values():
            await model.close()
        await self._transport.close()

    def _local(self, address: str) -> LocalModel | None:
        """The model behind an address, if we run it in this process."""
        if not address.startswith("local/"):
            return None
        from autoreason.models.local import LocalModel

        bare = self._bare.get(address)
        return bare if isinstance(bare, LocalModel) else None

    def _server(self, address: str) -> str | None:
        """Where a model's provider is asked, if not at its own address."""
        bases = self._base_url
        if isinstance(bases, str):
            addresses = (*self._bare, address)
            bases = servers(bases, addresses) if providers_of(addresses) else None
        return (bases or {}).get(provider_of(address))

    def _open(self, address: str) -> Model:
        name = provider_of(address)
        model = open_model(
            address,
            base_url=self._server(address),
            allow_http=self._allow_http,
            transport=self._transport,
            batch=self.batch,
        )
        self._bare[address] = model
        if self.batch:
            # Thousands of requests wait for a batch; only those that failed in it are asked again.
            return RetryingModel(model)
        if name not in self._limiters:
            limiter = provider_limiter if name in INSIDE else self._limiter
            self._limiters[name] = limiter(name)
        breaker = self._breakers.setdefault(name, CircuitBreaker(name))
        return stack(model, limiter=self._limiters[name], breaker=breaker)
