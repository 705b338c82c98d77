"""Google's generateContent."""

from __future__ import annotations

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
from autoreason.models.failures import ErrorTold, read_error
from autoreason.models.keys import Secret
from autoreason.models.quirks import Quirks

_ENDED = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})
_REFUSED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "MODEL_ARMOR",
    }
)


def path(model: str, stream: bool) -> str:
    """Where requests go, below a base that ends in the version."""
    how = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/{_full(model)}:{how}"


def _full(model: str) -> str:
    return model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"


def headers(key: Secret | None) -> Headers:
    """The key, where there is one."""
    return {"x-goog-api-key": key} if key else {}


def body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:  # noqa: ARG001 - in the path
    """What to send."""
    messages = messages_of(request, quirks)
    system = "\n\n".join(each.text for each in messages if each.speaker == "system")
    spoken = turns(each for each in messages if each.speaker != "system")
    config: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if request.temperature is not None and not quirks.no_temperature:
        config["temperature"] = request.temperature
    if request.schema is not None and not quirks.no_schema:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = request.schema.definition
    sent: dict[str, Any] = {
        "contents": [
            {"role": "model" if speaker == "assistant" else "user", "parts": [{"text": text}]}
            for speaker, text in spoken
        ],
        "generationConfig": config,
    }
    if system:
        sent["systemInstruction"] = {"parts": [{"text": system}]}
    return sent


class _Part(Struct):
    text: str = ""
    thought: bool = False


class _Content(Struct):
    parts: list[_Part] = []


class _Candidate(Struct, rename="camel"):
    content: _Content = msgspec.field(default_factory=_Content)
    finish_reason: str | None = None


class _Feedback(Struct, rename="camel"):
    block_reason: str | None = None


class _Usage(Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None

    def ours(self) -> Usage:
        """In our terms, where reasoning is part of the output."""
        written = (self.candidates_token_count, self.thoughts_token_count)
        counted = [count for count in written if count is not None]
        return Usage(
            input=self.prompt_token_count,
            output=sum(counted) if counted else None,
            cache_read=self.cached_content_token_count,
            reasoning=self.thoughts_token_count,
        )


class _Answer(Struct, rename="camel"):
    candidates: list[_Candidate] = []
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None
    error: Any = None


_decode = decoder(_Answer)
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def read(payload: bytes, address: str) -> Reply:
    """A whole reply; a server that does not stream sends the pieces as one list."""
    collected = Stream()
    pieces = _decode_list(payload) if payload.lstrip().startswith(b"[") else [payload]
    for piece in pieces:
        collected.feed(piece)
    return collected.finish(address)


class Stream:
    """Puts a reply together; each event is a small reply of its own."""

    def __init__(self) -> None:
        self._finish = ""
        self._blocked = False
        self._usage = _Usage()
        self._text: list[str] = []
        self._thinking: list[str] = []

    def feed(self, payload: bytes) -> str:
        """Take one event; give the text in it that can be shown."""
        answer = _decode(payload)
        if answer.error is not None:
            raise ErrorTold(read_error(payload))
        if answer.usage_metadata is not None:
            self._usage = answer.usage_metadata
        if answer.prompt_feedback and answer.prompt_feedback.block_reason:
            self._blocked = True
            self._finish = answer.prompt_feedback.block_reason
        return self._take(answer.candidates[0]) if answer.candidates else ""

    def _take(self, candidate: _Candidate) -> str:
        if candidate.finish_reason:
            self._finish = candidate.finish_reason
        shown: list[str] = []
        for part in candidate.content.parts:
            (self._thinking if part.thought else shown).append(part.text)
        text = "".join(shown)
        self._text.append(text)
        return text

    def finish(self, address: str) -> Reply:
        """The whole reply."""
        if not self._finish:
            raise Unreadable("the reply ended without a finish reason")
        text = "".join(self._text)
        refused = self._blocked or self._finish in _REFUSED
        # Whatever else stopped it, a text that did not come to its own end is not whole.
        cut = self._finish not in _ENDED and (bool(text) or self._finish == "MAX_TOKENS")
        return Reply(
            outcome=outcome_of(text, cut=cut, refused=refused),
            text=text,
            model=address,
            reasoning="".join(self._thinking),
            finish=self._finish,
            usage=self._usage.ours(),
        )


class _Named(Struct):
    name: str


class _Listed(Struct):
    models: list[_Named] = []


def read_models(payload: bytes) -> list[str]:
    """The names the server offers, without the folder they stand in."""
    listed = msgspec.json.decode(payload, type=_Listed).models
    return [each.name.removeprefix("models/") for each in listed]


DIALECT = Dialect(
    path=path,
    headers=headers,
    body=body,
    read=read,
    reducer=Stream,
    models_path="/models?pageSize=1000",
    read_models=read_models,
)
