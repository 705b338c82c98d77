"""OpenAI's formats: chat completions, which most servers speak, each with an accent, and responses."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.exchange import Reply, Request, Schema, Usage
from autoreason.models.dialects import (
    Dialect,
    Headers,
    Reducer,
    UnreadableReply,
    adapt,
    count,
    decoder,
    fields_of,
    money,
    turns,
    word,
)
from autoreason.models.failures import ErrorReply, read_error
from autoreason.models.providers import Quirks, Secret

_BROKEN = frozenset({"error", "insufficient_system_resource"})
_ENDED = frozenset({"completed", "incomplete", "failed", "cancelled"})


def headers(key: Secret | None) -> Headers:
    return {"authorization": key.after("Bearer ")} if key else {}


def chat_body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:
    request = adapt(request, quirks)
    limit = "max_completion_tokens" if quirks.completion_tokens else "max_tokens"
    sent: dict[str, Any] = {
        "model": model,
        "messages": _conversation(request),
        limit: request.max_tokens,
    }
    if request.temperature is not None:
        sent["temperature"] = request.temperature
    if request.seed is not None:
        sent["random_seed" if quirks.random_seed else "seed"] = request.seed
    if request.effort is not None:
        sent["reasoning_effort"] = request.effort
    if request.schema is not None:
        sent["response_format"] = {"type": "json_schema", "json_schema": shape(request.schema)}
        if quirks.require_schema:
            sent["provider"] = {"require_parameters": True}
    if stream:
        sent["stream"] = True
        if not quirks.no_stream_options:
            sent["stream_options"] = {"include_usage": True}
    return sent | _cache_key(request, quirks)


def responses_body(request: Request, model: str, quirks: Quirks, stream: bool) -> dict[str, Any]:
    request = adapt(request, quirks)
    sent: dict[str, Any] = {
        "model": model,
        "input": _conversation(request),
        "max_output_tokens": request.max_tokens,
        # The whole conversation is sent each time; nothing needs to be kept there.
        "store": False,
    }
    if request.temperature is not None:
        sent["temperature"] = request.temperature
    if request.effort is not None:
        sent["reasoning"] = {"effort": request.effort}
    if request.schema is not None:
        sent["text"] = {"format": {"type": "json_schema", **shape(request.schema)}}
    if stream:
        sent["stream"] = True
    return sent | _cache_key(request, quirks)


def _conversation(request: Request) -> list[dict[str, Any]]:
    return [{"role": speaker, "content": text} for speaker, text in turns(request.messages)]


def shape(schema: Schema) -> dict[str, Any]:
    return {"name": schema.name, "strict": True, "schema": schema.definition}


def _cache_key(request: Request, quirks: Quirks) -> dict[str, str]:
    """The same for requests that start alike, so that they meet on the machine that remembers."""
    stable = "\n".join(message.text for message in request.messages if message.stable)
    if not (quirks.cache_key and stable):
        return {}
    return {"prompt_cache_key": blake2b(stable.encode(), digest_size=12).hexdigest()}


def usage_of(accounts: Any, read: str = "prompt", written: str = "completion") -> Usage:
    """Tokens in our terms, from fields that are named after what was read and written."""
    fields = fields_of(accounts)
    inside = fields_of(fields.get(f"{read}_tokens_details"))
    outside = fields_of(fields.get(f"{written}_tokens_details"))
    tokens_in = count(fields.get(f"{read}_tokens"))
    tokens_out = count(fields.get(f"{written}_tokens"))
    total = count(fields.get("total_tokens"))
    if tokens_in is not None and tokens_out is not None and total:
        # Some count reasoning in addition to the completion; the total shows it.
        tokens_out = max(tokens_out, total - tokens_in)
    return Usage(
        input=tokens_in,
        output=tokens_out,
        cache_read=count(inside.get("cached_tokens")),
        cache_write=count(inside.get("cache_write_tokens", inside.get("cache_creation_tokens"))),
        reasoning=count(outside.get("reasoning_tokens")),
    )


# Chat completions.


_OPEN, _CLOSE = "<think>", "</think>"


class Thinking:
    """Separates reasoning from text as pieces arrive, without showing a part of a mark."""

    def __init__(self) -> None:
        self.reasoning: list[str] = []
        self.text: list[str] = []
        self._buffer = ""
        # Not bound to this object: a reference cycle would keep every reply until the collector runs.
        self._state: Callable[[Thinking, str], str] = Thinking._before

    def feed(self, piece: str) -> str:
        return self._state(self, piece)

    def end(self) -> None:
        """No more pieces: what was buffered is not the start of a mark."""
        buffered, self._buffer = self._buffer, ""
        (self.reasoning if self._state is Thinking._within else self.text).append(buffered)

    def _before(self, piece: str) -> str:
        self._buffer += piece
        start = self._buffer.lstrip()
        if _OPEN.startswith(start):
            return ""
        buffered, self._buffer = self._buffer, ""
        if start.startswith(_OPEN):
            self._state = Thinking._within
            return self._within(start[len(_OPEN) :])
        self._state = Thinking._after
        return self._after(buffered)

    def _within(self, piece: str) -> str:
        self._buffer += piece
        thought, mark, rest = self._buffer.partition(_CLOSE)
        if not mark:
            # The end of what came may be the start of the mark.
            starts = (n for n in range(len(_CLOSE) - 1, 0, -1) if self._buffer.endswith(_CLOSE[:n]))
            safe = len(self._buffer) - next(starts, 0)
            self.reasoning.append(self._buffer[:safe])
            self._buffer = self._buffer[safe:]
            return ""
        self.reasoning.append(thought)
        self._buffer = ""
        self._state = Thinking._past
        return self._past(rest)

    def _past(self, piece: str) -> str:
        """The blank lines after the mark are not part of the text."""
        text = piece.lstrip()
        if not text:
            return ""
        self._state = Thinking._after
        return self._after(text)

    def _after(self, piece: str) -> str:
        self.text.append(piece)
        return piece


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
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


class _Choice(Struct):
    message: _Message = msgspec.field(default_factory=_Message)
    delta: _Message | None = None
    finish_reason: Any = None
    error: Any = None


class _Completion(Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


_decode_completion = decoder(_Completion)


class _ChatReducer(Reducer):
    cut = frozenset({"length", "model_length", "max_tokens"})
    refusals = frozenset({"content_filter"})

    def __init__(self) -> None:
        super().__init__()
        self._thinking = Thinking()
        self._refusal: list[str] = []

    def read(self, payload: bytes) -> None:
        choice = self._choice(payload)
        if choice is None:
            raise UnreadableReply("the reply has no choice")
        self._add(choice.message)
        self.whole = True

    def feed(self, payload: bytes) -> str:
        if payload == b"[DONE]":
            self.whole = self.ended = True
            return ""
        choice = self._choice(payload)
        return self._add(choice.delta or choice.message) if choice else ""

    def _choice(self, payload: bytes) -> _Choice | None:
        answer = _decode_completion(payload)
        if answer.error is not None:
            raise ErrorReply(read_error(payload))
        if answer.usage is not None:
            self.accounts = answer.usage
        if not answer.choices:
            return None
        choice = answer.choices[0]
        if choice.error is not None:
            raise ErrorReply(read_error(msgspec.json.encode({"error": choice.error})))
        if finish := word(choice.finish_reason):
            self.finish_reason = finish
            self.whole = True
        return choice

    def _add(self, message: _Message) -> str:
        self.reasoning.append(message.thought())
        self._refusal.append(message.refusal or "")
        return self._thinking.feed(message.text())

    def finish(self, address: str) -> Reply:
        """The whole reply, or `UnreadableReply` if it ended early or the server gave up on it."""
        if self.finish_reason in _BROKEN:
            raise UnreadableReply(f"the reply broke off ({self.finish_reason})")
        self._thinking.end()
        refusal = "".join(self._refusal)
        self.refused = bool(refusal)
        self.text = ["".join(self._thinking.text) or refusal]
        self.reasoning += self._thinking.reasoning
        return super().finish(address)

    def usage(self) -> Usage:
        return usage_of(self.accounts)

    def cost(self) -> Decimal | None:
        """The cost a router reports; with the user's own upstream key, its fee plus that bill."""
        fields = fields_of(self.accounts)
        cost = money(fields.get("cost"))
        if cost is None or fields.get("is_byok") in (None, False):
            return cost
        upstream = money(fields_of(fields.get("cost_details")).get("upstream_inference_cost"))
        return None if upstream is None else cost + upstream


