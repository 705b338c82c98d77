"""On a terminal: the live view, Ctrl-C once and twice, a second terminal."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from tests.cli.conftest import BRIEF, FAST, Shell
from tests.cli.server import Server
from tests.patience import PATIENCE, until

from autoreason.journal import Journal
from autoreason.story import build_story

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A process with a terminal of its own, and what it printed there."""

    def __init__(self, shell: Shell, arguments: tuple[str, ...], columns: int, **kept: str) -> None:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            shell.command(*arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=shell.environment | {"TERM": "xterm-256color"} | kept,
            cwd=shell.home,
            start_new_session=True,
        )
        os.close(theirs)
        self._file = ours
        self._data = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        # Linux says goodbye with an error, others with nothing.
        with contextlib.suppress(OSError):
            while data := os.read(self._file, 65536):
                self._data += data

    @property
    def raw(self) -> str:
        return self._data.decode("utf-8", "replace")

    @property
    def text(self) -> str:
        return _ESCAPE.sub("", self.raw).replace("\r\n", "\n")

    def wait_for(self, words: str, seconds: float = PATIENCE) -> None:
        until = time.monotonic() + seconds
        while words not in self.text:
            if time.monotonic() > until or not self._reader.is_alive():
                pytest.fail(f"never said {words!r}; said {self.text!r}")
            time.sleep(0.02)

    def end(self, seconds: float = PATIENCE) -> int:
        status = self.process.wait(seconds)
        self._reader.join(PATIENCE)
        return status

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(PATIENCE)
        os.close(self._file)


@contextmanager
def terminal(shell: Shell, *arguments: str, columns: int = 80, **kept: str) -> Iterator[Terminal]:
    opened = Terminal(shell, arguments, columns, **kept)
    try:
        yield opened
    finally:
        opened.close()


def slow(server: Server) -> tuple[str, ...]:
    return ("run", BRIEF, "-m", "test/slow", "--base-url", server.url, "--rounds", "2")


@contextmanager
def under_way(shell: Shell, server: Server) -> Iterator[Terminal]:
    """A run on a terminal that waits for its first reply."""
    with terminal(shell, *slow(server)) as screen:
        screen.wait_for("first draft")
        until(lambda: server.asked)
        yield screen


@pytest.mark.parametrize("columns", [40, 80])
def test_the_live_view_and_then_the_text(shell: Shell, server: Server, columns: int) -> None:
    with terminal(shell, *slow(server), columns=columns) as screen:
        screen.wait_for("first draft")
        server.gate.set()
        assert screen.end() == 0
        assert "\x1b[?25l" in screen.raw
        assert screen.raw.rstrip().rfind("\x1b[?25h") > screen.raw.rfind("\x1b[?25l")
        assert "─\n# " in screen.text
        assert " calls, " in screen.text
        assert "autoreason view" in screen.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_once_stops_cleanly(shell: Shell, server: Server, number: signal.Signals) -> None:
    with under_way(shell, server) as screen:
        screen.process.send_signal(number)
        screen.wait_for("already asked for")
        server.gate.set()
        assert screen.end() == 130
        assert "autoreason resume" in screen.text
        assert "# " not in screen.text
    assert server.asked == 1
    (row,) = json.loads(shell("runs", "--json").stdout)
    assert row["status"] == "stopped"
    # The reply that was on its way is kept, so the draft is not asked for again.
    assert shell("resume", "-q").returncode == 0
    assert row["calls"] == 1


def test_a_silent_server_keeps_a_run_that_is_stopped_for_seconds_only(
    shell: Shell, server: Server
) -> None:
    running = shell.start(*slow(server), stderr=subprocess.PIPE)
    until(lambda: server.asked)
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "waiting at most 10 s for 1 reply" in " ".join(said.split())
    assert "autoreason resume" in said
    server.gate.set()
    assert shell("resume", "-q").returncode == 0


def test_nothing_is_waited_for_before_a_run_has_begun(shell: Shell, server: Server) -> None:
    server.silent = True
    running = shell.start(*slow(server), stderr=subprocess.PIPE)
    until(lambda: server.visits)
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "autoreason: interrupted" in said
    assert not shell.journal.exists()


