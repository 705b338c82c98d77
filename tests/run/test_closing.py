"""A program that ends in the midst of a run: the event loop is closed, and every task is cancelled at once."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from tests.closing import closed_after
from tests.programs.stage import MadeUpExaminer
from tests.run.leaving import told
from tests.run.runs import go_on, open_journal, start_run
from tests.run.solve_runs import SCRIPT, task, terms

from autoreason.events import AnyEvent
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel


async def solved(journal: Journal) -> None:
    """A set of one problem, written and examined."""
    await start_run(
        journal,
        ScriptedModel(SCRIPT),
        task=task(),
        settings=terms("tournament"),
        examiner=MadeUpExaminer(),
    )


async def gone_on(journal: Journal) -> list[AnyEvent]:
    """What the one run of a journal told once it is done; nothing where it was never begun."""
    for row in journal.runs():
        if row.status != "done":
            await go_on(journal, row.id, ScriptedModel(SCRIPT), examiner=MadeUpExaminer())
        return told(journal, row.id)
    return []


@pytest.mark.timeout(60)
def test_whenever_the_loop_is_closed_the_run_ends_and_can_go_on(tmp_path: Path) -> None:
    ends = []
    done, turns = False, 0
    while not done:
        turns += 1 + turns // 2
        folder = tmp_path / str(turns)
        with open_journal(folder) as journal:
            done = closed_after(turns, partial(solved, journal))
        with open_journal(folder) as journal:
            ends.append(asyncio.run(gone_on(journal)))
    told_something = list(filter(None, ends))
    assert len(told_something) > 5
    assert all(end == ends[-1] for end in told_something)
