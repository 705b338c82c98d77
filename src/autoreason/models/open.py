"""From an address, `provider/model`, to a model that answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from threading import Thread
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.exchange import Model
from autoreason.models import examples
from autoreason.models.api_keys import Secret, find_key
from autoreason.models.connection import is_exposed, is_loopback
from autoreason.models.dialects import find_dialect
from autoreason.models.providers import PROVIDERS, Provider, custom
from autoreason.models.transport import HttpCall, Transport
from autoreason.models.user_model import UserModel
from autoreason.models.wire import WireModel
from autoreason.plugins import describe, is_own, load
from autoreason.settings import INSIDE, THROUGH_LITELLM, provider_of, providers_of

_OWN_WITHOUT_NAME = re.compile(r".*\.py:[^\W\d]\w*")
_PLAIN = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)


class Check(Struct, frozen=True, kw_only=True):
    """What is known about a model without spending a token; None where it is not known."""

    address: str
    reachable: bool | None = None
    key_sent: bool | None = None
    key_accepted: bool | None = None
    model_known: bool | None = None
    problem: str = ""
    """One sentence, empty if all is well."""


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
    if name in THROUGH_LITELLM:
        from autoreason.models.litellm import LiteLLMModel

        return LiteLLMModel(address)
    if is_own(name):
        return _open_own(name, address)
    provider = _provider(name, address, base_url)
    base = provider.base(base_url)
    key = _key(provider, base, needed=provider.needs_key, allow_http=allow_http)
    if batch and provider.batch:
        from autoreason.models.batch import BatchTransport

        transport = BatchTransport(provider.batch, name, base)
    return WireModel(address, provider, base=base, key=key, transport=transport, batch=batch)


def require_batches(address: str) -> None:
    """Refuse a model that cannot be asked in batches."""
    name, _ = _parts(address)
    if name not in PROVIDERS or PROVIDERS[name].batch is None:
        raise no_batches(address)


def no_batches(address: str) -> InvalidInput:
    """A model cannot be asked in batches."""
    known = [name for name, each in PROVIDERS.items() if each.batch]
    return InvalidInput(
        f"{address} has no batch interface; leave `batch` out, or choose a model of "
        f"{' or '.join(known)}"
    )


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
    if name in THROUGH_LITELLM or is_own(name):
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
    factory = load("model", name)
    if not callable(factory):
        raise InvalidInput(f"{name} opens no model; make it a class or a function of an address")
    try:
        model: Model = factory(address)
        is_model = all(hasattr(model, each) for each in ("address", "ask", "close"))
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{name} raised {describe(error)}; correct it") from error
    if not is_model:
        raise InvalidInput(f"{name} gives no model; it needs `address`, `ask` and `close`")
    return UserModel(model)


def warm_up(addresses: Iterable[str]) -> None:
    """Begin to import what these models will need, while the caller waits for another process.

    Not next to other work in this process: two threads that take turns are slower than one after the other.
    """
    if providers_of(addresses):
        # No daemon: Python crashes where it ends in the middle of an import.
        Thread(target=import_module, args=("aiohttp",)).start()


async def list_models(
    provider: str,
    *,
    base_url: str | None = None,
    allow_http: bool = False,
    transport: Transport | None = None,
) -> list[str]:
    """The models that a provider's server lists."""
    found = _provider(provider, provider, base_url)
    base = found.base(base_url)
    needed = found.needs_key and not found.open_list
    key = _key(found, base, needed=needed, allow_http=allow_http)
    dialect = find_dialect(found.dialect)
    call = HttpCall(
        who=found.name,
        url=base + dialect.models_path,
        headers=dialect.headers(key),
    )
    used = transport or Transport()
    try:
        return dialect.read_models(await used.fetch(call))
    except msgspec.DecodeError:
        raise CallFailed(
            Failure.BROKEN_REPLY, f"{found.name} sent a list of models that cannot be read"
        ) from None
    finally:
        if transport is None:
            await used.close()


async def check(
    address: str,
    *,
    base_url: str | None = None,
    allow_http: bool = False,
    transport: Transport | None = None,
    batch: bool = False,
) -> Check:
    """Whether a model can be reached, takes our key and exists, and its server batches; asks it nothing."""
    name, model = _parts(address)
    if name in INSIDE or name in THROUGH_LITELLM or is_own(name):
        return Check(address=address)
    provider = _provider(name, address, base_url)
    base = provider.base(base_url)
    try:
        key = _key(provider, base, needed=False, allow_http=allow_http)
        offered = await list_models(
            name, base_url=base_url, allow_http=allow_http, transport=transport
        )
        if batch and transport and not await _takes_batches(provider, base, key, transport):
            return Check(address=address, reachable=False, problem=str(no_batches(address)))
    except InvalidInput as error:
        return Check(address=address, key_accepted=False, problem=str(error))
    except CallFailed as error:
        return _failed_check(address, error)
    sent = key is not None
    known = _is_known(provider, base, model, offered)
    problem = f"{name} does not offer a model {model!r}{_nearest(model, offered)}"
    return Check(
        address=address,
        reachable=True,
        key_sent=sent,
        key_accepted=True if sent and not provider.open_list else None,
        model_known=known,
        problem=problem if known is False else "",
    )


