"""A rating server, and a caller that speaks as the page does."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from tests.patience import PATIENCE

from autoreason.studies.rating_server import Server


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def value(self) -> Any:
        return json.loads(self.text)


class Served:
    def __init__(self, url: str, process: subprocess.Popen[str] | None = None) -> None:
        self.url, self.port, self.process = url, int(url.rpartition(":")[2].strip("/")), process

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return Reply(response.status, dict(response.getheaders()), response.read().decode())
        finally:
            connection.close()


class Caller:
    def __init__(self, served: Served, browser: str = "one") -> None:
        self.served, self.browser = served, browser
        self.token: str = self.state()["token"]

    def state(self) -> Any:
        return self.served.ask("GET", "/api/state", X_Browser=self.browser).value

    def post(self, path: str, value: Any, **headers: str) -> Reply:
        usual = {
            "Content_Type": "application/json",
            "X_Browser": self.browser,
            "X_Token": self.token,
        }
        return self.served.ask("POST", path, json.dumps(value).encode(), **(usual | headers))

    def sit(self, rater: str) -> Reply:
        return self.post("/api/sit", {"rater": rater})

    def click(self, kind: str, **fields: Any) -> Reply:
        return self.post("/api/click", {"type": kind} | fields)


@contextmanager
def serve_packet(
    folder: Path, port: int | None = None, rater: str | None = None
) -> Iterator[Served]:
    """Serve a packet while a test lasts, in a thread."""
    server = Server(folder, rater=rater, on_message=lambda _: None)
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        yield Served(asyncio.run_coroutine_threadsafe(server.start(port), loop).result(PATIENCE))
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def serve_apart(folder: Path) -> Iterator[Served]:
    """The same by the command line, in a process that can be killed."""
    command = [sys.executable, "-m", "autoreason.cli", "rate", "serve", str(folder), "--no-open"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert found, line + process.stderr.read()
        yield Served(found.group(), process)
    finally:
        process.kill()
        process.communicate()
