"""Where a run is shown while it is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoreason.cli.views.live import Live
    from autoreason.events import AnyEvent
    from autoreason.exchange import OnSignal


class View:
    """Follows a run and shows nothing; subclasses show it."""

    period = 3600.0
    """Seconds between two refreshes."""
    on_signal: OnSignal | None = None
    """Takes signals; None where nothing shows them, so that no reply is streamed for it."""

    def __init__(self, live: Live) -> None:
        self.live = live

    def open(self) -> None:
        """Set up before the run."""

    def close(self) -> None:
        """Take down after the run."""

    def on_event(self, event: AnyEvent) -> None:
        """Take in an event."""
        self.live.on_event(event)

    def on_stop(self) -> None:
        """Show that nothing new starts, because a person asked for that."""
        self.live.stopping = True

    def print_note(self, line: str) -> None:
        """Print one line that stays."""

    def refresh(self) -> None:
        """Show the present state."""
