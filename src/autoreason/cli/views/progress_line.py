"""How far a long computation is, on standard error."""

from __future__ import annotations

import sys
from time import monotonic

import click

from autoreason.report.numbers import duration

_SECONDS_BETWEEN_LINES = 10


class ProgressLine:
    """One line that changes, or a new line now and then in a log."""

    def __init__(self, what: str, *, quiet: bool) -> None:
        self._what = what
        self._quiet = quiet
        self._changes = sys.stderr.isatty()
        self._started = self._printed = monotonic()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._changes and not self._quiet:
            click.echo("\r\x1b[K", nl=False, err=True)

    def __call__(self, done: int, total: int = 0) -> None:
        """Show how much of how much is done; without a total, which one is next."""
        now = monotonic()
        what = f"{done} of {total} {self._what}" if total else f"{self._what} {done}"
        line = f"{what}, {duration(now - self._started)}"
        if self._quiet:
            return
        if self._changes:
            click.echo(f"\r\x1b[K{line}", nl=False, err=True)
        elif not done or now - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = now
            click.echo(line, err=True)
