"""A run in a terminal keeps its words whole, however narrow the terminal is."""

from __future__ import annotations

from io import StringIO

import pytest
from tests.cli import made_up
from tests.cli.views.test_screen import terminal

from autoreason.cli.views.transcript import Transcript
from autoreason.story import build_story

LONG = "https://example.org/a-name-that-is-wider-than-any-terminal-this-is-shown-on-here"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_word_is_broken(width: int) -> None:
    story = build_story(made_up.whole_run())
    story.passes[0].guidance = f"mind what {LONG} says of it"
    console = terminal(width)
    transcript = Transcript(console)
    for each in story.passes:
        transcript.one_pass(each, story)
    transcript.playoff(story)
    assert isinstance(console.file, StringIO)
    printed = console.file.getvalue()
    assert LONG in printed
    long_lines = [line for line in printed.splitlines() if len(line.rstrip()) > width]
    assert [line.split() for line in long_lines] == [[LONG]]
