"""Consoles for results and for progress."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from autoreason.characters import without_controls
from autoreason.report.table import Table

USUAL_WIDTH = 80
"""Columns of what is no terminal, unless COLUMNS says otherwise."""


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
        """Segments without characters that would control the terminal."""
        for segment in super().render(renderable, options):
            clean = segment.control or segment.text.isprintable()
            yield segment if clean else segment._replace(text=without_controls(segment.text))

    def on_broken_pipe(self) -> None:
        """Raise, where rich would end the process."""
        del self._buffer[:]
        raise BrokenPipeError


def stdout_console() -> Console:
    """For results."""
    return Printer()


def stderr_console() -> Console:
    """For progress."""
    return Printer(stderr=True)


def print_line(console: Console, line: RenderableType) -> None:
    """One line; broken between words on a terminal, and never in a file."""
    console.print(line, soft_wrap=not console.is_terminal)


def print_table(console: Console, table: Table) -> None:
    """A table no wider than the terminal."""
    for line in table.to_rich(console.width):
        console.print(line, soft_wrap=True)
