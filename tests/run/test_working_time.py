"""The time a run took is what every process that drove it took, without the pauses between."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.cli import made_up
from tests.run.runs import go_on, scripted, start_run

from autoreason.events import AnyEvent, RunPaused, RunResumed
from autoreason.journal import Journal, RecordedEvent
from autoreason.run.working_time import WorkingTime, working_time, working_time_of
from autoreason.settings import Budget

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
PAUSED = RunPaused(status="budget", reason="spent")
RESUMED = RunResumed(settings=made_up.SETTINGS)


def at(seconds: float) -> datetime:
    """A time that night."""
    return MIDNIGHT + timedelta(seconds=seconds)


def record(*told: tuple[float, AnyEvent]) -> list[RecordedEvent]:
    """Events as the journal gives them."""
    return [RecordedEvent(seq, at(when), event) for seq, (when, event) in enumerate(told, 1)]


def test_a_pause_is_not_counted() -> None:
    events = record((0, made_up.STARTED), (40, PAUSED), (1000, RESUMED), (1020, PAUSED))
    found = working_time_of(events, [])
    assert found.seconds == 60
    assert [found.until(at(when)) for when in (10, 500, 1005, 1100)] == [10, 40, 45, 140]


def test_a_reply_is_a_sign_of_life_of_a_process_that_was_killed() -> None:
    events = record((0, made_up.STARTED), (10, made_up.DRAFTED), (1000, RESUMED))
    assert working_time_of(events, [at(9), at(25)]).until(at(1000)) == 25


def test_a_run_of_which_nothing_is_recorded_took_no_time() -> None:
    assert WorkingTime(()).seconds == 0
    assert WorkingTime(()).until(MIDNIGHT) == 0


@given(st.lists(st.tuples(st.floats(0, 1e4), st.booleans()), min_size=1, max_size=8))
def test_time_never_runs_backwards(told: list[tuple[float, bool]]) -> None:
    ordered = sorted(told)
    events = record(*((when, RESUMED if resumed else PAUSED) for when, resumed in ordered))
    found = working_time_of(events, [])
    counted = [found.until(each.at) for each in events]
    assert counted == sorted(counted)
    assert counted[-1] <= ordered[-1][0] - ordered[0][0] + 1e-6


async def test_a_resumed_run_counts_both_processes(journal: Journal) -> None:
    paused = await start_run(journal, scripted(), changes={"budget": Budget(calls=7)})
    first = working_time(paused.run, journal=journal)
    await go_on(journal, paused.run, scripted(), changes={"budget": Budget()})
    both = working_time(paused.run, journal=journal)
    assert len(both.spans) == 2
    assert both.seconds >= first.seconds
