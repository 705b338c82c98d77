"""The batch interfaces of OpenAI and Anthropic on a loopback port, in a thread or in a process of their own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from tests.models.asking import request
from tests.models.fake_provider import Answer, completion, message

from autoreason.exchange import Message, Schema
from autoreason.models.doubles import EchoModel

Fate = Literal[
    "answered",
    "errored",
    "expired",
    "canceled",
    "missing",
    "unfinished",
    "too hot",
    "unpaid",
    "blank",
    "null",
    "nameless",
    "garbled",
]
"""What becomes of a request; `too hot` objects to a temperature, `unpaid` to an account without credit.

The result of what is `nameless` has no id, that of what is `garbled` is cut off."""
_BLANK: dict[Fate, Any] = {"blank": {}, "null": None}
"""Replies that nobody can read."""
_TOKENS: Any = {"tokens_in": 100, "tokens_out": 50}
_STEPS = ("validating", "in_progress", "finalizing", "completed")
_EXPIRED = "This request could not be executed before the completion window expired."


@dataclass
class Batch:
    id: str
    requests: list[tuple[str, Any]]
    """Ids and bodies."""
    file: str = ""
    endpoint: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    created: float = field(default_factory=time)
    looks: int = 0
    faults: list[dict[str, Any]] = field(default_factory=list)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Lines by id, to be had once it has ended."""
    garbled: set[str] = field(default_factory=set)
    endless: bool = False

    def write(self, line: dict[str, Any]) -> str:
        text = json.dumps(line)
        return text[:-9] if line["custom_id"] in self.garbled else text


class BatchServer(ThreadingHTTPServer):
    """Takes batches, shows a further step at each look, and counts what is paid for: all that was begun."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Batch] = {}
        self.paid: Counter[str] = Counter()
        """How often a request was answered, by id."""
        self.fates: deque[Fate] = deque()
        """Of the next requests, in the order in which they are worked on."""
        self.faults: deque[list[dict[str, Any]]] = deque()
        """Why the next batches fail as a whole."""
        self.lost_answers = 0
        """So many answers to the creation of a batch are lost."""
        self.late_listings = 0
        """So many lists do not show a batch whose answer was lost: it is on its way."""
        self.refusals: deque[tuple[int, dict[str, str]]] = deque()
        """Status and headers of the next answers to anybody who looks at a batch."""
        self.seen: list[str] = []
        """Method and path of all that was asked."""
        self.looked_at: list[float] = []
        self.lock = threading.Lock()

    @property
    def openai(self) -> str:
        return f"{self.anthropic}/v1"

    @property
    def anthropic(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that was killed is nothing to report."""

    def work_on(self, batch: Batch, result: Any) -> None:
        """Answer every request of a batch, once."""
        for item, body in batch.requests:
            fate = self.fates.popleft() if self.fates else "answered"
            if fate == "too hot" and "temperature" not in body:
                fate = "answered"
            self.paid[item] += fate == "answered"
            if fate != "missing":
                batch.results[item] = result(item, body, fate)
            if fate == "nameless":
                batch.results[item]["custom_id"] = None
            if fate == "garbled":
                batch.garbled.add(item)


