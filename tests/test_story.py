"""A story is told from a whole record; a hole in it is named, not guessed over."""

from __future__ import annotations

import pytest
from tests.cli import made_up

from autoreason.errors import JournalError
from autoreason.events import AnyEvent, CandidateReady, DraftReady, PassStarted
from autoreason.story import build_story


def without(lost: type[AnyEvent], number: int | None = None) -> list[AnyEvent]:
    """The record of a whole run with a hole in it."""
    return [
        event
        for event in made_up.whole_run()
        if not (isinstance(event, lost) and number in (None, getattr(event, "number", None)))
    ]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (without(DraftReady), "pass 1 begins without a text"),
        (without(PassStarted), "the beginning of pass 1 is missing"),
        (without(PassStarted, 2), "the beginning of pass 2 is missing"),
        (without(CandidateReady), "pass 1 was won by AB, whose text is missing"),
    ],
)
def test_a_hole_in_the_record_is_named(events: list[AnyEvent], said: str) -> None:
    with pytest.raises(JournalError, match=said):
        build_story(events)


def test_a_whole_record_is_told() -> None:
    assert build_story(made_up.whole_run()).trajectory == ("AB", "A", "A")
