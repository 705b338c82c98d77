"""What a record holds must come again, in whatever words a later version says why it ended."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.programs.solved import solved
from tests.run.runs import TASK

from autoreason.errors import ReplayMismatch
from autoreason.events import AnyEvent, Delivered, Incumbent
from autoreason.exchange import BudgetQuery, GuidanceQuery
from autoreason.journal import RecordedAnswer
from autoreason.run.record import EventRecorder, Memory
from autoreason.story import Story
from autoreason.tournament.evidence import gather_evidence

TEXT = Incumbent(name="draft", since=0, text="print(1)", keeps_contract=True)
DELIVERED = Delivered(
    status="converged",
    reason="it passes",
    text=TEXT.text,
    origin=TEXT.name,
    words=1,
    violations=(),
    evidence=gather_evidence(Story(task=TASK)),
)


def again(recorded: AnyEvent, now: AnyEvent) -> int:
    """How many events come again as recorded."""
    more: list[AnyEvent] = []
    recorder = EventRecorder([recorded], more.append)
    recorder(now)
    assert more == []
    return recorder.repeated


@pytest.mark.parametrize("event", [solved("p1")])
def test_the_reason_why_a_problem_ended_may_be_worded_differently_but_not_be_another(
    event: Any,
) -> None:
    def told(**changes: Any) -> AnyEvent:
        changed: AnyEvent = replace(event, **changes)
        return changed

    assert again(told(), told()) == 1
    assert again(told(), told(reason="every test is passed")) == 1
    with pytest.raises(ReplayMismatch):
        again(told(), told(status="capped"))


def test_a_run_may_say_in_other_words_how_it_ended_but_not_end_otherwise() -> None:
    assert again(DELIVERED, replace(DELIVERED, reason="the tests pass")) == 1
    for other in (replace(DELIVERED, ended_by="budget"), replace(DELIVERED, text="print(2)")):
        with pytest.raises(ReplayMismatch):
            again(DELIVERED, other)


QUERY = BudgetQuery(key="pass/2/budget", calls=6, after=14)
ASKED = {"key": QUERY.key, "calls": 6, "after": 14}


def remembering(kind: str = QUERY.kind, question: Any = ASKED, answer: Any = "2 left") -> Memory:
    """A record with one answer."""
    return Memory({}, {QUERY.key: RecordedAnswer(kind, question, answer)})


def test_a_query_is_answered_from_the_record() -> None:
    memory = remembering()
    assert memory.unused == [QUERY.key]
    assert memory.recall_answer(QUERY) == "2 left"
    assert memory.unused == []
    assert memory.recall_answer(GuidanceQuery(key="pass/2/guidance")) is None


def test_a_budget_that_was_enough_need_not_be_asked_for_again() -> None:
    assert remembering(answer="").unused == []


@pytest.mark.parametrize(
    "memory",
    [
        remembering(question={**ASKED, "calls": 7}),
        remembering(question={}),
        remembering(kind="guidance"),
        remembering(answer=2),
    ],
)
def test_a_query_that_differs_from_the_recorded_one_is_refused(memory: Memory) -> None:
    with pytest.raises(ReplayMismatch, match=QUERY.key):
        memory.recall_answer(QUERY)


def test_the_budget_was_enough_for_a_stage_of_which_the_record_has_more_than_that() -> None:
    guided = {"pass/2/guidance": RecordedAnswer("guidance", {"key": "pass/2/guidance"}, "")}
    assert Memory({}, guided).recall_answer(QUERY) == ""
    assert Memory({}, guided).recall_answer(replace(QUERY, key="pass/3/budget")) is None
