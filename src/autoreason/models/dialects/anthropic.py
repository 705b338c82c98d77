"""Anthropic messages."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from autoreason.exchange import Message, Reply, Request, Usage
from autoreason.models.dialects.base import (
    Dialect,
    Headers,
    Unreadable,
    decoder,
    messages_of,
    outcome_of,
)
from autoreason.models.failures import ErrorTold, read_error
from autoreason.models.keys import Secret
from autoreason.models.quirks import Quirks

_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})


def path(model: str, stream: bool) -> str:  # noqa: ARG001 - other formats need both
    """Where requests go."""
    return "/v1/messages"


def headers(key: Secret | None) -> Headers:
    """The version of the format, and the key."""
    version: Headers = {"anthropic-version": "2023-06-01"}
    return {**version, "x-api-key": key} if key else version


def body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:
    """What to send."""
    # An empty block is an error there; it says nothing anyway.
    messages = [each for each in messages_of(request, quirks) if each.text]
    last = max((place for place, each in enumerate(messages) if each.stable), default=None)
    system: list[dict[str, Any]] = []
    spoken: list[dict[str, Any]] = []
    for place, message in enumerate(messages):
        block = _block(message, marked=place == last)
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
    if request.schema is not None and not quirks.no_schema:
        shape = {"type": "json_schema", "schema": request.schema.definition}
        sent["output_config"] = {"format": shape}
    if stream:
        sent["stream"] = True
    return sent


def _block(message: Message, *, marked: bool) -> dict[str, Any]:
    """One text block; the mark says that everything up to here will come again."""
    block: dict[str, Any] = {"type": "text", "text": message.text}
    if marked:
        block["cache_control"] = {"type": "ephemeral"}
    return block


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    def ours(self) -> Usage:
        """In our terms, where cached tokens are part of the input."""
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return Usage(
            input=None if self.input_tokens is None else self.input_tokens + cached,
            output=self.output_tokens,
            cache_read=self.cache_read_input_tokens,
            cache_write=self.cache_creation_input_tokens,
        )

    def updated(self, later: _Usage) -> _Usage:
        """Later counts of a stream replace earlier ones; what they leave out still holds."""
        merged = {
            name: getattr(self, name) if getattr(later, name) is None else getattr(later, name)
            for name in self.__struct_fields__
        }
        return _Usage(**merged)


class _Block(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""


class _Answer(Struct):
    type: str = ""
    content: list[_Block] | None = None
    stop_reason: str | None = None
    usage: _Usage = msgspec.field(default_factory=_Usage)


class _Delta(Struct):
    text: str = ""
    thinking: str = ""
    stop_reason: str | None = None


class _Event(Struct):
    """One event of a stream; which fields it has depends on its type."""

    type: str = ""
    message: _Answer | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None


_decode_answer = decoder(_Answer)
_decode_event = decoder(_Event)


def read(payload: bytes, address: str) -> Reply:
    """A whole reply."""
    answer = _decode_answer(payload)
    if answer.type == "error":
        raise ErrorTold(read_error(payload))
    if answer.content is None:
        raise Unreadable("the reply holds no content")
    collected = _Collected(answer.usage)
    for block in answer.content:
        collected.add(block)
    collected.stop_reason = answer.stop_reason or ""
    return collected.reply(address)


class Stream:
    """Puts a streamed reply together."""

    def __init__(self) -> None:
        self._collected = _Collected(_Usage())
        self._done = False

    def feed(self, payload: bytes) -> str:
        """Take one event; give the text in it that can be shown."""
        event = _decode_event(payload)
        collected = self._collected
        if event.type == "content_block_delta" and event.delta:
            return collected.add(event.delta)
        if event.type == "content_block_start" and event.content_block:
            return collected.add(event.content_block)
        if event.type == "message_start" and event.message:
            collected.usage = event.message.usage
        elif event.type == "message_delta":
            if event.delta and event.delta.stop_reason:
                collected.stop_reason = event.delta.stop_reason
            if event.usage:
                collected.usage = collected.usage.updated(event.usage)
        elif event.type == "message_stop":
            self._done = True
        elif event.type == "error":
            raise ErrorTold(read_error(payload))
        return ""

    def finish(self, address: str) -> Reply:
        """The whole reply."""
        if not self._done:
            raise Unreadable("the stream ended before its end mark")
        return self._collected.reply(address)


class _Collected:
    """What has been said so far."""

    def __init__(self, usage: _Usage) -> None:
        self.usage = usage
        self.stop_reason = ""
        self._text: list[str] = []
        self._thinking: list[str] = []

    def add(self, said: _Block | _Delta) -> str:
        """Take a block or a piece of one; give the text that can be shown."""
        if said.thinking:
            self._thinking.append(said.thinking)
        if said.text:
            self._text.append(said.text)
        return said.text

    def reply(self, address: str) -> Reply:
        """All of it, as ours."""
        text = "".join(self._text)
        return Reply(
            outcome=outcome_of(
                text, cut=self.stop_reason in _CUT, refused=self.stop_reason == "refusal"
            ),
            text=text,
            model=address,
            reasoning="".join(self._thinking),
            finish=self.stop_reason,
            usage=self.usage.ours(),
        )


class _Named(Struct):
    id: str


class _Listed(Struct):
    data: list[_Named]


def read_models(payload: bytes) -> list[str]:
    """The names the server offers."""
    return [each.id for each in msgspec.json.decode(payload, type=_Listed).data]


DIALECT = Dialect(
    path=path,
    headers=headers,
    body=body,
    read=read,
    reducer=Stream,
    models_path="/v1/models?limit=1000",
    read_models=read_models,
)
