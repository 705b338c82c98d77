"""Going on with a run, as the library's users do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.journal.samples import a_request
from tests.run.runs import scripted

from autoreason.errors import InvalidInput, UnknownRun
from autoreason.events import AnyEvent, RunResumed
from autoreason.journal import Journal
from autoreason.run.recorded import change_budget, replay, resume
from autoreason.run.refine import refine
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget
from autoreason.testing import EchoModel

SHORT: dict[str, Any] = {"playoff": 0, "confirmation": 0, "budget": Budget(calls=2), "seed": 1}


async def test_a_paused_run_goes_on_from_a_file_by_a_part_of_its_name(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    paused = await refine.aio("Write.", "echo/echo", journal=file, **SHORT)
    assert (paused.status, paused.calls) == ("budget", 2)
    events: list[AnyEvent] = []
    result = await resume.aio(
        paused.run[:-1],
        journal=file,
        budget=Budget(calls=90),
        passes=1,
        on_event=events.append,
    )
    assert (result.run, result.status) == (paused.run, "capped")
    assert result.calls > 2
    assert isinstance(events[1], RunResumed)
    assert (await replay.aio(paused.run, journal=file)).same


async def test_a_call_under_way_at_a_kill_counts_until_it_is_asked_again(tmp_path: Path) -> None:
    with Journal.open(str(tmp_path / "journal.db"), create=True) as journal:
        paused = await refine.aio("Write.", "echo/echo", journal=journal, **SHORT)
        for key in ("pass/9/critic/0/try/0", "pass/1/reviser/try/0"):
            journal.record_request(paused.run, a_request(key))
        await journal.flush()
        # The first is never asked again, the second as the next call.
        for limit, calls in ((3, 2), (4, 3), (5, 4)):
            budget = Budget(calls=limit)
            result = await resume.aio(paused.run, journal=journal, budget=budget)
            assert (result.status, result.calls) == ("budget", calls)


async def test_a_model_given_as_an_object_takes_over(tmp_path: Path) -> None:
    with Journal.open(str(tmp_path / "journal.db"), create=True) as journal:
        paused = await refine.aio("Write.", "echo/echo", journal=journal, **SHORT)
        model = scripted(address="scripted/other")
        result = await resume.aio(
            paused.run, journal=journal, model=model, budget=Budget(calls=90), passes=1
        )
        assert {request.model for request in model.requests} == {"scripted/other"}
        assert result.story.settings
        assert result.story.settings.models.judges == ("scripted/other",)


async def test_a_switch_stops_it_at_its_next_call(tmp_path: Path) -> None:
    switch = StopSwitch()
    switch.stop()
    file = tmp_path / "journal.db"
    stopped = await refine.aio("Write.", EchoModel(), journal=file, stop_switch=switch)
    assert (stopped.status, stopped.calls) == ("stopped", 0)


async def test_nothing_is_recorded_where_the_last_check_refuses(tmp_path: Path) -> None:
    def refuse() -> None:
        raise InvalidInput("not today; try tomorrow")

    with pytest.raises(InvalidInput, match="not today"):
        await refine.aio("Write.", EchoModel(), journal=tmp_path / "j.db", on_ready=refuse)
    assert not (tmp_path / "j.db").exists()


def test_a_run_that_is_not_there_or_finished_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownRun):
        resume("amber-fox", journal=tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_limits_that_are_not_set_stay() -> None:
    before = Budget(calls=3, tokens=100)
    assert change_budget(before, Budget(calls=5)) == Budget(calls=5, tokens=100)
    assert change_budget(before, None) == before


async def test_a_journal_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no folder .* for the journal"):
        await refine.aio("Write.", EchoModel(), journal=tmp_path / "nowhere" / "j.db")


async def test_values_of_another_type_are_refused_and_the_record_stays_whole(
    tmp_path: Path,
) -> None:
    file = tmp_path / "journal.db"
    paused = await refine.aio("Write.", "echo/echo", journal=file, **SHORT)
    wrong: dict[str, Any] = {"passes": 1.5, "budget": Budget(calls=90)}
    with pytest.raises(InvalidInput, match=r"`passes` is 1.5; give a whole number"):
        await resume.aio(paused.run, journal=file, **wrong)
    result = await resume.aio(paused.run, journal=file, budget=Budget(calls=90), passes=1)
    assert result.status == "capped"
