"""`kill -9` while programs are written and run: the same programs and verdicts, and nothing asked twice."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.kills import LATENCY, CarefulModel, run_with_kills
from msgspec.structs import replace
from tests.patience import PATIENCE
from tests.programs.stage import MadeUpExaminer
from tests.run.leaving import Breaking
from tests.run.runs import go_on, open_journal
from tests.run.solve_runs import SCRIPT, go_on_solving, number_of, solve_one, solve_set

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.events import AnyEvent
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.programs.assignment import Examination, Examined
from autoreason.run.recorded import replay
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget
from autoreason.studies.lab_suite import CellFinished, CellResult


async def test_it_makes_no_difference_where_a_set_is_left(journal: Journal) -> None:
    names = ("tournament", "analyse_revise")
    whole = Breaking(SCRIPT)
    ended = await solve_set(journal, whole, 2, names, width=3)
    assert ended.status == "done"
    for calls in range(0, len(whole.answered), 3):
        broken, repaired = Breaking(SCRIPT, calls), Breaking(SCRIPT)
        paused = await solve_set(journal, broken, 2, names, width=3)
        assert paused.status == "provider_failed"
        result = await go_on_solving(journal, paused.run, repaired)
        assert len(broken.answered) + len(repaired.answered) == len(whole.answered)
        assert (result.solved, result.calls) == (ended.solved, ended.calls)


class Failing(MadeUpExaminer):
    """An examiner that dies after so many examinations."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self._left = left

    async def examine(self, examination: Examination) -> Examined:
        if self._left == 0:
            raise ProviderFailed("the examiner died")
        self._left -= 1
        return await super().examine(examination)


async def test_it_makes_no_difference_after_which_examination_a_set_is_left(
    journal: Journal,
) -> None:
    names = ("single", "tournament")
    whole = MadeUpExaminer()
    ended = await solve_set(journal, ScriptedModel(SCRIPT), 2, names, examiner=whole, width=2)
    for left in range(0, len(whole.asked), 3):
        model, repaired, again = Breaking(SCRIPT), Breaking(SCRIPT), MadeUpExaminer()
        paused = await solve_set(journal, model, 2, names, examiner=Failing(left), width=2)
        assert paused.status == "provider_failed"
        result = await go_on_solving(journal, paused.run, repaired, again)
        assert (result.status, result.solved) == ("done", ended.solved)
        assert len(model.answered) + len(repaired.answered) == ended.calls
        assert left + len(again.asked) == len(whole.asked)


async def test_a_budget_that_is_reached_pauses_the_set_and_a_larger_one_goes_on(
    journal: Journal,
) -> None:
    names = ("single", "tournament")
    ended = await solve_set(journal, ScriptedModel(SCRIPT), 3, names, width=2)
    for calls in range(1, ended.calls, 5):
        budget = Budget(calls=calls)
        paused = await solve_set(journal, ScriptedModel(SCRIPT), 3, names, width=2, budget=budget)
        assert (paused.status, paused.calls) == ("budget", calls)
        budget = Budget(calls=1000)
        result = await go_on_solving(journal, paused.run, ScriptedModel(SCRIPT), budget=budget)
        assert (result.status, result.calls) == ("done", ended.calls)
        assert result.solved == ended.solved


class Stuck(ScriptedModel):
    """Answers everybody at once, but never the first problem."""

    def __init__(self, script: dict[str, Any]) -> None:
        super().__init__(script)
        self._last = asyncio.Event()

    def hear(self, event: AnyEvent) -> None:
        if isinstance(event, CellFinished) and event.cell.part.startswith("4/"):
            self._last.set()

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        if number_of(request) == 1:
            await self._last.wait()
            raise CallFailed(Failure.BAD_REQUEST, "not today")
        return await super().ask(request, on_signal)


async def test_what_was_finished_counts_though_the_first_problem_was_not(journal: Journal) -> None:
    model = Stuck(SCRIPT)
    hooks = {"on_event": model.hear}
    paused = await solve_set(journal, model, 4, ("single",), width=2, hooks=hooks)
    assert paused.status == "provider_failed"
    assert [unit.part for unit in paused.solved] == [f"{n}/single/1" for n in (2, 3, 4)]


async def test_a_model_out_of_reach_is_not_asked_again_for_every_other_problem(
    journal: Journal,
) -> None:
    model = Breaking(SCRIPT, 0)
    paused = await solve_set(journal, model, 20, width=2)
    assert paused.status == "provider_failed"
    assert "out of reach" in paused.reason
    assert len(model.asked) <= 2


