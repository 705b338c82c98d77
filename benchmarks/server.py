"""A provider with OpenAI's interface in a process of its own: fast, and exact about when it was asked."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import select
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.answers import Answers, ChatRequest

ROOT = Path(__file__).parents[1]
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_HEAD_END = b"\r\n\r\n"
_FIRST_CHUNK = 0.3
"""Share of the latency until a stream begins."""
_read_request = msgspec.json.Decoder(ChatRequest).decode


class Span(NamedTuple):
    """One call, on the monotonic clock."""

    arrived: float
    done: float


class Provider:
    """Answers after its latency, and remembers when."""

    def __init__(self, latency: float, chunks: int) -> None:
        self.latency = latency
        self.chunks = chunks
        self.answers = Answers()
        self.log: list[Span] = []
        self.requests = 0

    def note_request(self) -> None:
        """The first call is announced, so that the parent process can read the caller's clock."""
        self.requests += 1
        if self.requests == 1:
            print("asked", flush=True)


class Connection(asyncio.Protocol):
    """One client's connection: one request at a time, kept open."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody calls."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        received = self._received
        received += data
        end = received.find(_HEAD_END)
        if end < 0:
            return
        length = _LENGTH.search(received, 0, end)
        whole = end + len(_HEAD_END) + (int(length[1]) if length else 0)
        if len(received) < whole:
            return
        body = bytes(received[end + len(_HEAD_END) : whole])
        method, path, _ = bytes(received[: received.find(b"\r\n")]).decode().split(" ", 2)
        del received[:whole]
        self._serve(method, path, body)

    def _serve(self, method: str, path: str, body: bytes) -> None:
        if method == "POST":
            self._complete(body)
        elif path == "/stats":
            self._send(msgspec.json.encode(self._provider.log))
        else:
            self._send(msgspec.json.encode({"object": "list", "data": [{"id": "fake"}]}))

    def _complete(self, body: bytes) -> None:
        arrived = time.monotonic()
        self._provider.note_request()
        chat_request = _read_request(body)
        text = self._provider.answers.to(chat_request)
        usage = {
            "prompt_tokens": len(body) // 4,
            "completion_tokens": len(text) // 4,
            "total_tokens": len(body) // 4 + len(text) // 4,
        }
        if chat_request.stream:
            self._stream(arrived, text, usage)
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        reply = {"choices": [choice | {"finish_reason": "stop"}], "usage": usage}
        encoded = msgspec.json.encode(_HEADER | reply)
        self._loop.call_at(self._due(arrived, 1.0), self._finish, arrived, encoded)

    def _due(self, arrived: float, share: float) -> float:
        # The loop's clock is the monotonic one.
        return arrived + self._provider.latency * share

    def _finish(self, arrived: float, encoded: bytes) -> None:
        self._send(encoded)
        self._provider.log.append(Span(arrived, time.monotonic()))

    def _send(self, encoded: bytes) -> None:
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(encoded)}"
        )
        self._transport.write(head.encode() + _HEAD_END + encoded)

    def _stream(self, arrived: float, text: str, usage: dict[str, int]) -> None:
        chunks = self._provider.chunks
        size = -(-len(text) // chunks)
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        last = _chunk({}, "stop") + _event({**_HEADER, "choices": [], "usage": usage}) + _DONE
        self._transport.write(_STREAM_HEAD)
        self._play(arrived, [*(_chunk({"content": piece}) for piece in pieces), last])

    def _play(self, arrived: float, parts: list[bytes], number: int = 0) -> None:
        """The parts one after the other, the last when the latency is over."""
        share = _FIRST_CHUNK + (1.0 - _FIRST_CHUNK) * number / (len(parts) - 1)
        self._loop.call_at(self._due(arrived, share), self._part, arrived, parts, number)

    def _part(self, arrived: float, parts: list[bytes], number: int) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(parts[number])
        if number + 1 < len(parts):
            self._play(arrived, parts, number + 1)
        else:
            self._provider.log.append(Span(arrived, time.monotonic()))


_HEADER = {"id": "x", "object": "chat.completion", "created": 0, "model": "fake"}
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _event(value: object) -> bytes:
    return _http_chunk(b"data: " + msgspec.json.encode(value) + b"\n\n")


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({**_HEADER, "choices": [choice]})


_DONE = _http_chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"


async def serve(provider: Provider) -> None:
    """Answer until the parent process is gone."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    server = await loop.create_server(lambda: Connection(provider), "127.0.0.1", 0, backlog=2048)
    loop.add_reader(0, lambda: None if os.read(0, 4096) else stopped.set())
    print(server.sockets[0].getsockname()[1], flush=True)
    await stopped.wait()


@dataclass(frozen=True)
class Serving:
    """A provider under way, as its user sees it."""

    process: subprocess.Popen[str]
    port: int

    @property
    def base(self) -> str:
        """What goes into OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def has_request(self, within: float) -> bool:
        """Whether the first call has come; waits for it this many seconds."""
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], within)[0])

    def log(self) -> list[Span]:
        """Every finished call in the order in which they came."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/stats", timeout=30) as answer:
            return sorted(msgspec.json.decode(answer.read(), type=list[Span]))


@contextmanager
def serving(latency_ms: float = 0.0, chunks: int = 32) -> Iterator[Serving]:
    """A provider for as long as it is needed."""
    command = [sys.executable, "-m", "benchmarks.server"]
    command += ["--latency", str(latency_ms), "--chunks", str(chunks)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Serving(process, int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def main() -> None:
    """Serve with the latency and the pieces asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0, metavar="MS")
    parser.add_argument("--chunks", type=int, default=32, metavar="N")
    arguments = parser.parse_args()
    asyncio.run(serve(Provider(arguments.latency / 1000, arguments.chunks)))


if __name__ == "__main__":
    main()
