"""A provider on a loopback port that speaks all formats and does what a test tells it to."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import pytest
from aiohttp import web


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    """With the query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What to do with one request."""

    text: str = "An answer."
    reasoning: str = ""
    finish: str | None = None
    """The provider's word for the end; None is its word for a natural one."""
    tokens_in: int = 10
    tokens_out: int = 5
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """Sent instead of a reply: bytes as they are, anything else as JSON."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    whole: bool = False
    """Do not stream, even if asked to."""
    unasked: bool = False
    """Stream, even if not asked to."""
    pieces: int = 4
    """Into how many events a stream cuts the text."""
    pace: float = 0.0
    """Seconds between the events of a stream."""
    cut_after: int | None = None
    """Drop the connection after so many events of a stream, or within a plain reply."""
    stall_after: int | None = None
    """Say nothing more after so many events of a stream."""
    ending: Literal["", "closed", "reset", "open"] = ""
    """What happens to the connection after the last event of a stream, in place of a proper end."""
    drop: bool = False
    """Drop the connection without an answer."""


class FakeProvider:
    """Answers as given, in order, and keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.models = ["fake-large", "fake-small"]
        self.usual = Answer()
        """For requests beyond those that were given."""
        self.minded: Callable[[Any], Answer] | None = None
        """Answers by what is asked, in place of the usual."""
        self.url = ""
        self._told: deque[Answer] = deque()
        self._over = asyncio.Event()

    @property
    def openai(self) -> str:
        return f"{self.url}/v1"

    @property
    def bodies(self) -> list[Any]:
        return [each.body for each in self.requests]

    def will(self, *answers: Answer) -> None:
        self._told.extend(answers)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeProvider]:
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        try:
            yield self
        finally:
            self._over.set()
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        content = await request.read()
        body = msgspec.json.decode(content) if content else None
        headers = {name.lower(): value for name, value in request.headers.items()}
        # Which of the client's connections it came on.
        headers["x-connection"] = str(
            request.transport and request.transport.get_extra_info("peername")
        )
        self.requests.append(Received(request.method, request.path_qs, headers, body))
        usual = self.minded(body) if self.minded else self.usual
        answer = self._told.popleft() if self._told else usual
        await self._wait(answer.delay)
        if answer.drop:
            return self._hang_up(request)
        if answer.body is not None or answer.status != 200:
            return _whole(answer, {} if answer.body is None else answer.body)
        if request.method == "GET":
            return _whole(answer, _listed(request.path, self.models))
        streamed = "stream" in request.path_qs or (body or {}).get("stream") is True
        if (streamed and not answer.whole) or answer.unasked:
            return await self._stream(request, answer)
        if answer.cut_after is not None:
            return await self._half(request, _reply(request.path, answer))
        return _whole(answer, _reply(request.path, answer))

    async def _half(self, request: web.Request, content: Any) -> web.StreamResponse:
        body = msgspec.json.encode(content)
        response = web.StreamResponse(headers={"content-length": str(len(body))})
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        return self._hang_up(request)

    async def _stream(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for place, event in enumerate(_events(request.path, answer)):
            if place == answer.stall_after:
                await self._wait(3600)
            if place == answer.cut_after:
                return self._hang_up(request)
            await response.write(event)
            await self._wait(answer.pace)
        if answer.ending == "open":
            await self._wait(3600)
        if answer.ending:
            return self._hang_up(request, reset=answer.ending == "reset")
        await response.write_eof()
        return response

    async def _wait(self, seconds: float) -> None:
        """As long as said, or until the test is over."""
        if seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), seconds)

    def _hang_up(self, request: web.Request, *, reset: bool = False) -> web.StreamResponse:
        assert request.transport is not None
        if reset:
            connection = request.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
        return web.Response()


@asynccontextmanager
async def fake_provider() -> AsyncIterator[FakeProvider]:
    async with FakeProvider().serving() as provider:
        yield provider


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with fake_provider() as listening:
        yield listening


def _whole(answer: Answer, content: Any) -> web.Response:
    body = content if isinstance(content, bytes) else msgspec.json.encode(content)
    headers = {"content-type": "application/json", **answer.headers}
    return web.Response(body=body, status=answer.status, headers=headers)


def _listed(path: str, models: list[str]) -> dict[str, Any]:
    if "v1beta" in path:
        return {"models": [{"name": f"models/{name}"} for name in models]}
    return {"data": [{"id": name, "type": "model"} for name in models], "has_more": False}


def _reply(path: str, answer: Answer) -> dict[str, Any]:
    return _format(path)[0](answer)


