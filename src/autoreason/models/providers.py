"""The providers we know, as data: where they are, how they differ, their keys, and what their models cost."""

from __future__ import annotations

import os
import re
import stat
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.exchange import Request, Usage
from autoreason.files import config_folder, open_input
from autoreason.models.failures import ProviderError, Refused

_UNSUPPORTED = frozenset(
    {"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"}
)
_OUT_OF_RANGE = ("_max_value", "_min_value")
_ONLY_RESPONSES = "v1/responses"


class Quirks(Struct, frozen=True, kw_only=True):
    """What to do differently for one model."""

    no_temperature: bool = False
    no_seed: bool = False
    random_seed: bool = False
    """Mistral's: the seed is called `random_seed`."""
    no_schema: bool = False
    no_stream: bool = False
    no_stream_options: bool = False
    no_system: bool = False
    """It takes no system message: it is sent as the user's."""
    no_effort: bool = False
    no_thinking: bool = False
    """Anthropic's: its thinking cannot be switched on or off, though its effort may be set."""
    responses: bool = False
    """OpenAI's: it is served in the responses format only."""
    completion_tokens: bool = False
    """The limit is called `max_completion_tokens`, not `max_tokens`."""
    tokens_settled: bool = False
    """Which of the two it wants was learned; not to be swapped back."""
    cache_key: bool = False
    require_schema: bool = False
    """A router that drops a schema silently unless it is marked as required."""


class _Lesson(NamedTuple):
    """An error that teaches a quirk, by the names of parameters or by a pattern of its message."""

    quirk: str
    names: tuple[str, ...]
    pattern: str = r"(?!)"


_LESSONS = (
    _Lesson("no_temperature", ("temperature",)),
    _Lesson("no_seed", ("seed", "random_seed")),
    _Lesson("no_stream_options", ("stream_options",)),
    _Lesson(
        "no_stream",
        ("stream",),
        r"verified to stream|stream(ing)? (is )?not (supported|allowed|enabled)|not support stream",
    ),
    _Lesson("no_thinking", ("thinking",), r"adaptive thinking"),
    _Lesson(
        "no_effort",
        (
            *("reasoning_effort", "output_config.effort", "effort", "reasoning"),
            *("thinkingConfig", "thinking_config", "thinkingLevel", "thinking_level"),
            *("thinkingBudget", "thinking_budget"),
        ),
        r"thinking (level|budget|config)|effort parameter|reasoning effort",
    ),
    _Lesson(
        "no_schema",
        (
            *("response_format", "json_schema", "output_config", "output_format"),
            *("responseJsonSchema", "response_json_schema"),
            *("responseMimeType", "response_mime_type", "text.format"),
        ),
        r"output format|structured output|json mode",
    ),
    _Lesson("no_effort", ("output_config",)),
    _Lesson(
        "no_system",
        ("systemInstruction", "system_instruction"),
        r"(developer|system) (instruction|role|message|prompt)s?( is| are)? not (enabled|supported)",
    ),
)
"""In the order in which an error that names several is understood."""


def learn(quirks: Quirks, refused: Refused, request: Request, streamed: bool) -> dict[str, bool]:
    """The quirks to change before asking again; none if the error teaches nothing new."""
    provider_error = refused.provider_error
    sent = _relevant_quirks(request, streamed)
    if refused.status == 404 and quirks.require_schema and not quirks.no_schema:
        # No provider behind the router supports it; an unknown model will fail again.
        return {"no_schema": True} if "no_schema" in sent else {}
    only_responses = _ONLY_RESPONSES in provider_error.message and refused.status in (400, 404)
    if only_responses and not quirks.responses:
        return {"responses": True}
    if refused.status not in (400, 422):
        return {}
    for lesson in _LESSONS:
        new = lesson.quirk in sent and not getattr(quirks, lesson.quirk)
        if new and _at_fault(provider_error, lesson):
            return {lesson.quirk: True}
    if not quirks.tokens_settled and _other_limit_wanted(quirks, provider_error):
        return {"completion_tokens": not quirks.completion_tokens, "tokens_settled": True}
    return {}


def _relevant_quirks(request: Request, streamed: bool) -> set[str]:
    """The quirks that would have changed this request."""
    changed = {
        "no_temperature": request.temperature is not None,
        "no_seed": request.seed is not None,
        "no_schema": request.schema is not None,
        "no_stream": streamed,
        "no_stream_options": streamed,
        "no_system": any(each.speaker == "system" for each in request.messages),
        "no_effort": request.effort is not None,
        "no_thinking": request.effort is not None,
    }
    return {name for name, would in changed.items() if would}


def _at_fault(provider_error: ProviderError, lesson: _Lesson) -> bool:
    """Whether the server objects to one of these parameters, not to its value being too high."""
    if any(word.endswith(_OUT_OF_RANGE) for word in provider_error.words):
        return False
    if provider_error.param:
        parts = re.split(r"[./\[\]]", provider_error.param)
        inside = f"{provider_error.param}.".startswith(tuple(f"{name}." for name in lesson.names))
        return inside or not set(parts).isdisjoint(lesson.names)
    mentioned = any(_mentions(name, provider_error.message) for name in lesson.names)
    return mentioned or re.search(lesson.pattern, provider_error.message, re.IGNORECASE) is not None


