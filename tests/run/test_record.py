"""The record of a run: where it is, how long it was worked on, and running it again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.programs.solved import solved
from tests.run.runs import TASK, go_on, scripted, start_run

from autoreason.artifacts.research_history import FinalistsMeasured
from autoreason.contract import Violation
from autoreason.errors import ReplayMismatch
from autoreason.events import AnyEvent, Delivered, Incumbent
from autoreason.exchange import BudgetQuery, GuidanceQuery
from autoreason.journal import Journal, RecordedAnswer, RecordedTime
from autoreason.run.record import EventRecorder, Memory, WorkingTime, working_time, working_time_of
from autoreason.settings import Budget
from autoreason.story import Story
from autoreason.tournament.evidence import gather_evidence

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
START, EVENT, REPLY = True, False, False


def at(seconds: float) -> datetime:
    return MIDNIGHT + timedelta(seconds=seconds)


def record(*marks: tuple[float, bool]) -> list[RecordedTime]:
    return [RecordedTime(at(when), start) for when, start in marks]


def test_a_pause_is_not_counted_and_a_run_of_which_nothing_is_recorded_took_no_time() -> None:
    found = working_time_of(record((0, START), (40, EVENT), (1000, START), (1020, EVENT)))
    assert found.seconds == 60
    assert [found.until(at(when)) for when in (10, 500, 1005, 1100)] == [10, 40, 45, 140]
    assert WorkingTime(()).seconds == 0
    assert WorkingTime(()).until(MIDNIGHT) == 0


def test_a_reply_is_a_sign_of_life_of_a_process_that_was_killed() -> None:
    times = record((0, START), (10, EVENT), (1000, START), (9, REPLY), (25, REPLY))
    assert working_time_of(times).until(at(1000)) == 25


def test_a_process_on_a_host_whose_clock_is_behind_counts_its_own_time() -> None:
    times = record((9000, START), (9040, EVENT), (100, START), (120, EVENT), (9030, REPLY))
    assert working_time_of(times).seconds == 60


@given(st.lists(st.tuples(st.floats(0, 1e4), st.booleans()), min_size=1, max_size=8))
def test_time_never_runs_backwards(marks: list[tuple[float, bool]]) -> None:
    ordered = sorted(marks)
    times = record(*ordered)
    found = working_time_of(times)
    counted = [found.until(each.at) for each in times]
    assert counted == sorted(counted)
    assert counted[-1] <= ordered[-1][0] - ordered[0][0] + 1e-6


async def test_a_resumed_run_counts_both_processes(journal: Journal) -> None:
    paused = await start_run(journal, scripted(), changes={"budget": Budget(calls=7)})
    first = working_time(paused.run, journal=journal)
    await go_on(journal, paused.run, scripted(), changes={"budget": Budget()})
    both = working_time(paused.run, journal=journal)
    assert len(both.spans) == 2
    assert both.seconds >= first.seconds


async def test_the_times_of_a_run_are_those_of_its_events_and_replies(journal: Journal) -> None:
    run = (await start_run(journal, scripted())).run
    events = journal.events(run)
    times = journal.times(run)
    assert [time.at for time in times if time.start] == [events[0].at]
    assert max(time.at for time in times) >= events[-1].at
    assert len(times) == len(events) + len(journal.replies(run)) + len(journal.answers(run))


TEXT = Incumbent(name="draft", since=0, text="print(1)", keeps_contract=True)
DELIVERED = Delivered(
    status="converged",
    reason="it passes",
    text=TEXT.text,
    origin=TEXT.name,
    words=1,
    violations=(),
    evidence=gather_evidence(Story(task=TASK), TEXT.name),
)


def again(recorded: AnyEvent, now: AnyEvent) -> int:
    more: list[AnyEvent] = []
    recorder = EventRecorder([recorded], more.append)
    recorder(now)
    assert more == []
    return recorder.repeated


def test_a_run_or_a_problem_may_say_in_other_words_how_it_ended_but_not_end_otherwise() -> None:
    event = solved("p1")
    assert again(event, replace(event)) == 1
    assert again(event, replace(event, reason="every test is passed")) == 1
    with pytest.raises(ReplayMismatch):
        again(event, replace(event, status="capped"))
    assert again(DELIVERED, replace(DELIVERED, reason="the tests pass")) == 1
    for other in (replace(DELIVERED, ended_by="budget"), replace(DELIVERED, text="print(2)")):
        with pytest.raises(ReplayMismatch):
            again(DELIVERED, other)


def test_what_a_text_breaks_may_be_said_in_other_words_but_must_be_as_far_off() -> None:
    def breaking(message: str, off: int) -> Delivered:
        return replace(DELIVERED, violations=(Violation("max_words", message, off),))

    assert again(breaking("12 words of at most 10", 2), breaking("two words too many", 2)) == 1
    with pytest.raises(ReplayMismatch):
        again(breaking("12 words of at most 10", 2), breaking("12 words of at most 10", 3))
    measured = FinalistsMeasured(trials=(0, 3), means=(1.0, 2.0), evaluations=2, chosen=0)
    guarded = [
        replace(measured, broken=each) for each in ({3: "too slow"}, {3: "slow"}, {0: "slow"})
    ]
    assert again(guarded[0], guarded[1]) == 1
    with pytest.raises(ReplayMismatch):
        again(guarded[1], guarded[2])


QUERY = BudgetQuery(key="pass/2/budget", calls=6, after=14)
ASKED = {"key": QUERY.key, "calls": 6, "after": 14}


def remembering(kind: str = QUERY.kind, question: Any = ASKED, answer: Any = "2 left") -> Memory:
    return Memory({}, {QUERY.key: RecordedAnswer(kind, question, answer)})


def test_a_query_is_answered_from_the_record_and_a_budget_that_was_enough_need_not_be() -> None:
    memory = remembering()
    assert memory.unused == [QUERY.key]
    assert memory.recall_answer(QUERY) == "2 left"
    assert memory.unused == []
    assert memory.recall_answer(GuidanceQuery(key="pass/2/guidance")) is None
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