class _Handler(BaseHTTPRequestHandler):
    server: BatchServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve("")

    def do_DELETE(self) -> None:
        self._serve("")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers["content-length"])))

    def _serve(self, body: Any) -> None:
        url = urlsplit(self.path)
        with self.server.lock:
            self.server.seen.append(f"{self.command} {url.path}")
            if url.path == "/stats":
                paid = dict(self.server.paid)
                self._send(200, {"paid": paid, "batches": len(self.server.batches)})
                return
            side = _anthropic if "messages" in url.path else _openai
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            status, value, headers = side(self, url.path, query, body)
        if status:
            self._send(status, value, headers)
        else:
            self.close_connection = True

    def _send(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, said in {"content-length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, said)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


Said = tuple[int, Any, dict[str, str]]


def _created(server: BatchServer, batch: Batch, shown: Any, result: Any) -> Said:
    """A batch begins, and is paid for; where the answer gets lost, too."""
    server.batches[batch.id] = batch
    if not batch.faults:
        server.work_on(batch, result)
    if server.lost_answers:
        server.lost_answers -= 1
        return 0, None, {}
    return 200, shown(batch), {}


def _page(server: BatchServer, limit: str | None, after: str | None) -> tuple[list[Batch], bool]:
    """The newest first, those after one."""
    batches = list(reversed(server.batches.values()))
    if batches and server.late_listings:
        server.late_listings -= 1
        batches = []
    start = 1 + next((n for n, each in enumerate(batches) if each.id == after), -1)
    end = start + int(limit or 20)
    return batches[start:end], end < len(batches)


def _unknown(what: str) -> Said:
    error = {"type": "invalid_request_error", "message": f"No such {what}", "code": None}
    return 404, {"error": error, "type": "error"}, {}


def _looked(server: BatchServer) -> Said | None:
    server.looked_at.append(time())
    if not server.refusals:
        return None
    status, headers = server.refusals.popleft()
    return status, {"error": {"message": "come back later", "type": "rate_limit_error"}}, headers


# OpenAI.


def _openai(handler: _Handler, path: str, query: dict[str, str], body: Any) -> Said:
    server = handler.server
    match handler.command, path.removeprefix("/v1").strip("/").split("/"):
        case "GET", ["models"]:
            return 200, {"object": "list", "data": [{"id": "gpt-4.1", "object": "model"}]}, {}
        case "POST", ["files"]:
            return _upload(server, handler.headers["content-type"], body)
        case "DELETE", ["files", file] if server.files.pop(file, None):
            return 200, {"id": file, "object": "file", "deleted": True}, {}
        case "GET", ["files", file, "content"] if file in server.files:
            return 200, server.files[file], {}
        case "POST", ["batches"]:
            return _openai_create(server, json.loads(body))
        case "GET", ["batches"]:
            page, more = _page(server, query.get("limit"), query.get("after"))
            data = [_openai_batch(each) for each in page]
            return 200, {"object": "list", "data": data, "has_more": more}, {}
        case "GET", ["batches", name] if name in server.batches:
            refused = _looked(server)
            return refused or (200, _openai_step(server, server.batches[name]), {})
    return _unknown(path)


def _upload(server: BatchServer, kind: str, body: bytes) -> Said:
    form = BytesParser().parsebytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + body)
    parts = {each.get_param("name", header="content-disposition"): each for each in form.walk()}
    assert parts["purpose"].get_payload() == "batch"
    content = parts["file"].get_payload(decode=True)
    assert isinstance(content, bytes)
    file = f"file-{len(server.seen)}"
    server.files[file] = content
    filename = parts["file"].get_filename()
    return (
        200,
        {"id": file, "object": "file", "bytes": len(content), "filename": filename}
        | {"purpose": "batch", "status": "processed", "created_at": int(time())},
        {},
    )


def _openai_create(server: BatchServer, wanted: dict[str, Any]) -> Said:
    assert wanted["completion_window"] == "24h"
    if wanted["input_file_id"] not in server.files:
        return _unknown("File")
    lines = [json.loads(each) for each in server.files[wanted["input_file_id"]].splitlines()]
    assert all((each["method"], each["url"]) == ("POST", wanted["endpoint"]) for each in lines)
    assert len({each["body"]["model"] for each in lines}) == 1
    batch = Batch(
        f"batch_{len(server.batches) + 1}",
        [(each["custom_id"], each["body"]) for each in lines],
        wanted["input_file_id"],
        wanted["endpoint"],
        wanted.get("metadata") or {},
        faults=server.faults.popleft() if server.faults else [],
    )
    return _created(server, batch, _openai_batch, _openai_result)


def _openai_step(server: BatchServer, batch: Batch) -> dict[str, Any]:
    batch.looks = min(batch.looks + 1, 3)
    for name, kind in (("output", False), ("error", True)):
        lines = [each for each in batch.results.values() if _failed(each) == kind]
        if lines and batch.looks == 3:
            content = "".join(f"{batch.write(each)}\n" for each in lines)
            server.files[f"{name}-{batch.id}"] = content.encode()
    return _openai_batch(batch)


def _failed(line: dict[str, Any]) -> bool:
    return line["error"] is not None or line["response"]["status_code"] != 200


def _openai_batch(batch: Batch) -> dict[str, Any]:
    results = batch.results.values() if batch.looks == 3 else ()
    failed = sum(map(_failed, results))
    done = len(results) - failed
    status = "failed" if batch.faults and batch.looks else _STEPS[batch.looks]
    if any((each["error"] or {}).get("code") == "batch_expired" for each in results):
        status = "expired"
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "errors": {"object": "list", "data": batch.faults} if status == "failed" else None,
        "input_file_id": batch.file,
        "completion_window": "24h",
        "status": status,
        "output_file_id": f"output-{batch.id}" if done else None,
        "error_file_id": f"error-{batch.id}" if failed else None,
        "created_at": int(batch.created),
        "expires_at": int(batch.created) + 86400,
        "request_counts": {
            "total": len(batch.requests) if batch.looks else 0,
            "completed": done,
            "failed": failed,
        },
        "metadata": batch.metadata or None,
    }


def _openai_result(item: str, body: dict[str, Any], fate: Fate) -> dict[str, Any]:
    line: dict[str, Any] = {"id": f"batch_req_{item}", "custom_id": item, "error": None}
    if fate in ("expired", "canceled", "unfinished"):
        code = {"expired": "batch_expired", "canceled": "batch_cancelled"}.get(
            fate, "request_timeout"
        )
        return line | {"response": None, "error": {"code": code, "message": _EXPIRED}}
    status, content = 200, _BLANK.get(fate, _completion(body))
    if fate == "errored":
        error = {"message": "The server had an error.", "type": "server_error", "code": None}
        status, content = 500, {"error": error | {"param": None}}
    if fate == "unpaid":
        error = {"message": "You exceeded your quota.", "code": "insufficient_quota"}
        status, content = 429, {"error": error | {"param": None, "type": "insufficient_quota"}}
    if fate == "too hot":
        error = {"message": "Unsupported parameter: 'temperature'", "code": "unsupported_parameter"}
        status = 400
        content = {"error": error | {"param": "temperature", "type": "invalid_request_error"}}
    response = {"status_code": status, "request_id": f"req_{item}", "body": content}
    return line | {"response": response}