def test_twice_ends_at_once(shell: Shell, server: Server) -> None:
    with under_way(shell, server) as screen:
        screen.process.send_signal(signal.SIGINT)
        screen.wait_for("already asked for")
        screen.process.send_signal(signal.SIGINT)
        assert screen.end() == 130
        assert "ended at once" in screen.text
        assert screen.raw.rfind("\x1b[?25h") > screen.raw.rfind("\x1b[?25l")
    server.gate.set()
    (row,) = json.loads(shell("runs", "--json").stdout)
    assert row["status"] == "killed"
    assert shell("resume", "-q").returncode == 0


def test_a_second_terminal_watches_steers_and_stops(shell: Shell, server: Server) -> None:
    with under_way(shell, server) as screen:
        (row,) = json.loads(shell("runs", "--json").stdout)
        assert row["status"] == "live"
        busy = shell("resume", row["run"])
        assert busy.returncode == 2
        assert busy.stderr.count("\n") == 1
        guided = shell("tell", row["run"], "mind the tides")
        assert "next round" in guided.stderr
        with terminal(shell, "show", "--follow") as other:
            other.wait_for("first draft")
            assert "stops" in shell("tell", "stop").stderr
            time.sleep(1)
            server.gate.set()
            assert screen.end() == 130
            assert other.end() == 0
            assert "Stopped" in other.text


def test_a_watcher_may_leave(shell: Shell, server: Server) -> None:
    with under_way(shell, server) as screen:
        with terminal(shell, "show", "--follow") as other:
            other.wait_for("first draft")
            other.process.send_signal(signal.SIGINT)
            assert other.end() == 130
            assert "no longer watching" in other.text
        assert screen.process.poll() is None
        server.gate.set()
        assert screen.end() == 0


def test_a_live_run_can_be_accepted(shell: Shell, server: Server) -> None:
    server.held_from = 2
    with terminal(shell, *slow(server)) as screen:
        screen.wait_for("round 1")
        screen.wait_for("critic")
        assert "ends with what it has once" in shell("tell", "accept").stderr
        time.sleep(1)
        server.gate.set()
        assert screen.end() == 0
        assert "you accepted the first draft" in " ".join(screen.text.split())
        assert "─\n# " in screen.text
    assert server.asked == 2


def test_a_terminal_shows_the_text_without_its_control_characters(shell: Shell) -> None:
    (shell.home / "draft.md").write_text("A \x1b]0;title\x07draft \u202eas told\u2069.")
    assert shell("run", BRIEF, *FAST, "-q", "--draft", "draft.md", "--rounds", "1").returncode == 0
    with terminal(shell, "show", "--round", "1", NO_PAGER="1") as screen:
        assert screen.end() == 0
        assert "\x1b]0;" not in screen.raw
        assert "A ]0;titledraft <U+202E>as told<U+2069>." in screen.text
    with Journal.open(str(shell.journal), create=False) as journal:
        piped = build_story([each.event for each in journal.events(journal.find("last").id)]).text
    assert shell("show", "--text").stdout.rstrip("\n") == (piped or "").rstrip("\n")


def test_what_is_longer_than_a_screen_goes_through_a_pager(shell: Shell) -> None:
    assert shell("run", BRIEF, *FAST, "-q").returncode == 0
    pages = shell.home / "pages"
    pager = f"sh -c 'cat > {pages}; exit 3'"

    def on_a_terminal(*arguments: str, **kept: str) -> str:
        with closing(Terminal(shell, arguments, 80, **{"PAGER": pager} | kept)) as screen:
            assert screen.end() == 0
            return screen.text

    assert "Pass 1" not in on_a_terminal("show", "--evidence")
    assert "Pass 1" in pages.read_text()
    assert "agreement" not in on_a_terminal("audit")
    assert "agreement" in pages.read_text()
    assert "candidates" not in on_a_terminal("prompts", "judge")
    assert "candidates" in pages.read_text()
    pages.unlink()
    assert '"passes"' in on_a_terminal("show", "--json")
    assert "outcome" in on_a_terminal("runs")
    assert "Pass 1" in on_a_terminal("show", "--evidence", NO_PAGER="1")
    assert "Pass 1" in shell("show", "--evidence", PAGER=pager).stdout
    assert not pages.exists()
