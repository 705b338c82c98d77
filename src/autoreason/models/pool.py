"""Every model a process talks to, opened once: runs that share a pool share connections and limits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.models import examples, layers, providers
from autoreason.models.batch import BatchLog, BatchModel
from autoreason.models.host import HostModel, Parking
from autoreason.models.providers import PROVIDERS, Provider, custom, find_key, no_batches
from autoreason.models.transport import Transport, is_loopback
from autoreason.models.wire import Check, WireModel
from autoreason.plugins import describe, is_own, load
from autoreason.settings import (
    BY_PROGRAM,
    HOST,
    INSIDE,
    THROUGH_LITELLM,
    Settings,
    provider_of,
    providers_of,
    servers,
)

if TYPE_CHECKING:
    from autoreason.models.budget import SharedBudget
    from autoreason.models.local import LocalModel
    from autoreason.models.programs import ProgramModel


_OWN_WITHOUT_NAME = re.compile(r".*\.py:[^\W\d]\w*")
_PLAIN = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)


def open_model(
    address: str,
    *,
    base_url: str | None = None,
    allow_http: bool = False,
    transport: Transport | None = None,
    batch: bool = False,
) -> Model:
    """The model behind an address; with `batch`, one that is asked in batches."""
    name, _ = _parts(address)
    if batch:
        require_batches(address)
    if name == "local":
        from autoreason.models.local import LocalModel

        return LocalModel(address)
    if name == "echo":
        from autoreason.models.doubles import EchoModel

        if address != EchoModel.address:
            raise InvalidInput(f"there is no model {address!r}; it is {EchoModel.address}")
        return EchoModel()
    if name == HOST:
        return HostModel(address)
    if name in THROUGH_LITELLM:
        from autoreason.models.litellm import LiteLLMModel

        return LiteLLMModel(address)
    if name in BY_PROGRAM:
        from autoreason.models.programs import ProgramModel

        return ProgramModel(address)
    if is_own(name):
        return _open_own(name, address)
    provider = _provider(name, address, base_url)
    base = provider.base(base_url)
    needed = provider.needs_key and provider.at_home(base)
    key = find_key(provider.name, provider.key_variables, needed=needed)
    if key and not allow_http and urlsplit(base).scheme == "http" and not is_loopback(base):
        raise InvalidInput(
            f"the key for {provider.name} would go unencrypted to {base}; use an https address,"
            " or set `allow_http` if you trust everyone on the way"
        )
    if batch and provider.batch:
        from autoreason.models.batch import BatchTransport

        transport = BatchTransport(provider.batch, name, base)
    return WireModel(address, provider, base=base, key=key, transport=transport, batch=batch)


def require_batches(address: str) -> None:
    name, _ = _parts(address)
    if name not in PROVIDERS or PROVIDERS[name].batch is None:
        raise no_batches(address)


class Destination(NamedTuple):
    """Where what a model is asked is sent."""

    name: str
    may_be_local: bool = False
    """A server on this machine, which may run the model itself or send everything on."""


def destination(
    address: str, base_url: str | None = None, *, is_object: bool = False
) -> Destination | None:
    """Where what a model is asked is sent; None where it surely stays on this machine."""
    if is_object:
        # It may ask anybody, whatever its address.
        return Destination(f"the object {address}")
    name, model = _parts(address)
    if name in INSIDE:
        return None
    if name in (HOST, *THROUGH_LITELLM, *BY_PROGRAM) or is_own(name):
        return Destination(name)
    try:
        provider = _provider(name, address, base_url)
    except InvalidInput:
        # An object that the user brings, which may ask anybody, or an error that opening it explains.
        return Destination(name)
    base = provider.base(base_url)
    if provider.local and is_loopback(base):
        # Ollama passes models of these names on to its own servers.
        is_cloud = model.lower().endswith(("-cloud", ":cloud"))
        return Destination(f"{name}'s cloud") if is_cloud else None
    if provider.at_home(base):
        return Destination(name)
    return Destination(f"the server at {urlsplit(base).netloc}", may_be_local=is_loopback(base))


def _open_own(name: str, address: str) -> Model:
    try:
        factory: Any = load("model", name)
        model: Model = factory(address)
        is_model = all(hasattr(model, each) for each in ("address", "ask", "close"))
    except InvalidInput:
        raise
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{name} raised {describe(error)}; correct it") from error
    if not is_model:
        raise InvalidInput(f"{name} gives no model; it needs `address`, `ask` and `close`")
    return layers.UserModel(model)


def _parts(address: str) -> tuple[str, str]:
    name = provider_of(address)
    model = address[len(name) + 1 :]
    if not (name and model) or _OWN_WITHOUT_NAME.fullmatch(address):
        raise InvalidInput(
            f"{address!r} is not the address of a model; write provider/model, such as "
            f"{', '.join(examples.ALL)}, or file.py:Class/NAME for a model of your own"
        )
    return name, model


def _provider(name: str, address: str, base_url: str | None) -> Provider:
    if name in PROVIDERS:
        return PROVIDERS[name]
    known = [*PROVIDERS, *INSIDE, *THROUGH_LITELLM, *BY_PROGRAM, HOST]
    # Another spelling of a name we know would be given its key.
    if base_url and name.lower() not in known:
        provider = custom(name)
        taken = {variable for each in PROVIDERS.values() for variable in each.key_variables}
        # Nor may its name lead to the key of another provider.
        if not taken.isdisjoint((*provider.key_variables, name.upper())) or not _PLAIN.fullmatch(
            name
        ):
            raise InvalidInput(
                f"{name!r} is not a name for a server of your own: use plain letters, digits, `.`, `_` and `-`, "
                "and no name whose variable is the key of another provider"
            )
        return provider
    similar = get_close_matches(name.lower(), known, n=1)
    rest = address.partition("/")[2]
    hint = f" (did you mean {similar[0]}/{rest or '…'}?)" if similar else ""
    raise InvalidInput(
        f"there is no provider {name!r}{hint}; known are {', '.join(known)}, and any other server "
        "with OpenAI's interface by its base URL"
    )


_NO_LIMIT = 1000
"""Models inside the process keep to their own limits."""


_PROGRAMS_AT_ONCE = 2
"""Each takes some 200 MB of memory and a second of processor time, and their use is metered by the hour."""


def provider_limiter(name: str) -> layers.ConcurrencyLimiter:
    most = _PROGRAMS_AT_ONCE if name in BY_PROGRAM else None
    return layers.ConcurrencyLimiter(_at_once(name), max_limit=most)


def _at_once(name: str) -> int:
    known = PROVIDERS[name].concurrency if name in PROVIDERS else _NO_LIMIT
    return _PROGRAMS_AT_ONCE if name in BY_PROGRAM else known


class ModelPool:
    """Models by address, each behind its layers."""

    def __init__(
        self,
        base_url: str | Mapping[str, str] | None = None,
        *,
        allow_http: bool = False,
        batch: bool = False,
        limiter: Callable[[str], layers.Limiter] = provider_limiter,
    ) -> None:
        """Places for calls to a provider, by its name, are those that `limiter` gives."""
        self.batch = batch
        self.budget: SharedBudget | None = None
        """What the runs that are given this pool may spend together, with others of this budget."""
        self._base_url = base_url
        self._allow_http = allow_http
        self._limiter = limiter
        self._transport = Transport()
        self._bare: dict[str, Model] = {}
        self._layered: dict[str, Model] = {}
        self._own_models: dict[str, Model] = {}
        self._checked: dict[str, asyncio.Future[Check]] = {}
        self._limiters: dict[str, layers.Limiter] = {}
        self._breakers: dict[str, layers.CircuitBreaker] = {}

    @classmethod
    def of(cls, settings: Settings) -> ModelPool:
        """The pool for a run, which asks providers at the servers that its settings name."""
        bases = servers(settings.base_url, settings.models.all())
        return cls(bases, allow_http=settings.allow_http, batch=settings.batch)

    def add(self, models: Mapping[str, Model]) -> None:
        """Add the caller's models; they keep the layers they have, and the caller closes them."""
        self._own_models |= {address: layers.UserModel(model) for address, model in models.items()}

    def model(
        self, address: str, batches: BatchLog | None = None, parking: Parking | None = None
    ) -> Model:
        """The model behind an address, with what it needs of the run that asks where answers may come later."""
        model = self._own_models.get(address)
        if model and self.batch:
            raise no_batches(address)
        if not model and parking and provider_of(address) == HOST:
            return HostModel(address, parking)
        model = model or self._layered.get(address)
        if model is None:
            model = self._layered[address] = self._open(address)
        return BatchModel(model, batches) if self.batch and batches else model

    def destination(self, address: str) -> Destination | None:
        """Where what a model is asked is sent; None where it surely stays on this machine."""
        is_object = address in self._own_models
        return destination(address, self._server(address), is_object=is_object)

    def check_here(self, address: str) -> None:
        """Raise `InvalidInput` for what this machine lacks: a key, a program, or the weights of a local model."""
        self.model(address)
        if provider_of(address) in ("local", *BY_PROGRAM) and address in self._bare:
            cast("LocalModel | ProgramModel", self._bare[address]).check()

    async def check(self, address: str) -> Check:
        """Whether a model can be reached, takes our key and exists; asks it nothing."""
        self.check_here(address)
        model = self._bare.get(address)
        if not isinstance(model, WireModel):
            return Check(address=address)
        if address not in self._checked:
            self._checked[address] = asyncio.ensure_future(model.check(self._transport))
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
        self.model(address)
        if not address.startswith("local/"):
            return providers.window(address)
        from autoreason.models.local import WINDOW

        return WINDOW

    def steps(self, calls: int) -> int:
        """How many times as long as one the calls of two panels take, as many at once as providers allow."""
        names = {provider_of(address) for address in self._layered}
        at_once = 1 if "local" in names else min(map(_at_once, names), default=_NO_LIMIT)
        return min(calls, 1 - -calls // at_once)

    async def close(self) -> None:
        """Close all models and connections."""
        for model in self._layered.values():
            await model.close()
        await self._transport.close()

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
            return layers.RetryingModel(model)
        if name not in self._limiters:
            limiter = provider_limiter if name in INSIDE else self._limiter
            self._limiters[name] = limiter(name)
        breaker = self._breakers.setdefault(name, layers.CircuitBreaker(name))
        return layers.RetryingModel(model, limiter=self._limiters[name], breaker=breaker)