OPENAI_CHAT = Dialect(
    path=lambda _model, _stream: "/chat/completions",
    headers=headers,
    body=chat_body,
    reducer=_ChatReducer,
    models_path="/models",
)


# Responses: the format of models that chat completions do not serve.


class _ContentPart(Struct):
    text: str = ""
    refusal: str = ""


class _Item(Struct):
    """A message, or the reasoning before one."""

    type: str = ""
    id: str = ""
    phase: str | None = None
    content: list[_ContentPart] | None = None
    summary: list[_ContentPart] | None = None

    @property
    def shown(self) -> bool:
        return self.type == "message" and self.phase != "commentary"

    def text(self) -> str:
        return "".join(part.text for part in (*(self.summary or ()), *(self.content or ())))

    def refusal(self) -> str:
        return "".join(part.refusal for part in self.content or ())


class _Incomplete(Struct):
    reason: Any = None


class _Response(Struct):
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
    response: _Response | None = None
    error: Any = None


_decode_response = decoder(_Response)
_decode_event = decoder(_Event)


class _ResponsesReducer(Reducer):
    """The last event of a stream contains all of it."""

    refusals = frozenset({"content_filter"})

    def __init__(self) -> None:
        super().__init__()
        self._answer: _Response | None = None
        self._aside: set[str] = set()

    def read(self, payload: bytes) -> None:
        self._answer = _decode_response(payload)

    def feed(self, payload: bytes) -> str:
        if payload == b"[DONE]":
            return ""
        event = _decode_event(payload)
        if event.type == "error" or event.error is not None:
            raise ErrorReply(read_error(payload))
        if event.type == "response.output_text.delta":
            text = "" if event.item_id in self._aside else word(event.delta)
            self.text.append(text)
            return text
        if event.item is not None and not event.item.shown:
            self._aside.add(event.item.id)
        if event.response is not None and word(event.response.status) in _ENDED:
            self._answer = event.response
            self.whole = self.ended = True
        return ""

    def finish(self, address: str) -> Reply:
        """The whole reply; some servers send its text in pieces only."""
        answer = self._answer
        if answer is None:
            raise UnreadableReply("the reply ended before its end mark")
        status = word(answer.status)
        if answer.error is not None:
            raise ErrorReply(read_error(msgspec.json.encode({"error": answer.error})))
        if answer.output is None or status not in ("completed", "incomplete"):
            raise UnreadableReply(f"the reply has no answer ({status or 'without a status'})")
        reason = word(answer.incomplete_details.reason) if answer.incomplete_details else ""
        refusal = "".join(item.refusal() for item in answer.output)
        shown = "".join(item.text() for item in answer.output if item.shown)
        self.refused = bool(refusal)
        self.text = [shown or "".join(self.text) or refusal]
        self.reasoning = ["\n\n".join(each.text() for each in answer.output if not each.shown)]
        self.finish_reason = reason or status
        self.accounts = answer.usage
        return super().finish(address)

    def is_cut(self, text: str) -> bool:  # noqa: ARG002
        return self._answer is not None and word(self._answer.status) == "incomplete"

    def usage(self) -> Usage:
        return usage_of(self.accounts, "input", "output")


OPENAI_RESPONSES = Dialect(
    path=lambda _model, _stream: "/responses",
    headers=headers,
    body=responses_body,
    reducer=_ResponsesReducer,
    models_path="/models",
)