async def _takes_batches(
    provider: Provider, base: str, key: Secret | None, transport: Transport
) -> bool:
    """Whether a server lists batches; one that forbids that may still take them."""
    path = "/batches" if provider.batch == "openai" else "/v1/messages/batches"
    headers = find_dialect(provider.dialect).headers(key)
    try:
        call = HttpCall(who=provider.name, url=f"{base}{path}?limit=1", headers=headers)
        await transport.fetch(call)
    except CallFailed as failed:
        return failed.status not in (404, 405)
    return True


def _is_known(provider: Provider, base: str, model: str, offered: list[str]) -> bool | None:
    """Whether a model is among those listed; None where a server may have more than it lists."""
    name = model.removeprefix("models/")
    # A tag can be left out or added, and an alias means the dated name that is listed.
    if not {name, f"{name}:latest", name.partition(":")[0]}.isdisjoint(offered):
        return True
    dated = f"{name.removesuffix('-0')}-2"
    if any(each.startswith(dated) for each in offered):
        return True
    whole = provider.local or provider.at_home(base)
    unlisted = provider.unlisted or name.endswith("-latest")
    return False if whole and not unlisted else None


def _failed_check(address: str, error: CallFailed) -> Check:
    # Any answer shows that the server is there, unless it is a redirect to another one.
    answered = error.status is not None and not 300 <= error.status < 400
    reachable = answered or error.failure in (Failure.BROKEN_REPLY, Failure.BAD_REQUEST)
    refused = error.failure is Failure.BAD_KEY
    away = error.failure is Failure.CONNECTION
    return Check(
        address=address,
        reachable=reachable,
        key_accepted=False if refused else None,
        problem=f"{error}; see that it is up and the address is right" if away else str(error),
    )


def _parts(address: str) -> tuple[str, str]:
    if _OWN_WITHOUT_NAME.fullmatch(address):
        raise InvalidInput(
            f"{address!r} lacks the name of a model; write {address}/NAME, with any name: "
            "your code is given the whole address"
        )
    name = provider_of(address)
    model = address[len(name) + 1 :]
    if not (name and model):
        raise InvalidInput(
            f"{address!r} is not the address of a model; write provider/model, "
            f"such as {', '.join(examples.ALL)}"
        )
    return name, model


def _provider(name: str, address: str, base_url: str | None) -> Provider:
    if name in PROVIDERS:
        return PROVIDERS[name]
    known = [*PROVIDERS, *INSIDE, *THROUGH_LITELLM]
    # Another spelling of a name we know would be given its key.
    if base_url and name.lower() not in known:
        return _own_server(name)
    similar = get_close_matches(name.lower(), known, n=1)
    rest = address.partition("/")[2]
    hint = f" (did you mean {similar[0]}/{rest or '…'}?)" if similar else ""
    raise InvalidInput(
        f"there is no provider {name!r}{hint}; known are {', '.join(known)}, and any other server "
        "with OpenAI's interface by its base URL"
    )


def _own_server(name: str) -> Provider:
    """A server of the user's own; its name must lead to no other provider's key."""
    if not _PLAIN.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is no name for a server of your own; use plain letters, digits, `.`, `_` and `-`"
        )
    provider = custom(name)
    owners = {variable: each.name for each in PROVIDERS.values() for variable in each.key_variables}
    for variable in (*provider.key_variables, name.upper()):
        if variable in owners:
            raise InvalidInput(
                f"a server called {name} would be given {variable}, which is the key of "
                f"{owners[variable]}; choose another name"
            )
    return provider


def _key(provider: Provider, base: str, *, needed: bool, allow_http: bool) -> Secret | None:
    """The key to send to this address; refused where it would be sent unencrypted."""
    key = find_key(provider.name, provider.key_variables, needed=needed and provider.at_home(base))
    if key and not allow_http and is_exposed(base):
        raise InvalidInput(
            f"the key for {provider.name} would go unencrypted to {base}; use an https address,"
            " or set `allow_http` if you trust everyone on the way"
        )
    return key


def _nearest(model: str, offered: list[str]) -> str:
    close = get_close_matches(model, offered, n=3)
    return f"; close to it: {', '.join(close)}" if close else ""
