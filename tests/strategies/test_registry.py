"""Strategies are found by name: ours, those of installed packages, and a class in a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.run.runs import settings

from autoreason.errors import InvalidInput
from autoreason.jobs.job import check_job, own_options
from autoreason.plugins import absolute
from autoreason.strategies.registry import BUILT_IN, find_strategy
from autoreason.task import Task
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
class Other:
    pass
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A strategy of one's own."""
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


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


@pytest.mark.parametrize("study", ["judge", "judge_pairs", "rejudge", "compare"])
def test_what_judges_texts_is_no_way_to_write_one(study: str) -> None:
    assert f"no strategy '{study}'" in refusal(study)


def test_a_class_is_taken_from_its_file(mine: Path) -> None:
    assert find_strategy(f"{mine}:Mine").summary == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("{folder}/none.py:Mine", "no file"),
        ("{folder}/mine.py:Theirs", "no Theirs"),
        ("{folder}/mine.py:", "has no"),
        ("{folder}/mine.py:Other", "is no strategy"),
        ("{folder}/mine.py:nothing", "is no strategy"),
        ("{folder}:Mine", "no file"),
        (":", "no file"),
        ("{folder}/notes.txt:Mine", "is no Python file"),
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
    told = refusal(f"{file}:Mine")
    assert message in told
    assert "correct it" in told
    assert not any(name.startswith("autoreason_strategy_broken") for name in sys.modules)


def test_a_file_mended_meanwhile_is_loaded_anew(mine: Path) -> None:
    assert find_strategy(f"{mine}:Mine").summary == "mine"
    mine.write_text(MINE.replace('"mine"', '"better"'))
    os.utime(mine, ns=(1, 1))
    assert find_strategy(f"{mine}:Mine").summary == "better"


OPTIONS = """
from __future__ import annotations
from msgspec import Struct
from autoreason.extend import Strategy

Size = {size}

class Own(Struct, frozen=True):
    size: Size

class Mine(Strategy):
    own = Own

    async def run(self):
        pass
"""


def test_files_of_the_same_name_do_not_mix(tmp_path: Path) -> None:
    kinds = []
    for folder, size in (("one", "int"), ("two", "str")):
        file = tmp_path / folder / "mine.py"
        file.parent.mkdir()
        file.write_text(OPTIONS.format(size=size))
        kinds.append(find_strategy(f"{file}:Mine"))
    given = settings(strategy="x:Mine", strategy_options={"size": "3"})
    sizes = [own_options(given, getattr(kind, "own")).size for kind in kinds]  # noqa: B009
    assert sizes == [3, "3"]


def test_a_name_means_the_same_in_another_folder(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    assert absolute("mine.py:Mine") == f"{mine.resolve()}:Mine"
    assert absolute("harsh") == "harsh"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with a strategy in it."""
    (tmp_path / "their_package.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "their_package", raising=False)
    return tmp_path


@pytest.mark.usefixtures("package")
def test_a_package_brings_strategies_of_its_own() -> None:
    assert find_strategy("their_package:Mine").summary == "mine"


@pytest.mark.usefixtures("package")
def test_a_package_that_is_broken_is_named() -> None:
    assert "their_package has no Absent" in refusal("their_package:Absent")
    assert "is no strategy" in refusal("their_package:Other")
    assert "nowhere:Mine cannot be loaded: ModuleNotFoundError" in refusal("nowhere:Mine")


def test_finished_texts_are_refused_by_strategies_that_have_no_use_for_them() -> None:
    from autoreason.task import Entry

    task = Task(brief="x", entries=(Entry(name="a", text="A."), Entry(name="b", text="B.")))
    with pytest.raises(InvalidInput, match="no use for finished texts"):
        check_job(task, settings(strategy="harsh"), find_strategy("harsh"))
