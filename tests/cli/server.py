"""A server on this machine that answers like one with OpenAI's interface, when it is let."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any
from urllib.request import urlopen

from autoreason.exchange import Message, Request, Schema
from autoreason.models.doubles import EchoModel


class Server(ThreadingHTTPServer):
    """Counts what it is asked."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = 0
        self.bodies: list[Any] = []
        self.keys: set[str] = set()
        """Every key it was shown, listings included."""
        self.visits = 0
        """Requests of any kind."""
        self.moved_to = ""
        """Where it sends everybody who asks for its models."""
        self.streamed = 0
        self.gate = threading.Event()
        """Answers wait for it..."""
        self.held_from = 1
        """...from this call on."""
        self.broken_from: int | None = None
        """From this call on, it fails."""
        self.silent = False
        """It says nothing when it is asked for its models."""
        self.busy = False
        """It asks everybody to come back in a minute."""
        self.judges_vote = True
        """Otherwise they like everything they are shown."""

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that was killed is nothing to report."""

    def settle(self) -> None:
        """Wait until all that was sent so far has been dealt with; connections are taken in their order."""
        with urlopen(f"{self.url}/models") as reply:
            reply.read()
        while any("process_request_thread" in thread.name for thread in threading.enumerate()):
            time.sleep(0.01)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    """Speaks as much of the interface as is needed."""

    server: Server

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        if parsed:
            self.server.visits += 1
            shown = (self.headers["authorization"], self.headers["x-api-key"])
            self.server.keys |= {each.removeprefix("Bearer ") for each in shown if each}
        return parsed

    def do_GET(self) -> None:
        if self.server.silent:
            self.server.gate.wait()
        if self.server.moved_to:
            self._send(308, {}, {"location": self.server.moved_to})
            return
        models = [{"id": name, "object": "model"} for name in ("slow", "gpt-5-mini")]
        self._send(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        self.server.asked += 1
        number = self.server.asked
        if self.server.broken_from is not None and number >= self.server.broken_from:
            self._send(401, {"error": {"message": "this key was revoked"}})
            return
        if self.server.busy:
            self._send(429, {"error": {"message": "slow down"}}, {"retry-after": "60"})
            return
        if number >= self.server.held_from:
            self.server.gate.wait()
        text = answer(body) if self.server.judges_vote or not judged(body) else "All of them."
        usage = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
        if body.get("stream"):
            self.server.streamed += 1
            self._stream(text, usage)
        else:
            choice = {"message": {"content": text}, "finish_reason": "stop"}
            self._send(200, {"choices": [choice], "usage": usage})

    def _stream(self, text: str, usage: dict[str, int]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        chunks: list[dict[str, Any]] = [
            {"choices": [{"delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(
        self, status: int, value: object, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, said in headers.items():
            self.send_header(name, said)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def judged(body: dict[str, Any]) -> bool:
    shape = body.get("response_format", {}).get("json_schema", {})
    return bool(shape.get("name") == "ballot")


def request_of(body: dict[str, Any]) -> Request:
    """What a model is asked with such a body."""
    shape = body.get("response_format", {}).get("json_schema")
    return Request(
        role="author",
        key="x",
        model="echo/echo",
        messages=tuple(Message(each["role"], each["content"]) for each in body["messages"]),
        max_tokens=1000,
        schema=Schema(shape["name"], shape["schema"], "") if shape else None,
    )


def answer(body: dict[str, Any]) -> str:
    return asyncio.run(EchoModel().ask(request_of(body))).text


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()
