"""A story is built from a complete record; a missing event is named, not guessed."""

from __future__ import annotations

import pytest
from tests.cli import made_up

from autoreason.errors import JournalError
from autoreason.events import (
    Alternative,
    AlternativesRanked,
    AnyEvent,
    CandidateReady,
    DraftReady,
    PassStarted,
)
from autoreason.story import build_story


def without(lost: type[AnyEvent], number: int | None = None) -> list[AnyEvent]:
    return [
        event
        for event in made_up.whole_run()
        if not (isinstance(event, lost) and number in (None, getattr(event, "number", None)))
    ]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (without(DraftReady), "pass 1 begins without a text"),
        (without(PassStarted), "the beginning of pass 1 is missing"),
        (without(PassStarted, 2), "the beginning of pass 2 is missing"),
        (without(CandidateReady), "pass 1 was won by AB, whose text is missing"),
    ],
)
def test_a_missing_event_is_named(events: list[AnyEvent], message: str) -> None:
    with pytest.raises(JournalError, match=message):
        build_story(events)


def test_a_complete_record_is_a_story() -> None:
    assert build_story(made_up.whole_run()).trajectory == ("AB", "A", "A")


def test_every_text_to_choose_from_is_read_for_what_its_person_did_not_say() -> None:
    texts = (Alternative("a", "Tea is free"), Alternative("b", "Cake is 40 EUR at the door"))
    ranked = AlternativesRanked(wanted=2, texts=texts, leads=True)
    (fact,) = build_story([*made_up.whole_run(), ranked]).new_facts
    assert (fact.text, fact.sentence) == ("40 EUR", "Cake is 40 EUR at the door")
