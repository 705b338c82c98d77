"""What whoever writes a way to a program is told, and that nothing is lost by a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.programs.stage import MadeUpExaminer
from tests.run.runs import go_on, open_journal, start_run
from tests.run.solve_runs import SCRIPT, task, terms

from autoreason.errors import InvalidInput, StrategyError
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.programs.program_strategies import find_program_strategy

OWN = """
from autoreason.extend import ProgramStrategy

class Mine(ProgramStrategy):
    async def run(self):
        best = await self.first_program()
{lines}
"""
BEGUN = """
        self.begin_pass(1)
        await self.revise(1, best)
        self.end_pass(1, "unopposed", "A")
        return self.hand_in(self.best())
"""


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """An empty one."""
    with open_journal(tmp_path) as journal:
        yield journal


def plug_in(folder: Path, lines: str) -> str:
    """The name of a strategy whose run goes on with these lines after its draft."""
    file = folder / "mine.py"
    file.write_text(OWN.format(lines=lines))
    return f"{file}:Mine"


async def hold_own(journal: Journal, model: ScriptedModel, name: str) -> None:
    await start_run(journal, model, task=task(), settings=terms(name), examiner=MadeUpExaminer())


@pytest.mark.parametrize(
    "call",
    ["await self.revise(1, best)", 'self.end_pass(1, "unjudged", "B")'],
)
async def test_a_pass_that_was_not_begun_is_said_before_anything_is_asked_in_it(
    journal: Journal, tmp_path: Path, call: str
) -> None:
    first = ScriptedModel(SCRIPT)
    name = plug_in(tmp_path, f"        {call}\n        return self.hand_in(best)")
    with pytest.raises(StrategyError) as raised:
        await hold_own(journal, first, name)
    assert "works in pass 1, which was not started; call self.begin_pass(1) first" in str(
        raised.value
    )
    assert [each.role for each in first.requests] == ["author"]

    plug_in(tmp_path, BEGUN)
    second = ScriptedModel(SCRIPT)
    run = journal.runs()[0].id
    result = await go_on(journal, run, second, examiner=MadeUpExaminer())
    assert result.status == "done"
    assert [each.role for each in second.requests] == ["reviser"]


@pytest.mark.parametrize("lines", ["        return None", "        return best"])
async def test_a_run_that_hands_nothing_in_is_told_how_to(
    journal: Journal, tmp_path: Path, lines: str
) -> None:
    with pytest.raises(StrategyError, match=r"end its run with `return self\.hand_in\(\.\.\.\)`"):
        await hold_own(journal, ScriptedModel(SCRIPT), plug_in(tmp_path, lines))


def test_a_class_that_is_no_strategy_is_told_what_to_be(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    pass\n")
    with pytest.raises(InvalidInput, match=r"make it a subclass of autoreason\.ProgramStrategy"):
        find_program_strategy(f"{file}:Mine")
