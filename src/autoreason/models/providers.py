"""The providers we know, as data."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from autoreason.errors import InvalidInput
from autoreason.models.dialects import DialectName
from autoreason.models.quirks import Quirks

if TYPE_CHECKING:
    from autoreason.models.batch_interface import BatchKind

_NONE = Quirks()


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One place where models can be asked."""

    name: str
    base_url: str
    dialect: DialectName = "openai_chat"
    base_variables: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    """At its own address; a server at another one may need none."""
    local: bool = False
    """Runs on the user's own machines and costs nothing."""
    concurrency: int = 16
    """Calls at once to start with."""
    quirks: Quirks = _NONE
    own_quirks: Quirks | None = None
    """At its own address, where these differ."""
    no_temperature: tuple[str, ...] = ()
    """How the names of models start that take no temperature."""
    no_schema: tuple[str, ...] = ()
    """Prefixes of models that do not support a schema."""
    responses: str = r"(?!)"
    """What the names of models look like that its own address serves in OpenAI's responses format only."""
    unlisted: bool = False
    """Answers to names that it does not list."""
    batch: BatchKind | None = None
    """Its batch interface; None where it has none that we know."""
    open_list: bool = False
    """Lists its models without a key, so that listing does not check the key."""

    def base(self, url: str | None = None) -> str:
        """The address to use: the one given, else the environment's, else its own."""
        for name in self.base_variables:
            url = url or os.environ.get(name, "").strip()
        return _normal(self, url) if url else self.base_url

    def at_home(self, base: str) -> bool:
        """Whether an address is the provider's own."""
        home = urlsplit(self.base_url).hostname or ""
        host = urlsplit(base).hostname or ""
        return host == home or host.endswith("." + home)

    def quirks_of(self, model: str, base: str) -> Quirks:
        """What is known beforehand about a model."""
        known = self.own_quirks if self.own_quirks and self.at_home(base) else self.quirks
        # The chat variants within a reasoning family do not reason.
        cold = model.startswith(self.no_temperature) and "-chat" not in model
        return msgspec.structs.replace(
            known,
            no_temperature=known.no_temperature or cold,
            no_schema=known.no_schema or model.startswith(self.no_schema),
            responses=self.at_home(base) and re.match(self.responses, model) is not None,
        )


def _normal(provider: Provider, url: str) -> str:
    """An address as typed, normalized to the base of requests; path prefixes are kept."""
    if "://" not in url:
        url = f"http://{url}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
        has_user = "@" in parts.netloc or "?" in url or "#" in url
    except ValueError:
        usable = has_user = False
    if has_user or ("@" in url and not usable):
        # Addresses are written down with every run.
        raise InvalidInput(
            f"the address for {provider.name} contains a user, a password or a query; leave it out and put the"
            f" key into {provider.key_variables[0]} or the key file"
        )
    if not usable:
        raise InvalidInput(
            f"{url!r} is not an address for {provider.name}; it reads like http://localhost:8000/v1"
        )
    if provider.name == "ollama":
        return _ollama(url)
    url = url.rstrip("/")
    if provider.dialect == "anthropic":
        return url.removesuffix("/v1")
    if provider.dialect == "gemini" and not url.endswith(("/v1beta", "/v1", "/v1alpha")):
        return f"{url}/v1beta"
    return url


def _ollama(url: str) -> str:
    """Ollama's own setting names where it listens, which is not always where it can be called."""
    parts = urlsplit(url)
    host = "127.0.0.1" if parts.hostname == "0.0.0.0" else parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    default = {"https": 443}.get(parts.scheme, 11434)
    path = parts.path.rstrip("/")
    path = path if path.endswith("/v1") else f"{path}/v1"
    return f"{parts.scheme}://{host}:{parts.port or default}{path}"


def _variable(name: str) -> str:
    """What the variables of a provider begin with."""
    return "".join(sign if sign.isalnum() else "_" for sign in name.upper())


def custom(name: str) -> Provider:
    """A server we do not know, reached at an address the user gives."""
    key = f"{_variable(name)}_API_KEY"
    return Provider(name=name, base_url="", key_variables=(key,), needs_key=False)


def _known(name: str, base_url: str, **other: Any) -> Provider:
    """A provider whose variables are called after it, unless others are given."""
    variables = {
        "base_variables": (f"{_variable(name)}_BASE_URL",),
        "key_variables": (f"{_variable(name)}_API_KEY",),
    }
    return Provider(name=name, base_url=base_url, **variables | other)


_local = partial(_known, needs_key=False, local=True, concurrency=2)
_OPENAI = _known(
    "openai",
    "https://api.openai.com/v1",
    own_quirks=Quirks(completion_tokens=True, cache_key=True),
    no_temperature=("o1", "o3", "o4", "gpt-5"),
    responses=r"(o\d|gpt-[\d.]+)-(pro|codex)\b|o\d.*-deep-research",
    batch="openai",
)
_ALL = (
    _OPENAI,
    replace(_OPENAI, name="openai-responses", dialect="openai_responses"),
    _known(
        "anthropic",
        "https://api.anthropic.com",
        dialect="anthropic",
        concurrency=8,
        batch="anthropic",
        no_temperature=(
            *("claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5"),
            *("claude-haiku-5", "claude-fable", "claude-mythos"),
        ),
    ),
    _known(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        dialect="gemini",
        base_variables=("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        # Google's own client takes them in this order.
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        concurrency=8,
        no_schema=("gemma-",),
    ),
    _known(
        "openrouter",
        "https://openrouter.ai/api/v1",
        quirks=Quirks(require_schema=True),
        open_list=True,
    ),
    _known("groq", "https://api.groq.com/openai/v1", concurrency=8),
    _known("together", "https://api.together.ai/v1"),
    _known(
        "mistral",
        "https://api.mistral.ai/v1",
        concurrency=4,
        # Its streams report usage unasked, and it refuses fields it does not know.
        quirks=Quirks(no_stream_options=True, random_seed=True),
    ),
    _known("deepseek", "https://api.deepseek.com/v1", quirks=Quirks(no_schema=True)),
    _known("xai", "https://api.x.ai/v1"),
    # An endpoint of one's own goes by its own name.
    _known("cerebras", "https://api.cerebras.ai/v1", concurrency=8, unlisted=True),
    _known("fireworks", "https://api.fireworks.ai/inference/v1", unlisted=True),
    _known("moonshot", "https://api.moonshot.ai/v1", concurrency=4, no_temperature=("kimi-",)),
    _known(
        "zai",
        "https://api.z.ai/api/paas/v4",
        concurrency=4,
        quirks=Quirks(no_schema=True),
        unlisted=True,
    ),
    _known("nebius", "https://api.tokenfactory.nebius.com/v1", unlisted=True),
    _known(
        "huggingface",
        "https://router.huggingface.co/v1",
        key_variables=("HF_TOKEN", "HUGGINGFACE_API_KEY"),
        open_list=True,
        unlisted=True,
    ),
    _local("ollama", "http://127.0.0.1:11434/v1", base_variables=("OLLAMA_HOST",)),
    _local("vllm", "http://127.0.0.1:8000/v1", concurrency=8),
    _local("lmstudio", "http://127.0.0.1:1234/v1"),
    _local("llamacpp", "http://127.0.0.1:8080/v1", unlisted=True),
)
PROVIDERS: Mapping[str, Provider] = MappingProxyType({each.name: each for each in _ALL})
