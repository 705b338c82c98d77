"""Long output through a pager, on a terminal."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from autoreason.cli.help import HelpfulCommand

_QUIT_AT_END_IN_COLOUR = "FRX"


class Paged(HelpfulCommand):
    """A command whose output may be longer than a screen."""

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command; what it prints for programs, or into a pipe, is left alone."""
        if ctx.find_root().params.get("as_json"):
            return super().invoke(ctx)
        with paged():
            return super().invoke(ctx)


class _TerminalBuffer(io.StringIO):
    """Collects what is to be printed on the terminal."""

    def isatty(self) -> bool:
        """Whether it ends on a terminal: yes."""
        return True


@contextmanager
def paged() -> Iterator[None]:
    """Show what is printed through a pager, if it is longer than the terminal."""
    pager = _pager()
    if pager is None:
        yield
        return
    terminal = sys.stdout
    sys.stdout = printed = _TerminalBuffer()
    try:
        yield
    finally:
        sys.stdout = terminal
        _show(printed.getvalue(), pager)


def _pager() -> list[str] | None:
    """The command that shows pages; None where there is none or none is wanted."""
    import shlex
    import shutil

    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb" or os.environ.get("NO_PAGER"):
        return None
    try:
        command = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        return None
    return command if command and command != ["cat"] and shutil.which(command[0]) else None


def _show(text: str, pager: list[str]) -> None:
    from autoreason.cli.views.outcome import terminal_height

    if text.count("\n") < terminal_height():
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    import signal
    import subprocess

    # Ctrl-C is the pager's, as long as it runs.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        subprocess.run(
            pager,
            input=text,
            encoding="utf-8",
            errors="replace",
            env={"LESS": _QUIT_AT_END_IN_COLOUR, **os.environ},
            check=False,
        )
    finally:
        signal.signal(signal.SIGINT, before)
