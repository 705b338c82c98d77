"""The time a run took is what every process that drove it took, without the pauses between."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.run.runs import go_on, scripted, start_run

from autoreason.journal import Journal, RecordedTime
from autoreason.run.record import WorkingTime, working_time, working_time_of
from autoreason.settings import Budget

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
START, EVENT, REPLY = True, False, False


def at(seconds: float) -> datetime:
    """A time that night."""
    return MIDNIGHT + timedelta(seconds=seconds)


def record(*marks: tuple[float, bool]) -> list[RecordedTime]:
    """Times as the journal gives them."""
    return [RecordedTime(at(when), start) for when, start in marks]


def test_a_pause_is_not_counted() -> None:
    found = working_time_of(record((0, START), (40, EVENT), (1000, START), (1020, EVENT)))
    assert found.seconds == 60
    assert [found.until(at(when)) for when in (10, 500, 1005, 1100)] == [10, 40, 45, 140]


def test_a_reply_is_a_sign_of_life_of_a_process_that_was_killed() -> None:
    times = record((0, START), (10, EVENT), (1000, START), (9, REPLY), (25, REPLY))
    assert working_time_of(times).until(at(1000)) == 25


def test_a_process_on_a_host_whose_clock_is_behind_counts_its_own_time() -> None:
    times = record((9000, START), (9040, EVENT), (100, START), (120, EVENT), (9030, REPLY))
    assert working_time_of(times).seconds == 60


def test_a_run_of_which_nothing_is_recorded_took_no_time() -> None:
    assert WorkingTime(()).seconds == 0
    assert WorkingTime(()).until(MIDNIGHT) == 0


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
