"""Anthropic messages."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from autoreason.exchange import Message, Reply, Request, Usage
from autoreason.models.api_keys import Secret
from autoreason.models.dialects.base import (
    Dialect,
    Headers,
    UnreadableReply,
    count,
    decoder,
    fields_of,
    last_stable,
    messages_of,
    outcome_of,
    read_models,
    word,
)
from autoreason.models.failures import ErrorReply, read_error
from autoreason.models.quirks import Quirks

_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})


def headers(key: Secret | None) -> Headers:
    """The version of the format, and the key."""
    # 2026-10-21 differs only in what it refuses, a temperature among it, which older models take.
    version: Headers = {"anthropic-version": "2023-06-01"}
    return {**version, "x-api-key": key} if key else version


def body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:
    """What to send."""
    # An empty block is an error there.
    messages = [each for each in messages_of(request, quirks) if each.text]
    last = last_stable(messages)
    system: list[dict[str, Any]] = []
    spoken: list[dict[str, Any]] = []
    for place, message in enumerate(messages):
        block = text_block(message, cached=place == last)
        if message.speaker == "system":
            system.append(block)
        elif spoken and spoken[-1]["role"] == message.speaker:
            spoken[-1]["content"].append(block)
        else:
            spoken.append({"role": message.speaker, "content": [block]})
    sent: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": spoken,
    }
    if system:
        sent["system"] = system
    if request.temperature is not None and not quirks.no_temperature:
        sent["temperature"] = request.temperature
    if request.effort is not None and not quirks.no_thinking:
        # Before the fifth generation, models think only where they are asked to.
        sent["thinking"] = {"type": "disabled" if request.effort == "none" else "adaptive"}
    if config := _output_config(request, quirks):
        sent["output_config"] = config
    if stream:
        sent["stream"] = True
    return sent


def _output_config(request: Request, quirks: Quirks) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if request.effort is not None and not quirks.no_effort:
        config["effort"] = "low" if request.effort in ("none", "minimal") else request.effort
    if request.schema is not None and not quirks.no_schema:
        config["format"] = {"type": "json_schema", "schema": request.schema.definition}
    return config


def text_block(message: Message, *, cached: bool) -> dict[str, Any]:
    """One text block; the mark asks to cache everything up to here."""
    block: dict[str, Any] = {"type": "text", "text": message.text}
    if cached:
        block["cache_control"] = {"type": "ephemeral"}
    return block


def _usage(accounts: dict[str, Any]) -> Usage:
    """In our terms, where cached tokens are part of the input."""
    fresh = count(accounts.get("input_tokens"))
    written = count(accounts.get("cache_creation_input_tokens"))
    read = count(accounts.get("cache_read_input_tokens"))
    details = fields_of(accounts.get("output_tokens_details"))
    return Usage(
        input=None if fresh is None else fresh + (written or 0) + (read or 0),
        output=count(accounts.get("output_tokens")),
        cache_read=read,
        cache_write=written,
        reasoning=count(details.get("thinking_tokens")),
    )


class _Block(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""


class _Answer(Struct):
    type: str = ""
    content: list[_Block] | None = None
    stop_reason: Any = None
    usage: Any = None


class _Delta(Struct):
    text: str = ""
    thinking: str = ""
    stop_reason: Any = None


class _Event(Struct):
    """One event of a stream; which fields it has depends on its type."""

    type: str = ""
    message: _Answer | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: Any = None


_decode_answer = decoder(_Answer)
_decode_event = decoder(_Event)


def read(payload: bytes, address: str) -> Reply:
    """A whole reply."""
    answer = _decode_answer(payload)
    if answer.type == "error":
        raise ErrorReply(read_error(payload))
    if answer.content is None:
        raise UnreadableReply("the reply has no content")
    reply = Stream()
    reply.count(answer.usage)
    for block in answer.content:
        reply.add(block)
    reply.stop_reason = word(answer.stop_reason)
    reply.whole = True
    return reply.finish(address)


class Stream:
    """Puts a reply together, streamed or whole."""

    def __init__(self) -> None:
        self.whole = False
        self.ended = False
        self.stop_reason = ""
        self._accounts: dict[str, Any] = {}
        self._text: list[str] = []
        self._thinking: list[str] = []

    def feed(self, payload: bytes) -> str:
        """Take one event; give the text in it that can be shown."""
        event = _decode_event(payload)
        if event.type == "content_block_delta" and event.delta:
            return self.add(event.delta)
        if event.type == "content_block_start" and event.content_block:
            return self.add(event.content_block)
        if event.type == "message_start" and event.message:
            self.count(event.message.usage)
        elif event.type == "message_delta":
            self.count(event.usage)
            if event.delta and (reason := word(event.delta.stop_reason)):
                self.stop_reason = reason
                self.whole = True
        elif event.type == "message_stop":
            self.whole = self.ended = True
        elif event.type == "error":
            raise ErrorReply(read_error(payload))
        return ""

    def count(self, accounts: Any) -> None:
        """Later counts of a stream replace earlier ones; what they leave out is kept."""
        later = fields_of(accounts)
        self._accounts |= {name: value for name, value in later.items() if value is not None}

    def add(self, part: _Block | _Delta) -> str:
        """Take a block or a piece of one; give the text that can be shown."""
        if part.thinking:
            self._thinking.append(part.thinking)
        if part.text:
            self._text.append(part.text)
        return part.text

    def finish(self, address: str) -> Reply:
        """The whole reply."""
        if not self.whole:
            raise UnreadableReply("the stream ended before its end mark")
        text = "".join(self._text)
        return Reply(
            outcome=outcome_of(
                text, cut=self.stop_reason in _CUT, refused=self.stop_reason == "refusal"
            ),
            text=text,
            model=address,
            reasoning="".join(self._thinking),
            finish=self.stop_reason,
            usage=_usage(self._accounts),
        )


DIALECT = Dialect(
    path=lambda _model, _stream: "/v1/messages",
    headers=headers,
    body=body,
    read=read,
    reducer=Stream,
    models_path="/v1/models?limit=1000",
    read_models=read_models,
)