async def test_a_replay_needs_neither_model_nor_examiner(journal: Journal) -> None:
    result = await solve_set(journal, ScriptedModel(SCRIPT), 2)
    for run in (result.run, *(row.id for row in journal.cells(result.run))):
        assert (await replay.aio(run, journal=journal)).same


async def test_a_run_that_is_stopped_does_not_wait_for_tests(journal: Journal) -> None:
    class Slow(MadeUpExaminer):
        async def examine(self, examination: Examination) -> Examined:
            switch.stop()
            await asyncio.Event().wait()
            return await super().examine(examination)

    switch = StopSwitch()
    async with asyncio.timeout(PATIENCE):
        told: dict[str, Any] = {"examiner": Slow(), "stop_switch": switch}
        paused = await solve_one(journal, ScriptedModel(SCRIPT), **told)
    assert paused.status == "stopped"
    result = await go_on(journal, paused.run, ScriptedModel(SCRIPT), examiner=MadeUpExaminer())
    assert result.status == "done"
    assert result.calls == 4


class Leisurely(MadeUpExaminer):
    """Takes its time over every program."""

    async def examine(self, examination: Examination) -> Examined:
        await asyncio.sleep(LATENCY)
        return await super().examine(examination)


def solve_or_go_on(path: Path, strategies: tuple[str, ...], width: int) -> None:
    path.mkdir(exist_ok=True)
    with open_journal(path) as journal:
        rows = journal.runs()
        run = rows[0].id if rows else ""
        if not rows or not journal.events(run):
            model = CarefulModel((), ScriptedModel(SCRIPT))
            work = solve_set(journal, model, 3, strategies, examiner=Leisurely(), width=width)
            asyncio.run(work)
        elif rows[0].status == "running":
            asyncio.run(go_on_solving(journal, run, ScriptedModel(SCRIPT), Leisurely()))


def outcome(path: Path) -> list[tuple[str, CellResult]]:
    """What came of the cells of the one run in a folder, and that no call was answered twice."""
    with Journal.open(str(path / "journal.db"), create=False) as journal:
        run = journal.runs()[0].id
        ended = journal.story(run).of(CellFinished)
        assert sum(each.result.spent.calls for each in ended) == journal.cells_spent(run).calls
        same = [(each.cell.part, replace(each.result, run="", seconds=0.0)) for each in ended]
        return sorted(((part, _timeless(each)) for part, each in same), key=lambda each: each[0])


def _timeless(result: CellResult) -> CellResult:
    spent = replace(result.spent, seconds=0.0)
    solved = result.solved and replace(result.solved, spent=spent)
    return replace(result, spent=spent, solved=solved)


SHORT = 0.03
"""Seconds: less than a set needs on the fastest machine."""

BUILT_IN = ("tournament", "critique_revise", "single")


@pytest.mark.parametrize(("strategies", "width"), [(BUILT_IN, 3), (("search",), 1)])
def test_sets_killed_at_any_moment_end_like_the_unbroken_one(
    tmp_path: Path, strategies: tuple[str, ...], width: int
) -> None:
    solve_or_go_on(tmp_path / "unbroken", strategies, width)
    whole = outcome(tmp_path / "unbroken")
    chance = random.Random(5)
    kills = 0
    for number in range(3):
        path = tmp_path / str(number)
        work = partial(solve_or_go_on, path, strategies, width)
        code, killed = run_with_kills(work, chance, SHORT, more=1.3)
        kills += killed
        assert code == 0
        assert outcome(path) == whole
    assert kills >= 3


def test_searches_side_by_side_take_the_turns_they_took_before_they_were_killed(
    tmp_path: Path,
) -> None:
    work = partial(solve_or_go_on, tmp_path / "run", ("search",), 3)
    code, kills = run_with_kills(work, random.Random(6), SHORT, more=1.3)
    assert (code, kills > 0) == (0, True)
    with open_journal(tmp_path / "run") as journal:
        run = journal.runs()[0].id
        cells = [row.id for row in journal.cells(run)]
        assert any("policy/" in key for cell in cells for key in journal.answers(cell))
        retold = [asyncio.run(replay.aio(cell, journal=journal)) for cell in cells]
    assert [each.difference for each in retold] == [None] * 3
