"""Anthropic messages."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from autoreason.exchange import Message, Request, Usage
from autoreason.models import dialects
from autoreason.models.failures import ErrorReply, read_error
from autoreason.models.providers import Quirks, Secret


def headers(key: Secret | None) -> dialects.Headers:
    # 2026-10-21 differs only in what it refuses, a temperature among it, which older models take.
    version: dialects.Headers = {"anthropic-version": "2023-06-01"}
    return {**version, "x-api-key": key} if key else version


def body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:
    taken = dialects.adapt(request, quirks)
    # An empty block is an error there.
    messages = [each for each in taken.messages if each.text]
    last = dialects.last_stable(messages)
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
    sent: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "messages": spoken}
    config: dict[str, Any] = {}
    if system:
        sent["system"] = system
    if taken.temperature is not None:
        sent["temperature"] = taken.temperature
    if request.effort is not None and not quirks.no_thinking:
        # Before the fifth generation, models think only where they are asked to.
        sent["thinking"] = {"type": "disabled" if request.effort == "none" else "adaptive"}
    if taken.effort is not None:
        config["effort"] = "low" if taken.effort in ("none", "minimal") else taken.effort
    if taken.schema is not None:
        config["format"] = {"type": "json_schema", "schema": taken.schema.definition}
    if config:
        sent["output_config"] = config
    if stream:
        sent["stream"] = True
    return sent


def text_block(message: Message, *, cached: bool) -> dict[str, Any]:
    """One text block; the mark asks to cache everything up to here."""
    block: dict[str, Any] = {"type": "text", "text": message.text}
    if cached:
        block["cache_control"] = {"type": "ephemeral"}
    return block


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


_decode_answer = dialects.decoder(_Answer)
_decode_event = dialects.decoder(_Event)


class _Reducer(dialects.Reducer):
    cut = frozenset({"max_tokens", "model_context_window_exceeded"})
    refusals = frozenset({"refusal"})

    def read(self, payload: bytes) -> None:
        answer = _decode_answer(payload)
        if answer.type == "error":
            raise ErrorReply(read_error(payload))
        if answer.content is None:
            raise dialects.UnreadableReply("the reply has no content")
        self._count(answer.usage)
        for block in answer.content:
            self._add(block)
        self.finish_reason = dialects.word(answer.stop_reason)
        self.whole = True

    def feed(self, payload: bytes) -> str:
        event = _decode_event(payload)
        match event.type:
            case "content_block_delta" if event.delta:
                return self._add(event.delta)
            case "content_block_start" if event.content_block:
                return self._add(event.content_block)
            case "message_start" if event.message:
                self._count(event.message.usage)
            case "message_delta":
                self._count(event.usage)
                if event.delta and (reason := dialects.word(event.delta.stop_reason)):
                    self.finish_reason = reason
                    self.whole = True
            case "message_stop":
                self.whole = self.ended = True
            case "error":
                raise ErrorReply(read_error(payload))
        return ""

    def _count(self, accounts: Any) -> None:
        """Later counts of a stream replace earlier ones; what they leave out is kept."""
        later = {k: v for k, v in dialects.fields_of(accounts).items() if v is not None}
        self.accounts = dialects.fields_of(self.accounts) | later

    def _add(self, part: _Block | _Delta) -> str:
        self.reasoning.append(part.thinking)
        self.text.append(part.text)
        return part.text

    def usage(self) -> Usage:
        """In our terms, where cached tokens are part of the input."""
        accounts = dialects.fields_of(self.accounts)
        fresh = dialects.count(accounts.get("input_tokens"))
        written = dialects.count(accounts.get("cache_creation_input_tokens"))
        read = dialects.count(accounts.get("cache_read_input_tokens"))
        details = dialects.fields_of(accounts.get("output_tokens_details"))
        return Usage(
            input=None if fresh is None else fresh + (written or 0) + (read or 0),
            output=dialects.count(accounts.get("output_tokens")),
            cache_read=read,
            cache_write=written,
            reasoning=dialects.count(details.get("thinking_tokens")),
        )


ANTHROPIC = dialects.Dialect(
    path=lambda _model, _stream: "/v1/messages",
    headers=headers,
    body=body,
    reducer=_Reducer,
    models_path="/v1/models?limit=1000",
)
