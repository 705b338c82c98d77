"""Google's generateContent."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from autoreason.exchange import Effort, Request, Usage
from autoreason.models import dialects
from autoreason.models.failures import ErrorReply, read_error
from autoreason.models.providers import Quirks

_LEVELS = {"none": "MINIMAL", "minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM"}
_BUDGETS = {"none": 0, "minimal": 512, "low": 1024, "medium": 8192}
_LARGEST_BUDGET = 24_576


def path(model: str, stream: bool) -> str:
    how = "streamGenerateContent?alt=sse" if stream else "generateContent"
    full = model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"
    return f"/{full}:{how}"


def body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:  # noqa: ARG001 - in the path
    request = dialects.adapt(request, quirks)
    system = "\n\n".join(each.text for each in request.messages if each.speaker == "system")
    spoken = dialects.turns(each for each in request.messages if each.speaker != "system")
    config: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if request.temperature is not None:
        config["temperature"] = request.temperature
    if request.seed is not None:
        config["seed"] = request.seed
    if request.effort is not None:
        config["thinkingConfig"] = _thinking(request.effort, model)
    if request.schema is not None:
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
    return {"thinkingLevel": _LEVELS.get(effort, "HIGH")}


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


class _Answer(Struct, rename="camel"):
    candidates: list[_Candidate] = []
    prompt_feedback: _Feedback | None = None
    usage_metadata: Any = None
    error: Any = None


_decode = dialects.decoder(_Answer)
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class _Reducer(dialects.Reducer):
    """Each event is a small reply of its own. Without an end mark, only the end of the body ends a reply."""

    refusals = frozenset(
        {
            *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT"),
            *("SPII", "IMAGE_SAFETY", "MODEL_ARMOR"),
        }
    )

    def read(self, payload: bytes) -> None:
        """A server that does not stream sends the pieces as one list."""
        for piece in _decode_list(payload) if payload.lstrip().startswith(b"[") else [payload]:
            self.feed(piece)

    def feed(self, payload: bytes) -> str:
        answer = _decode(payload)
        if answer.error is not None:
            raise ErrorReply(read_error(payload))
        if answer.usage_metadata is not None:
            self.accounts = answer.usage_metadata
        feedback = answer.prompt_feedback
        if feedback and (reason := dialects.word(feedback.block_reason)):
            self.refused = True
            self.finish_reason = reason
        if not answer.candidates:
            return ""
        candidate = answer.candidates[0]
        self.finish_reason = dialects.word(candidate.finish_reason) or self.finish_reason
        visible: list[str] = []
        for part in candidate.content.parts:
            (self.reasoning if part.thought else visible).append(part.text)
        self.text += visible
        return "".join(visible)

    def is_cut(self, text: str) -> bool:
        """Whatever stopped it, a text that did not end by itself is not complete."""
        ended = self.finish_reason in ("STOP", "FINISH_REASON_UNSPECIFIED")
        return not ended and (bool(text) or self.finish_reason == "MAX_TOKENS")

    def usage(self) -> Usage:
        """In our terms, where reasoning is part of the output."""
        fields = dialects.fields_of(self.accounts)
        thought = dialects.count(fields.get("thoughtsTokenCount"))
        written = (dialects.count(fields.get("candidatesTokenCount")), thought)
        counted = [each for each in written if each is not None]
        return Usage(
            input=dialects.count(fields.get("promptTokenCount")),
            output=sum(counted) if counted else None,
            cache_read=dialects.count(fields.get("cachedContentTokenCount")),
            reasoning=thought,
        )


class _ModelEntry(Struct):
    name: str


class _ModelList(Struct):
    models: list[_ModelEntry] = []


def read_models(payload: bytes) -> list[str]:
    models = msgspec.json.decode(payload, type=_ModelList).models
    return [each.name.removeprefix("models/") for each in models]


GEMINI = dialects.Dialect(
    path=path,
    headers=lambda key: {"x-goog-api-key": key} if key else {},
    body=body,
    reducer=_Reducer,
    models_path="/models?pageSize=1000",
    read_models=read_models,
)
