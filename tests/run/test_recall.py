"""What a record holds must come again, in whatever words a later version says why it ended."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.programs.solved import solved
from tests.run.runs import TASK

from autoreason.errors import ReplayMismatch
from autoreason.events import AnyEvent, Incumbent, JobFinished, PartEvent
from autoreason.run.recall import EventRecorder
from autoreason.story import Story
from autoreason.tournament.delivery import deliver

TEXT = Incumbent(name="draft", since=0, text="print(1)", keeps_contract=True)
DELIVERED = deliver(Story(task=TASK), "converged", "it passes", TEXT)


def again(recorded: AnyEvent, now: AnyEvent) -> int:
    """How many events come again as recorded."""
    more: list[AnyEvent] = []
    recorder = EventRecorder([recorded], more.append)
    recorder(now)
    assert more == []
    return recorder.repeated


ENDED = PartEvent(part="1/search/1", event=DELIVERED)


@pytest.mark.parametrize("event", [ENDED, solved("p1")])
def test_how_a_problem_was_left_may_be_said_in_other_words_but_not_be_another(event: Any) -> None:
    def told(**changes: Any) -> AnyEvent:
        if isinstance(event, PartEvent):
            return replace(event, event=replace(event.event, **changes))
        changed: AnyEvent = replace(event, **changes)
        return changed

    assert again(told(), told()) == 1
    assert again(told(), told(reason="every test is passed")) == 1
    with pytest.raises(ReplayMismatch):
        again(told(), told(status="capped"))


def test_a_run_itself_ends_in_the_same_words() -> None:
    with pytest.raises(ReplayMismatch):
        again(DELIVERED, replace(DELIVERED, reason="it drew another number"))


FINISHED = JobFinished(status="converged", reason="most points", text=TEXT.text, origin="a.md")


def test_a_study_that_was_recorded_as_delivering_a_text_comes_to_the_same_end() -> None:
    for event in (FINISHED, replace(FINISHED, text=None, origin="")):
        assert again(DELIVERED, event) == 1
        assert again(ENDED, PartEvent(part=ENDED.part, event=event)) == 1
    with pytest.raises(ReplayMismatch):
        again(DELIVERED, replace(FINISHED, text="another"))
    with pytest.raises(ReplayMismatch):
        again(DELIVERED, replace(FINISHED, status="done"))
