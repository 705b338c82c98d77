"""Runs that write programs, left anywhere: what was done counts, and what was left is taken up again."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace as changed
from tests.patience import PATIENCE
from tests.programs.stage import MadeUpExaminer
from tests.run.leaving import Breaking, left_after_every_call, told
from tests.run.runs import go_on, start_run
from tests.run.solve_runs import SCRIPT, task, terms

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.events import (
    AnyEvent,
)
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.programs.assignment import Examination, Examined
from autoreason.programs.events import Solved, solved_in
from autoreason.run.recorded import replay
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget


async def test_it_makes_no_difference_where_a_set_is_left(journal: Journal) -> None:
    settings = terms(("tournament", "analyse_revise"), width=3)
    ended = await left_after_every_call(
        journal, task(2), settings, SCRIPT, examiner=MadeUpExaminer()
    )
    assert ended.status == "done"


class Failing(MadeUpExaminer):
    """An examiner that dies after so many examinations."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self._left = left

    async def examine(self, examination: Examination) -> Examined:
        """Answer while it lives."""
        if self._left == 0:
            raise ProviderFailed("the examiner died")
        self._left -= 1
        return await super().examine(examination)


async def test_it_makes_no_difference_after_which_examination_a_set_is_left(
    journal: Journal,
) -> None:
    settings = terms(("single", "tournament"), width=2)
    whole = MadeUpExaminer()
    ended = await start_run(
        journal, ScriptedModel(SCRIPT), task=task(2), settings=settings, examiner=whole
    )
    for left in range(len(whole.asked)):
        model = Breaking(SCRIPT)
        paused = await start_run(
            journal, model, task=task(2), settings=settings, examiner=Failing(left)
        )
        assert paused.status == "provider_failed"
        again, mended = MadeUpExaminer(), Breaking(SCRIPT)
        result = await go_on(journal, paused.run, mended, examiner=again)
        assert result.status == "done"
        assert told(journal, result.run) == told(journal, ended.run)
        assert not set(model.answered) & set(mended.answered)
        assert left + len(again.asked) == len(whole.asked)


async def test_a_budget_that_is_reached_pauses_the_set_and_a_larger_one_goes_on(
    journal: Journal,
) -> None:
    settings = terms(("single", "tournament"), width=2)
    ended = await start_run(
        journal, ScriptedModel(SCRIPT), task=task(3), settings=settings, examiner=MadeUpExaminer()
    )
    for calls in range(1, ended.calls, 5):
        poor = changed(settings, budget=Budget(calls=calls))
        paused = await start_run(
            journal, ScriptedModel(SCRIPT), task=task(3), settings=poor, examiner=MadeUpExaminer()
        )
        assert (paused.status, paused.calls) == ("budget", calls)
        result = await go_on(
            journal,
            paused.run,
            ScriptedModel(SCRIPT),
            changes={"budget": Budget()},
            examiner=MadeUpExaminer(),
        )
        assert (result.status, result.calls) == ("done", ended.calls)
        assert told(journal, result.run) == told(journal, ended.run)


class Stuck(ScriptedModel):
    """Answers everybody at once, but never the first problem."""

    def __init__(self, script: dict[str, Any]) -> None:
        super().__init__(script)
        self._last = asyncio.Event()

    def hear(self, event: AnyEvent) -> None:
        """Wait for the last problem."""
        if isinstance(event, Solved) and event.part.startswith("4/"):
            self._last.set()

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Fail the first problem once the last is solved."""
        if request.key.startswith("1/"):
            await self._last.wait()
            raise CallFailed(Failure.BAD_REQUEST, "not today")
        return await super().ask(request, on_signal)


async def test_what_was_finished_counts_though_the_first_problem_was_not(journal: Journal) -> None:
    model = Stuck(SCRIPT)
    paused = await start_run(
        journal,
        model,
        task=task(4),
        settings=terms(("single",), width=2),
        examiner=MadeUpExaminer(),
        on_event=model.hear,
    )
    assert paused.status == "provider_failed"
    assert [unit.part for unit in solved_in(paused.story)] == [f"{n}/single/1" for n in (2, 3, 4)]


async def test_a_model_out_of_reach_is_not_asked_again_for_every_other_problem(
    journal: Journal,
) -> None:
    model = Breaking(SCRIPT, 0)
    paused = await start_run(
        journal, model, task=task(20), settings=terms(width=2), examiner=MadeUpExaminer()
    )
    assert (paused.status, paused.reason) == ("provider_failed", "out of reach")
    assert len(model.asked) <= 2


async def test_a_replay_needs_neither_model_nor_examiner(journal: Journal) -> None:
    result = await start_run(
        journal, ScriptedModel(SCRIPT), task=task(2), settings=terms(), examiner=MadeUpExaminer()
    )
    replayed = await replay.aio(result.run, journal=journal)
    assert replayed.same
    assert replayed.events == len(told(journal, result.run))


async def test_a_run_that_is_stopped_does_not_wait_for_tests(journal: Journal) -> None:
    class Slow(MadeUpExaminer):
        async def examine(self, examination: Examination) -> Examined:
            switch.stop()
            await asyncio.Event().wait()
            return await super().examine(examination)

    switch = StopSwitch()
    async with asyncio.timeout(PATIENCE):
        paused = await start_run(
            journal,
            ScriptedModel(SCRIPT),
            task=task(1),
            settings=terms("single"),
            examiner=Slow(),
            switch=switch,
        )
    assert paused.status == "stopped"
    result = await go_on(journal, paused.run, ScriptedModel(SCRIPT), examiner=MadeUpExaminer())
    assert result.status == "done"
    assert result.calls == 4
