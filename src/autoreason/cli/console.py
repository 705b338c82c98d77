"""Consoles for results and for progress, and a line that says how far a computation is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from time import monotonic

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from autoreason.characters import without_controls
from autoreason.report.numbers import duration

USUAL_WIDTH = 80
"""Columns of what is not a terminal, unless COLUMNS says otherwise."""
_SECONDS_BETWEEN_LINES = 10


class Printer(Console):
    """Prints text without control characters; a broken pipe is left to the caller."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)
        if not self.is_terminal and "COLUMNS" not in os.environ:
            # Another stream may be a terminal, whose width is not that of a file.
            self.width = USUAL_WIDTH

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            clean = segment.control or segment.text.isprintable()
            yield segment if clean else segment._replace(text=without_controls(segment.text))

    def on_broken_pipe(self) -> None:
        """Raise, where rich would end the process."""
        del self._buffer[:]
        raise BrokenPipeError


def stdout_console() -> Console:
    return Printer()


def stderr_console() -> Console:
    return Printer(stderr=True)


class ProgressLine:
    def __init__(self, what: str = "", *, quiet: bool = False) -> None:
        self._what = what
        self._quiet = quiet
        self._console = stderr_console()
        self._status = self._console.status(what)
        self._started = self._printed = monotonic()

    def __enter__(self) -> ProgressLine:
        if not self._quiet:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def __call__(self, done: int, total: int = 0) -> None:
        """Show how much of how much is done; without a total, which one is next."""
        self.show(self._what, done, total)

    def show(self, what: str, done: int, total: int = 0) -> None:
        now = monotonic()
        line = f"{done:,} of {total:,} {what}" if total > 1 else f"{what} {done or ''}".strip()
        line = f"{line}, {duration(now - self._started)}"
        self._status.update(line)
        late = now - self._printed >= _SECONDS_BETWEEN_LINES
        if late and not (self._quiet or self._console.is_terminal):
            self._printed = now
            self._console.print(line, soft_wrap=True)
