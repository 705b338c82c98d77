"""A panel that failed is run again when its run is resumed, under a stage of its own."""

from __future__ import annotations

from collections.abc import Mapping

from autoreason.jobs.context import JobContext
from autoreason.keys import first_attempt
from autoreason.story import RecordedPanel


def panel_attempts(context: JobContext) -> range:
    """One, and one more for each time that the panel failed."""
    return range(context.recovery.failed_panels + 1)


def last_panel(panels: Mapping[str, RecordedPanel], stage: str) -> RecordedPanel | None:
    """The last attempt of a panel."""
    matching = [panel for name, panel in panels.items() if first_attempt(name) == stage]
    return matching[-1] if matching else None
