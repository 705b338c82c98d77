"""Google's generateContent."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from autoreason.exchange import Effort, Reply, Request, Usage
from autoreason.models.api_keys import Secret
from autoreason.models.dialects.base import (
    Dialect,
    Headers,
    UnreadableReply,
    count,
    decoder,
    fields_of,
    messages_of,
    outcome_of,
    turns,
    word,
)
from autoreason.models.failures import ErrorReply, read_error
from autoreason.models.quirks import Quirks

_LEVELS = {
    "none": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "HIGH",
    "max": "HIGH",
}
_BUDGETS = {"none": 0, "minimal": 512, "low": 1024, "medium": 8192}
_LARGEST_BUDGET = 24_576
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
    if request.seed is not None and not quirks.no_seed:
        config["seed"] = request.seed
    if request.effort is not None and not quirks.no_effort:
        config["thinkingConfig"] = _thinking(request.effort, model)
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


def _thinking(effort: Effort, model: str) -> dict[str, Any]:
    """A level; the generation before levels has a number of tokens."""
    if "gemini-2.5" in model:
        return {"thinkingBudget": _BUDGETS.get(effort, _LARGEST_BUDGET)}
    return {"thinkingLevel": _LEVELS[effort]}


class _Part(Struct):
    text: str = ""
    thought: bool = False


class _Content(Struct):
    parts: list[_Part] = []


class _Candidate(Struct, rename="camel"):
    content: _Content = msgspec.field(default_factory=_Content)
    finish_reason: Any = None


class _Feedback(Struct, rename="camel"):
    block_reason: Any = None


def _usage(accounts: Any) -> Usage:
    """In our terms, where reasoning is part of the output."""
    fields = fields_of(accounts)
    thought = count(fields.get("thoughtsTokenCount"))
    written = (count(fields.get("candidatesTokenCount")), thought)
    counted = [each for each in written if each is not None]
    return Usage(
        input=count(fields.get("promptTokenCount")),
        output=sum(counted) if counted else None,
        cache_read=count(fields.get("cachedContentTokenCount")),
        reasoning=thought,
    )


class _Answer(Struct, rename="camel"):
    candidates: list[_Candidate] = []
    prompt_feedback: _Feedback | None = None
    usage_metadata: Any = None
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
        # There is no end mark: only the end of the body shows that nothing is missing.
        self.whole = False
        self.ended = False
        self._finish = ""
        self._blocked = False
        self._accounts: Any = None
        self._text: list[str] = []
        self._thinking: list[str] = []

    def feed(self, payload: bytes) -> str:
        """Take one event; give the text in it that can be shown."""
        answer = _decode(payload)
        if answer.error is not None:
            raise ErrorReply(read_error(payload))
        if answer.usage_metadata is not None:
            self._accounts = answer.usage_metadata
        if answer.prompt_feedback and (reason := word(answer.prompt_feedback.block_reason)):
            self._blocked = True
            self._finish = reason
        return self._take(answer.candidates[0]) if answer.candidates else ""

    def _take(self, candidate: _Candidate) -> str:
        self._finish = word(candidate.finish_reason) or self._finish
        visible: list[str] = []
        for part in candidate.content.parts:
            (self._thinking if part.thought else visible).append(part.text)
        text = "".join(visible)
        self._text.append(text)
        return text

    def finish(self, address: str) -> Reply:
        """The whole reply."""
        if not self._finish:
            raise UnreadableReply("the reply ended without a finish reason")
        text = "".join(self._text)
        refused = self._blocked or self._finish in _REFUSED
        # Whatever else stopped it, a text that did not end by itself is not complete.
        cut = self._finish not in _ENDED and (bool(text) or self._finish == "MAX_TOKENS")
        return Reply(
            outcome=outcome_of(text, cut=cut, refused=refused),
            text=text,
            model=address,
            reasoning="".join(self._thinking),
            finish=self._finish,
            usage=_usage(self._accounts),
        )


class _ModelEntry(Struct):
    name: str


class _ModelList(Struct):
    models: list[_ModelEntry] = []


def read_models(payload: bytes) -> list[str]:
    """The names the server lists, without their prefix."""
    models = msgspec.json.decode(payload, type=_ModelList).models
    return [each.name.removeprefix("models/") for each in models]


DIALECT = Dialect(
    path=path,
    headers=headers,
    body=body,
    read=read,
    reducer=Stream,
    models_path="/models?pageSize=1000",
    read_models=read_models,
)
