"""A panel that came to nothing is held again when its run is resumed, under a stage of its own."""

from __future__ import annotations

from collections.abc import Mapping

from autoreason.settings import Settings
from autoreason.story import RecordedPanel

_AGAIN = "/attempt/"


def attempts(settings: Settings) -> range:
    """One, and one more for each time that all was in vain."""
    return range(settings.failed_panels + 1)


def stage_of(stage: str, attempt: int) -> str:
    """`panel`, then `panel/attempt/1`."""
    return f"{stage}{_AGAIN}{attempt}" if attempt else stage


def last_panel(panels: Mapping[str, RecordedPanel], stage: str) -> RecordedPanel | None:
    """A panel as it was held last."""
    held = [panel for name, panel in panels.items() if name.partition(_AGAIN)[0] == stage]
    return held[-1] if held else None
