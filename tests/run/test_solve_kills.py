"""`kill -9` while programs are written and run: the same programs and verdicts, and nothing asked twice."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path

import pytest
from benchmarks.kills import LATENCY, CarefulModel, run_with_kills
from msgspec.structs import replace
from tests.programs.stage import MadeUpExaminer
from tests.run.runs import open_journal
from tests.run.solve_runs import SCRIPT, go_on_solving, solve_set

from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.programs.assignment import Examination, Examined
from autoreason.run.recorded import replay
from autoreason.studies.lab_suite import CellFinished, CellResult


class Leisurely(MadeUpExaminer):
    """Takes its time over every program."""

    async def examine(self, examination: Examination) -> Examined:
        """Answer at leisure."""
        await asyncio.sleep(LATENCY)
        return await super().examine(examination)


def solve_or_go_on(path: Path, strategies: tuple[str, ...], width: int) -> None:
    """Begin the one run of a journal, or go on with it."""
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
        code, killed = run_with_kills(work, chance)
        kills += killed
        assert code == 0
        assert outcome(path) == whole
    assert kills >= 3


def test_searches_side_by_side_take_the_turns_they_took_before_they_were_killed(
    tmp_path: Path,
) -> None:
    work = partial(solve_or_go_on, tmp_path / "run", ("search",), 3)
    code, kills = run_with_kills(work, random.Random(6))
    assert (code, kills > 0) == (0, True)
    with open_journal(tmp_path / "run") as journal:
        run = journal.runs()[0].id
        cells = [row.id for row in journal.cells(run)]
        assert any("policy/" in key for cell in cells for key in journal.answers(cell))
        retold = [asyncio.run(replay.aio(cell, journal=journal)) for cell in cells]
    assert [each.difference for each in retold] == [None] * 3
