"""Strategies are found by name: ours, those of installed packages, and a class in a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.run.runs import settings

from autoreason.errors import InvalidInput
from autoreason.jobs.job import check_job
from autoreason.strategies import BUILT_IN, find_strategy
from autoreason.task import Entry, Task
from autoreason.tournament.loop import Tournament
from autoreason.tournament.strategy import Strategy

MINE = """
from autoreason.extend import Strategy

class Mine(Strategy):
    summary = "mine"
    prompts = ()

    async def run(self):
        await self.write_draft()
        return self.deliver("done", "mine is done")

nothing = 3
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


class Ours(Tournament):
    """A strategy of a package."""

    summary = "ours"


def refusal(name: str) -> str:
    """Why there is no such strategy, in one sentence."""
    with pytest.raises(InvalidInput) as refused:
        find_strategy(name)
    message = str(refused.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_of_ours_is_a_strategy_and_says_what_it_does(name: str) -> None:
    kind = find_strategy(name)
    assert issubclass(kind, Strategy)
    assert kind.summary
    least, likely, most = kind.plans(settings(strategy=name)) or ({}, {}, {})
    assert 0 < sum(least.values()) <= sum(likely.values()) <= sum(most.values())


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    message = refusal("autoraeson")
    assert "no strategy 'autoraeson'" in message
    assert all(name in message for name in BUILT_IN)
    assert "no strategy 'judge'" in refusal("judge"), "that writes no text"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("{folder}/none.py:Mine", "FileNotFoundError"),
        ("{folder}/mine.py:Theirs", "no Theirs"),
        ("{folder}/mine.py:nothing", "is not a strategy"),
        ("{folder}/notes.txt:Mine", "is not a Python file"),
        ("tests.strategies.test_registry:Absent", "test_registry has no Absent"),
        ("tests.strategies.test_registry:MINE", "is not a strategy"),
        ("nowhere:Mine", "nowhere:Mine cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_taken_from_a_file_is_one_sentence(
    mine: Path, name: str, message: str
) -> None:
    (mine.parent / "notes.txt").write_text("Mine")
    assert message in refusal(name.format(folder=mine.parent))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class Mine(:\n", "SyntaxError"),
        ("import no_such_package\n", "no_such_package"),
        ("x = 1\n1 / 0\n", "ZeroDivisionError (division by zero) at broken.py:2"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_where_it_fails(
    tmp_path: Path, source: str, message: str
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(source)
    sentence = refusal(f"{file}:Mine")
    assert message in sentence
    assert "correct it" in sentence
    assert not any(name.startswith("autoreason_strategy_broken") for name in sys.modules)


def test_a_class_is_found_in_a_module_or_in_its_file_and_anew_where_that_was_changed(
    mine: Path,
) -> None:
    assert find_strategy("tests.strategies.test_registry:Ours").summary == "ours"
    assert find_strategy(f"{mine}:Mine").summary == "mine"
    mine.write_text(MINE.replace('"mine"', '"better"'))
    os.utime(mine, ns=(1, 1))
    assert find_strategy(f"{mine}:Mine").summary == "better"
    again = mine.parent / "other" / "mine.py"
    again.parent.mkdir()
    again.write_text(MINE.replace('"mine"', '"another"'))
    assert find_strategy(f"{again}:Mine").summary == "another", "files of one name do not mix"


def test_finished_texts_are_refused_by_strategies_that_have_no_use_for_them() -> None:
    task = Task(brief="x", entries=(Entry(name="a", text="A."), Entry(name="b", text="B.")))
    with pytest.raises(InvalidInput, match="no use for finished texts"):
        check_job(task, settings(strategy="harsh"), find_strategy("harsh"))
