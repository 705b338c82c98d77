"""OpenAI chat completions: the format most servers speak, each with an accent."""

from __future__ import annotations

from decimal import Decimal
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.exchange import Reply, Request, Usage
from autoreason.models.dialects.base import (
    Dialect,
    Headers,
    Unreadable,
    decoder,
    messages_of,
    outcome_of,
    turns,
)
from autoreason.models.dialects.thinking import Thinking
from autoreason.models.failures import ErrorTold, read_error
from autoreason.models.keys import Secret
from autoreason.models.quirks import Quirks

_CUT = frozenset({"length", "model_length", "max_tokens"})
_BROKEN = frozenset({"error", "insufficient_system_resource"})


def path(model: str, stream: bool) -> str:  # noqa: ARG001 - other formats need both
    """Where requests go, below a base that ends in the version."""
    return "/chat/completions"


def headers(key: Secret | None) -> Headers:
    """The key, where there is one."""
    return {"authorization": key.after("Bearer ")} if key else {}


def body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:
    """What to send."""
    sent: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": speaker, "content": text}
            for speaker, text in turns(messages_of(request, quirks))
        ],
    }
    limit = "max_completion_tokens" if quirks.completion_tokens else "max_tokens"
    sent[limit] = request.max_tokens
    if request.temperature is not None and not quirks.no_temperature:
        sent["temperature"] = request.temperature
    if request.schema is not None and not quirks.no_schema:
        shape = {"name": request.schema.name, "strict": True, "schema": request.schema.definition}
        sent["response_format"] = {"type": "json_schema", "json_schema": shape}
        if quirks.require_schema:
            sent["provider"] = {"require_parameters": True}
    if stream:
        sent["stream"] = True
        if not quirks.no_stream_options:
            sent["stream_options"] = {"include_usage": True}
    if quirks.cache_key and (key := _cache_key(request)):
        sent["prompt_cache_key"] = key
    return sent


def _cache_key(request: Request) -> str | None:
    """The same for requests that start alike, so that they meet on the machine that remembers."""
    stable = "\n".join(message.text for message in request.messages if message.stable)
    return blake2b(stable.encode(), digest_size=12).hexdigest() if stable else None


class _Part(Struct):
    text: str | None = None
    thinking: list[_Part] = []


class _Said(Struct):
    """A message, or the piece of one that a stream adds."""

    content: str | list[_Part] | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    refusal: str | None = None

    def thought(self) -> str:
        """The thinking that came beside the text."""
        if isinstance(self.content, list):
            return "".join(each.text or "" for part in self.content for each in part.thinking)
        if self.reasoning_content:
            return self.reasoning_content
        return self.reasoning if isinstance(self.reasoning, str) else ""

    def text(self) -> str:
        """The text."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


class _Choice(Struct):
    message: _Said = msgspec.field(default_factory=_Said)
    delta: _Said | None = None
    finish_reason: str | None = None
    error: Any = None


class _InputDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(Struct):
    reasoning_tokens: int | None = None


class _CostDetails(Struct):
    upstream_inference_cost: Decimal | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    cost: Decimal | None = None
    is_byok: bool | None = None
    cost_details: _CostDetails | None = None

    def ours(self) -> Usage:
        """In our terms."""
        read = self.prompt_tokens_details or _InputDetails()
        written = self.completion_tokens_details or _OutputDetails()
        return Usage(
            input=self.prompt_tokens,
            output=self._output(),
            cache_read=read.cached_tokens,
            cache_write=read.cache_write_tokens,
            reasoning=written.reasoning_tokens,
        )

    def _output(self) -> int | None:
        """Some count reasoning beside the completion rather than in it; the total tells."""
        if self.completion_tokens is None or not self.total_tokens or self.prompt_tokens is None:
            return self.completion_tokens
        return max(self.completion_tokens, self.total_tokens - self.prompt_tokens)

    def paid(self) -> Decimal | None:
        """What a router says it cost; behind one's own upstream key, its fee and that bill."""
        if self.cost is None or not self.is_byok:
            return self.cost
        upstream = self.cost_details.upstream_inference_cost if self.cost_details else None
        return None if upstream is None else self.cost + upstream


class _Answer(Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


_decode = decoder(_Answer)


def read(payload: bytes, address: str) -> Reply:
    """A whole reply."""
    answer = _checked(payload)
    if not answer.choices:
        raise Unreadable("the reply holds no choice")
    collected = _Collected()
    collected.add(answer.choices[0].message)
    collected.finish_reason = answer.choices[0].finish_reason or ""
    collected.usage = answer.usage
    return collected.reply(address)


class Stream:
    """Puts a streamed reply together."""

    def __init__(self) -> None:
        self._collected = _Collected()
        self._done = False

    def feed(self, payload: bytes) -> str:
        """Take one event; give the text in it that can be shown."""
        if payload == b"[DONE]":
            self._done = True
            return ""
        answer = _checked(payload)
        if answer.usage is not None:
            self._collected.usage = answer.usage
        if not answer.choices:
            return ""
        choice = answer.choices[0]
        if choice.finish_reason:
            self._collected.finish_reason = choice.finish_reason
            self._done = True
        return self._collected.add(choice.delta or choice.message)

    def finish(self, address: str) -> Reply:
        """The whole reply."""
        if not self._done:
            raise Unreadable("the stream ended before its end mark")
        return self._collected.reply(address)


class _Collected:
    """What has been said so far."""

    def __init__(self) -> None:
        self.finish_reason = ""
        self.usage: _Usage | None = None
        self._thinking = Thinking()
        self._beside: list[str] = []
        self._refusal: list[str] = []

    def add(self, said: _Said) -> str:
        """Take a message or a piece of one; give the text that can be shown."""
        if thought := said.thought():
            self._beside.append(thought)
        if said.refusal:
            self._refusal.append(said.refusal)
        text = said.text()
        return self._thinking.feed(text) if text else ""

    def reply(self, address: str) -> Reply:
        """All of it, as ours."""
        if self.finish_reason in _BROKEN:
            raise Unreadable(f"the reply broke off ({self.finish_reason})")
        self._thinking.end()
        refusal = "".join(self._refusal)
        text = "".join(self._thinking.text) or refusal
        usage = self.usage or _Usage()
        refused = bool(refusal) or self.finish_reason == "content_filter"
        return Reply(
            outcome=outcome_of(text, cut=self.finish_reason in _CUT, refused=refused),
            text=text,
            model=address,
            reasoning="".join(self._beside + self._thinking.reasoning).strip(),
            finish=self.finish_reason,
            usage=usage.ours(),
            cost=usage.paid(),
        )


def _checked(payload: bytes) -> _Answer:
    answer = _decode(payload)
    if answer.error is not None:
        raise ErrorTold(read_error(payload))
    if answer.choices and answer.choices[0].error is not None:
        raise ErrorTold(read_error(msgspec.json.encode({"error": answer.choices[0].error})))
    return answer


class _Named(Struct):
    id: str


class _Listed(Struct):
    data: list[_Named] | None = None


def read_models(payload: bytes) -> list[str]:
    """The names a server offers; a few send the list without its wrapping."""
    listed = msgspec.json.decode(payload, type=_Listed | list[_Named])
    return [each.id for each in (listed if isinstance(listed, list) else listed.data or [])]


DIALECT = Dialect(
    path=path,
    headers=headers,
    body=body,
    read=read,
    reducer=Stream,
    models_path="/models",
    read_models=read_models,
)
