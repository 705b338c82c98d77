"""Where things are printed."""

from __future__ import annotations

from rich.console import Console


class Printer(Console):
    """Prints what it is given as it is, and leaves a reader's departure to whoever called."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

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
