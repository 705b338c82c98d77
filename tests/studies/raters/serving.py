"""A rating server in a process of its own, and a caller that speaks as the page does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from tests.patience import PATIENCE


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def value(self) -> Any:
        """The JSON in it."""
        return json.loads(self.text)


class Served:
    """A server under way."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stderr
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line + process.stderr.read()
        self.url, self.port = found.group(), int(found.group(1))

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        """One request, as it is given."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return Reply(response.status, dict(response.getheaders()), response.read().decode())
        finally:
            connection.close()

    def kill(self) -> None:
        """No time for last words."""
        self.process.kill()
        self.process.wait()


class Caller:
    """A browser by name."""

    def __init__(self, served: Served, browser: str = "one") -> None:
        self.served, self.browser = served, browser
        self.token: str = self.state()["token"]

    def state(self) -> Any:
        """What the page is told."""
        return self.served.ask("GET", "/api/state", X_Browser=self.browser).value

    def post(self, path: str, value: Any, **headers: str) -> Reply:
        """One request of the page, with other headers where a test wants them."""
        usual = {
            "Content_Type": "application/json",
            "X_Browser": self.browser,
            "X_Token": self.token,
        }
        return self.served.ask("POST", path, json.dumps(value).encode(), **(usual | headers))

    def sit(self, rater: str) -> Reply:
        """Sit down."""
        return self.post("/api/sit", {"rater": rater})

    def click(self, kind: str, **fields: Any) -> Reply:
        """One click."""
        return self.post("/api/click", {"type": kind} | fields)


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Begin to serve a packet."""
    command = [sys.executable, "-m", "autoreason.cli", "rate", "serve", str(folder), "--no-open"]
    return subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)


@contextmanager
def serve_packet(folder: Path, *options: str) -> Iterator[Served]:
    """Serve a packet while a test lasts."""
    process = start(folder, *options)
    try:
        yield Served(process)
    finally:
        process.kill()
        process.communicate()