def _other_limit_wanted(quirks: Quirks, provider_error: ProviderError) -> bool:
    sent, other = "max_tokens", "max_completion_tokens"
    if quirks.completion_tokens:
        sent, other = other, sent
    unsupported = provider_error.param == sent and not provider_error.words.isdisjoint(_UNSUPPORTED)
    return unsupported or _mentions(other, provider_error.message)


def _mentions(name: str, message: str) -> bool:
    """Whether a message names a parameter; one that is an English word must be quoted or assigned."""
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    if name.isalpha() and name.islower():
        word = rf"(?:^|['\"`]|invalid ){name}(?!\w)|(?<!\w){name}\s*="
    return re.search(word, message) is not None


DialectName = Literal["anthropic", "gemini", "openai_chat", "openai_responses"]
BatchKind = Literal["openai", "anthropic"]
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
    quirks: Quirks = _NONE
    own_quirks: Quirks | None = None
    """At its own address, where these differ."""
    no_temperature: tuple[str, ...] = ()
    """How the names of models start that take no temperature."""
    no_schema: tuple[str, ...] = ()
    responses: str = r"(?!)"
    """What the names of models look like that its own address serves in OpenAI's responses format only."""
    unlisted: bool = False
    """Answers to names that it does not list."""
    batch: BatchKind | None = None
    """Its batch interface; None where it has none that we know."""
    open_list: bool = False
    """Lists its models without a key, so that listing does not check the key."""

    def base(self, url: str | None = None) -> str:
        for name in self.base_variables:
            url = url or os.environ.get(name, "").strip()
        return _normal(self, url) if url else self.base_url

    def at_home(self, base: str) -> bool:
        home = urlsplit(self.base_url).hostname or ""
        host = urlsplit(base).hostname or ""
        return host == home or host.endswith("." + home)

    def quirks_of(self, model: str, base: str) -> Quirks:
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
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or "?" in url or "#" in url:
        # Not quoted, for it may contain a password; addresses are written down with every run.
        raise InvalidInput(
            f"the address for {provider.name} must read like http://localhost:8000/v1, without a user, "
            f"a password or a query; put the key into {provider.key_variables[0]} or the key file"
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
    return "".join(sign if sign.isalnum() else "_" for sign in name.upper())


def custom(name: str) -> Provider:
    """A server we do not know, reached at an address the user gives."""
    key = f"{_variable(name)}_API_KEY"
    return Provider(name=name, base_url="", key_variables=(key,), needs_key=False)


def _known(name: str, base_url: str, **other: Any) -> Provider:
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


_HIDDEN = "[key]"
_SHORTEST = 8
"""Letters of a key that is one: what is shorter, such as `none`, is part of other words."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")


class Secret:
    """A value that is used but never shown."""

    __slots__ = ("_prefix", "_value")

    def __init__(self, value: str, prefix: str = "") -> None:
        self._value = value
        self._prefix = prefix

    def after(self, prefix: str) -> Secret:
        """The same secret, to be sent behind a word such as `Bearer `."""
        return Secret(self._value, prefix)

    def reveal(self) -> str:
        """What goes over the wire."""
        return self._prefix + self._value

    def hide(self, text: str) -> str:
        """The text without the secret: as it is, percent-encoded, or in base64, whatever surrounds it there."""
        if len(self._value) < _SHORTEST:
            return text
        signs = (f"(?:%{ord(sign):02x}|{re.escape(sign)})" for sign in self._value)
        text = re.sub("".join(signs), _HIDDEN, text, flags=re.IGNORECASE)
        ends = [self._value[start:] for start in range(3)]
        forms = [b64encode(end[: len(end) // 3 * 3].encode()).decode() for end in ends]

        def hide_coded(word: re.Match[str]) -> str:
            plain = word[0].replace("-", "+").replace("_", "/")
            return _HIDDEN if any(form in plain for form in forms) else word[0]

        return _BASE64.sub(hide_coded, text)

    def __repr__(self) -> str:
        return "Secret(…)"


def key_file() -> Path:
    return config_folder() / "keys.toml"


def find_key(provider: str, variables: Iterable[str], *, needed: bool) -> Secret | None:
    """The key for a provider: from the environment, else from the key file."""
    names = tuple(variables)
    for name in names:
        if value := os.environ.get(name, "").strip():
            return _checked(value, f"the variable {name}")
    path = key_file()
    file_values = _read(path)
    for name in (*names, provider):
        if value := file_values.get(name, "").strip():
            return _checked(value, f"{name} in {path}")
    if needed:
        raise InvalidInput(
            f"{provider} needs an API key: set {' or '.join(names)},"
            f' or write `{names[0]} = "…"` into {path} (readable by you alone).'
        )
    return None


def _read(path: Path) -> dict[str, str]:
    try:
        mode = path.stat().st_mode
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InvalidInput(f"the key file {path} can be read by others; run `chmod 600 {path}`")
        # Most keys are in the environment.
        import tomllib

        with open_input(path) as file:
            content = tomllib.loads(file.read().decode("utf-8-sig"))
        if not all(isinstance(value, str) for value in content.values()):
            raise ValueError
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}; move it away") from None
    # The parser's message could quote the line, and the line is a key.
    except ValueError:
        raise InvalidInput(f'the key file {path} is not TOML with lines NAME = "key"') from None
    return content


def _checked(value: str, where: str) -> Secret:
    """Refuse what no HTTP header can carry, without repeating it."""
    if not (value.isascii() and value.isprintable()):
        raise InvalidInput(f"the key in {where} has characters that no API key has; copy it again")
    return Secret(value)


def no_batches(address: str) -> InvalidInput:
    known = [name for name, each in PROVIDERS.items() if each.batch]
    others = f"or choose a model of {' or '.join(known)}"
    return InvalidInput(f"{address} has no batch interface; leave `batch` out, {others}")


_FREE = frozenset({"local", "echo", "scripted", "ollama", "vllm", "lmstudio", "llamacpp"})
SAME_PRICES = {"openai-responses": "openai"}
_MILLION = Decimal(1_000_000)
_BATCH = Decimal("0.5")
"""What a request in a batch costs of the price of one that is asked at once, cached or not."""


class Rates(Struct, frozen=True):
    """What a model's tokens cost: US dollars per million."""

    input: Decimal
    output: Decimal


class _Rates(Struct, frozen=True):
    """What all tokens of a call cost, where its prompt is longer than `tokens`."""

    input: Decimal
    output: Decimal
    read: Decimal | None = None
    """Read from a cache; None means like any input."""
    write: Decimal | None = None
    """Read and put into a cache; None means like any input."""
    tokens: int = -1
    since: date | None = None
    above: tuple[_Rates, ...] = ()

    def at(self, input_tokens: int) -> _Rates:
        longer = [each for each in self.above if input_tokens > each.tokens]
        return longer[-1] if longer else self

    def cost(self, usage: Usage) -> Decimal | None:
        """The price of a call, or None if the provider did not report its usage."""
        if usage.input is None or usage.output is None:
            return None
        rate = self.at(usage.input)
        read, written = usage.cache_read or 0, usage.cache_write or 0
        fresh = max(0, usage.input - read - written)
        total = fresh * rate.input + usage.output * rate.output
        total += read * (rate.input if rate.read is None else rate.read)
        total += written * (rate.input if rate.write is None else rate.write)
        return total / _MILLION


class _Row(Struct, frozen=True, rename={"exact": "is"}):
    """A model: the names it goes by, its window and its prices, the current one first."""

    exact: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    like: tuple[str, ...] = ()
    window: int | None = None
    rates: tuple[_Rates, ...] = ()

    def matches(self, name: str) -> bool:
        return (
            name in self.exact
            or name.startswith(self.starts)
            or any(part in name for part in self.has)
            or any(re.match(pattern, name) for pattern in self.like)
        )


class Snapshot(Struct, frozen=True):
    """All we know, and as of when."""

    source: str
    date: date
    providers: dict[str, msgspec.Raw]
    """As in the file: a run uses one or two of them."""


def price(address: str, usage: Usage, *, batch: bool = False) -> Decimal | None:
    if address.partition("/")[0] in _FREE:
        return Decimal(0)
    current = _today(address)
    cost = None if current is None else current.cost(usage)
    return cost * _BATCH if batch and cost is not None else cost


def rates(address: str, input_tokens: int | None = None, *, batch: bool = False) -> Rates | None:
    """The most a model's tokens can cost, for a prompt of this length or else of any."""
    if address.partition("/")[0] in _FREE:
        return Rates(Decimal(0), Decimal(0))
    current = _today(address)
    if current is None:
        return None
    steps = (current, *current.above) if input_tokens is None else (current.at(input_tokens),)
    # What is read may be put into a cache on the way, which costs more than reading it.
    share = _BATCH if batch else 1
    return Rates(
        max(max(each.input, each.write or each.input) for each in steps) * share,
        max(each.output for each in steps) * share,
    )


def window(address: str) -> int | None:
    """How many tokens a model can read and write at once; None where that is not known."""
    row = _row(address)
    return None if row is None else row.window


@lru_cache(maxsize=1)
def snapshot() -> Snapshot:
    content = Path(__file__).with_name("prices.json").read_bytes()
    return msgspec.json.decode(content, type=Snapshot)


@lru_cache(maxsize=16)
def _rows(provider: str) -> tuple[_Row, ...]:
    rows = snapshot().providers.get(provider)
    return () if rows is None else msgspec.json.decode(rows, type=tuple[_Row, ...])


@lru_cache(maxsize=1024)
def _row(address: str) -> _Row | None:
    provider, _, model = address.lower().partition("/")
    rows = _rows(SAME_PRICES.get(provider, provider))
    return next((row for row in rows if row.matches(model)), None)


def _today(address: str) -> _Rates | None:
    row = _row(address)
    if row is None:
        return None
    today = datetime.now(UTC).date()
    valid = [each for each in row.rates if each.since is None or each.since <= today]
    return valid[-1] if valid else None