def _completion(body: dict[str, Any]) -> dict[str, Any]:
    assert "stream" not in body
    shape = body.get("response_format", {}).get("json_schema")
    said = [Message(each["role"], each["content"]) for each in body["messages"]]
    return completion(Answer(text=_echo(said, shape and shape["schema"]), **_TOKENS))


# Anthropic.


def _anthropic(handler: _Handler, path: str, query: dict[str, str], body: Any) -> Said:
    server = handler.server
    assert handler.headers["anthropic-version"]
    match handler.command, path.removeprefix("/v1/messages/batches").strip("/").split("/"):
        case "POST", [""]:
            return _anthropic_create(server, json.loads(body)["requests"])
        case "GET", [""]:
            page, more = _page(server, query.get("limit"), query.get("after_id"))
            data = [_anthropic_batch(server, each) for each in page]
            ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
            return 200, {"data": data, "has_more": more, **ends}, {}
        case "GET", [name] if name in server.batches:
            if refused := _looked(server):
                return refused
            batch = server.batches[name]
            batch.looks += 1
            return 200, _anthropic_batch(server, batch), {}
        case "GET", [name, "results"] if server.batches[name].looks >= 2:
            batch = server.batches[name]
            lines = reversed(batch.results.values())
            return 200, "\n".join(map(batch.write, lines)).encode(), {}
    return _unknown(path)


def _anthropic_create(server: BatchServer, requests: list[dict[str, Any]]) -> Said:
    ids = [each["custom_id"] for each in requests]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each) for each in ids)
    assert len(set(ids)) == len(ids)
    items = [(each["custom_id"], each["params"]) for each in requests]
    batch = Batch(f"msgbatch_{len(server.batches) + 1}", items)
    return _created(server, batch, lambda each: _anthropic_batch(server, each), _anthropic_result)


def _anthropic_batch(server: BatchServer, batch: Batch) -> dict[str, Any]:
    ended = batch.looks >= 2 and not batch.endless
    types = Counter(each["result"]["type"] for each in batch.results.values() if ended)
    created = datetime.fromtimestamp(batch.created, UTC).isoformat()
    url = f"{server.anthropic}/v1/messages/batches/{batch.id}/results"
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if ended else "in_progress",
        "request_counts": {
            "processing": 0 if ended else len(batch.requests),
            **{kind: types[kind] for kind in ("succeeded", "errored", "canceled", "expired")},
        },
        "created_at": created,
        "expires_at": created,
        "ended_at": created if ended else None,
        "archived_at": None,
        "cancel_initiated_at": None,
        "results_url": url if ended else None,
    }


def _anthropic_result(item: str, body: dict[str, Any], fate: Fate) -> dict[str, Any]:
    result: dict[str, Any] = {"type": fate}
    if fate in ("errored", "too hot", "unfinished", "unpaid"):
        error = {"type": "api_error", "message": "Internal server error"}
        if fate == "unpaid":
            error = {"type": "billing_error", "message": "Your credit balance is too low."}
        if fate == "too hot":
            message = "temperature: `temperature` is not supported by this model."
            error = {"type": "invalid_request_error", "message": message}
        result = {"type": "errored", "error": {"type": "error", "error": error, "request_id": "r"}}
    elif fate not in ("expired", "canceled"):
        result = {"type": "succeeded", "message": _BLANK.get(fate, _message(body))}
    return {"custom_id": item, "result": result}


def _message(body: dict[str, Any]) -> dict[str, Any]:
    assert "stream" not in body
    said = [
        Message(each["role"], block["text"])
        for each in body["messages"]
        for block in each["content"]
    ]
    schema = body.get("output_config", {}).get("format", {}).get("schema")
    return message(Answer(text=_echo(said, schema), **_TOKENS))


def _echo(said: list[Message], schema: dict[str, Any] | None) -> str:
    form = Schema("x", schema, "") if schema else None
    return asyncio.run(EchoModel().ask(request(messages=tuple(said), schema=form))).text


@contextmanager
def batch_server() -> Iterator[BatchServer]:
    server = BatchServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def separate_batch_server() -> Iterator[BatchServer]:
    """A server in a process of its own, so that this one has no threads and can be forked."""
    server = BatchServer()
    child = os.fork()
    if child == 0:
        server.serve_forever()
        os._exit(0)
    try:
        yield server
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        server.server_close()


def stats(server: BatchServer) -> dict[str, Any]:
    with urlopen(f"{server.anthropic}/stats") as reply:
        counted: dict[str, Any] = json.load(reply)
        return counted