def _events(path: str, answer: Answer) -> list[bytes]:
    size = -(-len(answer.text) // answer.pieces) or 1
    pieces = [answer.text[at : at + size] for at in range(0, len(answer.text), size)] or [""]
    return _format(path)[1](answer, pieces)


def _format(
    path: str,
) -> tuple[Callable[[Answer], dict[str, Any]], Callable[[Answer, list[str]], list[bytes]]]:
    if path.endswith("/messages"):
        return message, _anthropic_events
    if path.endswith("/responses"):
        return _responses, _responses_events
    return (_gemini, _gemini_events) if "enerateContent" in path else (completion, _openai_events)


def sse(content: Any, event: str = "") -> bytes:
    head = f"event: {event}\n".encode() if event else b""
    return head + b"data: " + msgspec.json.encode(content) + b"\n\n"


def _openai_usage(answer: Answer) -> dict[str, Any]:
    return {
        "prompt_tokens": answer.tokens_in,
        "completion_tokens": answer.tokens_out,
        "total_tokens": answer.tokens_in + answer.tokens_out,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def completion(answer: Answer) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.reasoning:
        said["reasoning_content"] = answer.reasoning
    finish = answer.finish or "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": _openai_usage(answer),
    }


def _openai_events(answer: Answer, pieces: list[str]) -> list[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return sse({"object": "chat.completion.chunk", "choices": [choice], "usage": None})

    start = [chunk({"role": "assistant", "content": ""})]
    if answer.reasoning:
        start.append(chunk({"reasoning_content": answer.reasoning}))
    return [
        *start,
        *(chunk({"content": piece}) for piece in pieces),
        chunk({}, answer.finish or "stop"),
        sse({"object": "chat.completion.chunk", "choices": [], "usage": _openai_usage(answer)}),
        b"data: [DONE]\n\n",
    ]


def _responses(answer: Answer) -> dict[str, Any]:
    thought = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": answer.reasoning}],
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "fake-large",
        "status": "incomplete" if answer.finish else "completed",
        "incomplete_details": {"reason": answer.finish} if answer.finish else None,
        "error": None,
        "output": [thought, message] if answer.reasoning else [message],
        "usage": {
            "input_tokens": answer.tokens_in,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": answer.tokens_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.tokens_in + answer.tokens_out,
        },
    }


def _responses_events(answer: Answer, pieces: list[str]) -> list[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return sse({"type": kind, "sequence_number": 0, **more}, kind)

    whole = _responses(answer)
    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return [
        event("response.created", response=begun),
        event("response.output_item.added", output_index=0, item=item),
        *(event("response.output_text.delta", delta=piece, **where) for piece in pieces),
        event("response.output_text.done", text=answer.text, **where),
        event(f"response.{whole['status']}", response=whole),
    ]


def message(answer: Answer) -> dict[str, Any]:
    thinking = {"type": "thinking", "thinking": answer.reasoning, "signature": "c2ln"}
    text = {"type": "text", "text": answer.text}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [thinking, text] if answer.reasoning else [text],
        "stop_reason": answer.finish or "end_turn",
        "usage": {"input_tokens": answer.tokens_in, "output_tokens": answer.tokens_out},
    }


def _anthropic_events(answer: Answer, pieces: list[str]) -> list[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return sse({"type": kind, **more}, kind)

    def delta(**more: Any) -> bytes:
        return event("content_block_delta", index=0, delta=more)

    usage = {"input_tokens": answer.tokens_in, "output_tokens": 1}
    start: dict[str, Any] = {"type": "message", "content": [], "stop_reason": None, "usage": usage}
    block = {"type": "text", "text": ""}
    end = {"stop_reason": answer.finish or "end_turn", "stop_sequence": None}
    thought = [delta(type="thinking_delta", thinking=answer.reasoning)] if answer.reasoning else []
    return [
        event("message_start", message=start),
        event("ping"),
        *thought,
        event("content_block_start", index=0, content_block=block),
        *(delta(type="text_delta", text=piece) for piece in pieces),
        event("content_block_stop", index=0),
        event("message_delta", delta=end, usage={"output_tokens": answer.tokens_out}),
        event("message_stop"),
    ]


def _gemini(answer: Answer) -> dict[str, Any]:
    thought = [{"text": answer.reasoning, "thought": True}] if answer.reasoning else []
    return _gemini_part(answer, [*thought, {"text": answer.text}], answer.finish or "STOP")


def _gemini_events(answer: Answer, pieces: list[str]) -> list[bytes]:
    thought = [sse(_gemini_part(answer, [{"text": answer.reasoning, "thought": True}], None))]
    answer_text = [sse(_gemini_part(answer, [{"text": piece}], None)) for piece in pieces]
    end = sse(_gemini_part(answer, [], answer.finish or "STOP"))
    return [*(thought if answer.reasoning else []), *answer_text, end]


def _gemini_part(answer: Answer, parts: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": answer.tokens_in, "candidatesTokenCount": answer.tokens_out}
    return {"candidates": [candidate], "usageMetadata": usage}
