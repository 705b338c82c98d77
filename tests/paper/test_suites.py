"""The suites that come with the project can be read with any model, and plan what they ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreason.run.lab import lab
from autoreason.studies.lab.suite_file import read_suite

SUITES = sorted((Path(__file__).parents[2] / "paper" / "suites").glob("*.yaml"))


def test_there_are_suites() -> None:
    assert len(SUITES) >= 12


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_a_suite_is_named_after_its_file_and_asks_questions(path: Path) -> None:
    suite = read_suite(path, models={"": "local/smollm2"}).suite
    assert suite.name == path.stem
    assert suite.comparisons
    assert all(each.question.endswith("?") for each in suite.comparisons)


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
async def test_a_suite_could_show_something(path: Path) -> None:
    if path.stem == "programs":
        pytest.skip("its problems are read by another process")
    plan = lab.prepare(path, "echo/echo").plan()
    assert not plan.refusal
    assert all(each.detectable.value is not None for each in plan.tests)
