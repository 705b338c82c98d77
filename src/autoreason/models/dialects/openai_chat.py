"""OpenAI chat completions: the format most servers speak, each with an accent."""

from __future__ import annotations

from decimal import Decimal
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.exchange import Reply, Request, Schema, Usage
from autoreason.models.api_keys import Secret
from autoreason.models.dialects.base import (
    Dialect,
    Headers,
    UnreadableReply,
    count,
    decoder,
    fields_of,
    messages_of,
    money,
    outcome_of,
    read_models,
    turns,
    word,
)
from autoreason.models.dialects.thinking import Thinking
from autoreason.models.failures import ErrorReply, read_error
from autoreason.models.quirks import Quirks

_CUT = frozenset({"length", "model_length", "max_tokens"})
_BROKEN = frozenset({"error", "insufficient_system_resource"})


def headers(key: Secret | None) -> Headers:
    """The key, where there is one."""
    return {"authorization": key.after("Bearer ")} if key else {}


def body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:
    """What to send."""
    sent: dict[str, Any] = {
        "model": model,
        "messages": chat_messages(request, quirks),
    }
    limit = "max_completion_tokens" if quirks.completion_tokens else "max_tokens"
    sent[limit] = request.max_tokens
    if request.temperature is not None and not quirks.no_temperature:
        sent["temperature"] = request.temperature
    if request.seed is not None and not quirks.no_seed:
        sent["random_seed" if quirks.random_seed else "seed"] = request.seed
    if request.effort is not None and not quirks.no_effort:
        sent["reasoning_effort"] = request.effort
    if request.schema is not None and not quirks.no_schema:
        sent["response_format"] = {"type": "json_schema", "json_schema": shape(request.schema)}
        if quirks.require_schema:
            sent["provider"] = {"require_parameters": True}
    if stream:
        sent["stream"] = True
        if not quirks.no_stream_options:
            sent["stream_options"] = {"include_usage": True}
    if quirks.cache_key and (key := cache_key(request)):
        sent["prompt_cache_key"] = key
    return sent


def chat_messages(request: Request, quirks: Quirks) -> list[dict[str, Any]]:
    """The conversation."""
    message = turns(messages_of(request, quirks))
    return [{"role": speaker, "content": text} for speaker, text in message]


def shape(schema: Schema) -> dict[str, Any]:
    """A schema that must be kept to."""
    return {"name": schema.name, "strict": True, "schema": schema.definition}


def cache_key(request: Request) -> str | None:
    """The same for requests that start alike, so that they meet on the machine that remembers."""
    stable = "\n".join(message.text for message in request.messages if message.stable)
    return blake2b(stable.encode(), digest_size=12).hexdigest() if stable else None


class _Part(Struct):
    text: str | None = None
    thinking: list[_Part] = []


class _Message(Struct):
    """A message, or the piece of one that a stream adds."""

    content: str | list[_Part] | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    refusal: str | None = None

    def thought(self) -> str:
        """The reasoning that came in a field of its own."""
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
    message: _Message = msgspec.field(default_factory=_Message)
    delta: _Message | None = None
    finish_reason: Any = None
    error: Any = None


def usage_of(accounts: Any, read: str = "prompt", written: str = "completion") -> Usage:
    """Tokens in our terms, from fields that are named after what was read and written."""
    fields = fields_of(accounts)
    inside = fields_of(fields.get(f"{read}_tokens_details"))
    outside = fields_of(fields.get(f"{written}_tokens_details"))
    tokens_in, tokens_out = (
        count(fields.get(f"{read}_tokens")),
        count(fields.get(f"{written}_tokens")),
    )
    total = count(fields.get("total_tokens"))
    if tokens_in is not None and tokens_out is not None and total:
        # Some count reasoning in addition to the completion; the total shows it.
        tokens_out = max(tokens_out, total - tokens_in)
    return Usage(
        input=tokens_in,
        output=tokens_out,
        cache_read=count(inside.get("cached_tokens")),
        cache_write=count(inside.get("cache_write_tokens")),
        reasoning=count(outside.get("reasoning_tokens")),
    )


def _cost(accounts: Any) -> Decimal | None:
    """The cost a router reports; with the user's own upstream key, its fee plus that bill."""
    fields = fields_of(accounts)
    cost = money(fields.get("cost"))
    if cost is None or fields.get("is_byok") in (None, False):
        return cost
    upstream = money(fields_of(fields.get("cost_details")).get("upstream_inference_cost"))
    return None if upstream is None else cost + upstream


class _Answer(Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


_decode = decoder(_Answer)


def read(payload: bytes, address: str) -> Reply:
    """A whole reply."""
    answer = _decode_answer(payload)
    if not answer.choices:
        raise UnreadableReply("the reply has no choice")
    reply = Stream()
    reply.add(answer.choices[0].message)
    reply.finish_reason = word(answer.choices[0].finish_reason)
    reply.usage = answer.usage
    reply.whole = True
    return reply.finish(address)


class Stream:
    """Puts a reply together, streamed or whole."""

    def __init__(self) -> None:
        self.whole = False
        self.ended = False
        self.finish_reason = ""
        self.usage: Any = None
        self._thinking = Thinking()
        self._separate_reasoning: list[str] = []
        self._refusal: list[str] = []

    def feed(self, payload: bytes) -> str:
        """Take one event; give the text in it that can be shown."""
        if payload == b"[DONE]":
            self.whole = self.ended = True
            return ""
        answer = _decode_answer(payload)
        if answer.usage is not None:
            self.usage = answer.usage
        if not answer.choices:
            return ""
        choice = answer.choices[0]
        if finish := word(choice.finish_reason):
            self.finish_reason = finish
            self.whole = True
        return self.add(choice.delta or choice.message)

    def add(self, message: _Message) -> str:
        """Take a message or a piece of one; give the text that can be shown."""
        if thought := message.thought():
            self._separate_reasoning.append(thought)
        if message.refusal:
            self._refusal.append(message.refusal)
        text = message.text()
        return self._thinking.feed(text) if text else ""

    def finish(self, address: str) -> Reply:
        """The whole reply."""
        if not self.whole:
            raise UnreadableReply("the stream ended before its end mark")
        if self.finish_reason in _BROKEN:
            raise UnreadableReply(f"the reply broke off ({self.finish_reason})")
        self._thinking.end()
        refusal = "".join(self._refusal)
        text = "".join(self._thinking.text) or refusal
        refused = bool(refusal) or self.finish_reason == "content_filter"
        return Reply(
            outcome=outcome_of(text, cut=self.finish_reason in _CUT, refused=refused),
            text=text,
            model=address,
            reasoning="".join(self._separate_reasoning + self._thinking.reasoning).strip(),
            finish=self.finish_reason,
            usage=usage_of(self.usage),
            cost=_cost(self.usage),
        )


def _decode_answer(payload: bytes) -> _Answer:
    answer = _decode(payload)
    if answer.error is not None:
        raise ErrorReply(read_error(payload))
    if answer.choices and answer.choices[0].error is not None:
        raise ErrorReply(read_error(msgspec.json.encode({"error": answer.choices[0].error})))
    return answer


DIALECT = Dialect(
    path=lambda _model, _stream: "/chat/completions",
    headers=headers,
    body=body,
    read=read,
    reducer=Stream,
    models_path="/models",
    read_models=read_models,
)
