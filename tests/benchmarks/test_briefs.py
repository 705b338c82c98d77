"""Briefs on which real models are measured: each has a contract that code can check and that a text can keep."""

from __future__ import annotations

from pathlib import Path

from autoreason.task import read_task

BRIEFS = sorted((Path(__file__).parents[2] / "benchmarks" / "real" / "briefs").glob("*.md"))


def test_there_are_two_dozen_different_briefs_with_contracts() -> None:
    tasks = [read_task(str(path)) for path in BRIEFS]
    assert len({task.brief for task in tasks}) == len({task.contract for task in tasks}) == 24
    assert all(len(task.contract.rules()) >= 2 for task in tasks)


def test_no_brief_breaks_its_own_contract_by_asking_for_what_it_forbids() -> None:
    for path in BRIEFS:
        task = read_task(str(path))
        wanted = " ".join(task.contract.must_include)
        broken = {violation.rule for violation in task.contract.violations(wanted)}
        assert "must_not_include" not in broken, path.name
