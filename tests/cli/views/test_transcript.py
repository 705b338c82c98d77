"""A run in a terminal keeps its words whole, however narrow the terminal is."""

from __future__ import annotations

from io import StringIO

import pytest
from tests.cli import made_up
from tests.cli.views.test_screen import terminal

from autoreason.cli.account import tell_all
from autoreason.cli.views.transcript import Transcript
from autoreason.events import CritiqueWritten, GuidanceGiven

LONG = "https://example.org/a-name-that-is-wider-than-any-terminal-this-is-shown-on-here"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_word_is_broken(width: int) -> None:
    events = made_up.whole_run()
    at = next(at for at, event in enumerate(events) if isinstance(event, CritiqueWritten))
    events.insert(at, GuidanceGiven(number=1, text=f"mind what {LONG} says of it"))
    console = terminal(width)
    Transcript(console).lines(tell_all(events))
    assert isinstance(console.file, StringIO)
    printed = console.file.getvalue()
    assert LONG in printed
    long_lines = [line for line in printed.splitlines() if len(line.rstrip()) > width]
    assert [line.split() for line in long_lines] == [[LONG]]
