"""Where things are printed."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from autoreason.characters import without_controls
from autoreason.report.table import UNLIMITED, Table


class Printer(Console):
    """Prints what it is given as it is but for control characters; a reader's departure is the caller's matter."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """As always, with nothing in a text that would steer the terminal."""
        for segment in super().render(renderable, options):
            ours = segment.control or segment.text.isprintable()
            yield segment if ours else segment._replace(text=without_controls(segment.text))

    def on_broken_pipe(self) -> None:
        """Not the end of the process, as it would be otherwise."""
        del self._buffer[:]
        raise BrokenPipeError


def stdout_console() -> Console:
    """For what was asked for."""
    return Printer()


def stderr_console() -> Console:
    """For progress."""
    return Printer(stderr=True)


def print_line(console: Console, line: RenderableType) -> None:
    """One line; broken between words on a terminal, and never in a file."""
    console.print(line, soft_wrap=not console.is_terminal)


def print_table(console: Console, table: Table) -> None:
    """A table as wide as the terminal; a file has no columns to save."""
    for line in table.to_rich(console.width if console.is_terminal else UNLIMITED):
        console.print(line, soft_wrap=True)
