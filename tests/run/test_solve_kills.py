"""`kill -9` while programs are written and run: the same programs and verdicts, and nothing asked twice."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path

import pytest
from benchmarks.kills import LATENCY, CarefulModel, run_with_kills
from tests.programs.stage import MadeUpExaminer
from tests.run.leaving import told
from tests.run.runs import go_on, open_journal, start_run
from tests.run.solve_runs import SCRIPT, task, terms

from autoreason.events import AnyEvent
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.programs.assignment import Examination, Examined
from autoreason.run.recorded import replay


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
            settings = terms(strategies, width=width)
            asyncio.run(
                start_run(journal, model, task=task(3), settings=settings, examiner=Leisurely())
            )
        elif rows[0].status == "running":
            model = CarefulModel(journal.replies(run), ScriptedModel(SCRIPT))
            asyncio.run(go_on(journal, run, model, examiner=Leisurely()))


def story(path: Path) -> list[AnyEvent]:
    """What the one run in a folder told."""
    with Journal.open(str(path / "journal.db"), create=False) as journal:
        return told(journal, journal.runs()[0].id)


BUILT_IN = ("tournament", "critique_revise", "single")


@pytest.mark.parametrize(("strategies", "width"), [(BUILT_IN, 3), (("search",), 1)])
def test_sets_killed_at_any_moment_end_like_the_unbroken_one(
    tmp_path: Path, strategies: tuple[str, ...], width: int
) -> None:
    solve_or_go_on(tmp_path / "unbroken", strategies, width)
    whole = story(tmp_path / "unbroken")
    chance = random.Random(5)
    kills = 0
    for number in range(3):
        path = tmp_path / str(number)
        work = partial(solve_or_go_on, path, strategies, width)
        code, killed = run_with_kills(work, chance)
        kills += killed
        assert code == 0
        assert story(path) == whole
    assert kills >= 3


def test_searches_side_by_side_take_the_turns_they_took_before_they_were_killed(
    tmp_path: Path,
) -> None:
    work = partial(solve_or_go_on, tmp_path / "run", ("search",), 3)
    code, kills = run_with_kills(work, random.Random(6))
    assert (code, kills > 0) == (0, True)
    with open_journal(tmp_path / "run") as journal:
        run = journal.runs()[0].id
        turns = [key for key in journal.answers(run) if "/policy/" in key]
        assert turns
        retold = asyncio.run(replay.aio(run, journal=journal))
    assert retold.difference is None
