"""OpenAI responses: the format of models that chat completions do not serve."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from autoreason.exchange import Reply, Request
from autoreason.models.dialects import openai_chat
from autoreason.models.dialects.base import (
    Dialect,
    UnreadableReply,
    decoder,
    outcome_of,
    read_models,
    word,
)
from autoreason.models.failures import ErrorReply, read_error
from autoreason.models.quirks import Quirks

_ENDED = frozenset({"completed", "incomplete", "failed", "cancelled"})
_COMMENTARY = "commentary"


def body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:
    """What to send."""
    sent: dict[str, Any] = {
        "model": model,
        "input": openai_chat.chat_messages(request, quirks),
        "max_output_tokens": request.max_tokens,
        # The whole conversation is sent each time; nothing needs to be kept there.
        "store": False,
    }
    if request.temperature is not None and not quirks.no_temperature:
        sent["temperature"] = request.temperature
    if request.effort is not None and not quirks.no_effort:
        sent["reasoning"] = {"effort": request.effort}
    if request.schema is not None and not quirks.no_schema:
        shape = openai_chat.shape(request.schema)
        sent["text"] = {"format": {"type": "json_schema", **shape}}
    if stream:
        sent["stream"] = True
    if quirks.cache_key and (key := openai_chat.cache_key(request)):
        sent["prompt_cache_key"] = key
    return sent


class _Part(Struct):
    text: str = ""
    refusal: str = ""


class _Item(Struct):
    """A message, or the reasoning before one."""

    type: str = ""
    id: str = ""
    phase: str | None = None
    content: list[_Part] | None = None
    summary: list[_Part] | None = None

    @property
    def shown(self) -> bool:
        """Whether it is part of the answer."""
        return self.type == "message" and self.phase != _COMMENTARY

    def text(self) -> str:
        """Its whole text."""
        return "".join(part.text for part in (*(self.summary or ()), *(self.content or ())))

    def refusal(self) -> str:
        """Why the model will not answer."""
        return "".join(part.refusal for part in self.content or ())


class _Incomplete(Struct):
    reason: Any = None


class _Answer(Struct):
    status: Any = None
    output: list[_Item] | None = None
    incomplete_details: _Incomplete | None = None
    usage: Any = None
    error: Any = None


class _Event(Struct):
    """One event of a stream; which fields it has depends on its type."""

    type: str = ""
    delta: Any = None
    item_id: str = ""
    item: _Item | None = None
    response: _Answer | None = None
    error: Any = None


_decode_answer = decoder(_Answer)
_decode_event = decoder(_Event)


def read(payload: bytes, address: str) -> Reply:
    """A whole reply."""
    return _reply(_decode_answer(payload), address, "")


def _reply(answer: _Answer, address: str, streamed: str) -> Reply:
    """The reply; some servers send its text in pieces only."""
    status = word(answer.status)
    if answer.error is not None:
        raise ErrorReply(read_error(msgspec.json.encode({"error": answer.error})))
    if answer.output is None or status not in ("completed", "incomplete"):
        raise UnreadableReply(f"the reply has no answer ({status or 'without a status'})")
    reason = word(answer.incomplete_details.reason) if answer.incomplete_details else ""
    refusal = "".join(item.refusal() for item in answer.output)
    text = "".join(item.text() for item in answer.output if item.shown) or streamed or refusal
    refused = bool(refusal) or reason == "content_filter"
    return Reply(
        outcome=outcome_of(text, cut=status == "incomplete", refused=refused),
        text=text,
        model=address,
        reasoning="\n\n".join(item.text() for item in answer.output if not item.shown).strip(),
        finish=reason or status,
        usage=openai_chat.usage_of(answer.usage, "input", "output"),
    )


class Stream:
    """Puts a streamed reply together; the last event contains all of it."""

    def __init__(self) -> None:
        self.whole = False
        self.ended = False
        self._answer: _Answer | None = None
        self._aside: set[str] = set()
        self._text: list[str] = []

    def feed(self, payload: bytes) -> str:
        """Take one event; give the text in it that can be shown."""
        if payload == b"[DONE]":
            return ""
        event = _decode_event(payload)
        if event.type == "error" or event.error is not None:
            raise ErrorReply(read_error(payload))
        if event.type == "response.output_text.delta":
            return self._show(event)
        if event.item is not None and not event.item.shown:
            self._aside.add(event.item.id)
        if event.response is not None and word(event.response.status) in _ENDED:
            self._answer = event.response
            self.whole = self.ended = True
        return ""

    def _show(self, event: _Event) -> str:
        if event.item_id in self._aside:
            return ""
        text = word(event.delta)
        self._text.append(text)
        return text

    def finish(self, address: str) -> Reply:
        """The whole reply."""
        if self._answer is None:
            raise UnreadableReply("the stream ended before its end mark")
        return _reply(self._answer, address, "".join(self._text))


DIALECT = Dialect(
    path=lambda _model, _stream: "/responses",
    headers=openai_chat.headers,
    body=body,
    read=read,
    reducer=Stream,
    models_path=openai_chat.DIALECT.models_path,
    read_models=read_models,
)
