"""The commands of a checkout: what they print, and one sentence for a mistake."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from paper.__main__ import SUITES, recorded, run_suites
from tests.conftest import DATA
from tests.paper.test_fit import recorded_panels

from autoreason import Budget
from autoreason.run.lab import lab
from autoreason.studies import simulation
from autoreason.studies.lab_file import read_suite
from autoreason.studies.world import load_world

Output = pytest.CaptureFixture[str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run a command in an empty folder, and give what it printed."""
    monkeypatch.chdir(tmp_path)
    # Other processes would take longer to start than to play.
    play = simulation.in_processes
    monkeypatch.setattr(
        simulation, "in_processes", lambda work, jobs, note=None, _=1: play(work, jobs, note, 1)
    )

    def call(command: str) -> str:
        module, *arguments = command.split()
        monkeypatch.setattr(sys, "argv", [module, *arguments])
        monkeypatch.delitem(sys.modules, module, raising=False)
        runpy.run_module(module, run_name="__main__")
        return capsys.readouterr().out

    return call


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (f"paper.reproduce {DATA / 'reproduce'}", "lines"),
        ("paper.protocols table --runs 20 --world help --set k=1", "cells"),
        ("benchmarks.advice --runs 20", "outcomes"),
    ],
)
def test_a_report_is_printed_as_text_as_json_and_as_a_page(run, command: str, key: str) -> None:  # type: ignore[no-untyped-def]
    said = run(f"{command} --html page.html")
    assert max(map(len, said.splitlines())) <= 80
    assert Path("page.html").read_text("utf-8").startswith("<!")
    assert json.loads(run(f"{command} --json"))[key]


def test_judges_are_fitted_to_a_file_and_their_world_can_be_played(run) -> None:  # type: ignore[no-untyped-def]
    lines = [
        {"run": p.run, "judges": [{"order": v.order, "ranking": v.ranking} for v in p.votes]}
        for p in recorded_panels(30, first=1.0)
    ]
    Path("b.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert "90 ballots of 30 panels in 3 runs" in run("paper.fit b.jsonl -o mine.yaml")
    assert load_world("mine.yaml").judges.first > 0


def test_ways_to_end_a_run_are_compared_and_nothing_is_asked_twice(run) -> None:  # type: ignore[no-untyped-def]
    Path("briefs").mkdir()
    Path("briefs/tides.md").write_text("Explain tides to a ten-year-old.", encoding="utf-8")
    command = "benchmarks.real.stopping --model echo/echo --briefs briefs --out out --arms reviews"
    said = run(command)
    assert "| reviews | 1 of 1 |" in said
    Path("briefs/tides.md").unlink()
    assert run(command) == said


def test_suites_share_one_budget_and_go_on_where_they_were(tmp_path: Path, capsys: Output) -> None:
    suites = [SUITES / f"{name}.yaml" for name in ("constrained", "single_pass")]
    models = {"": "echo/echo"}

    def start(calls: int) -> int:
        return run_suites(suites, models, Budget(calls=calls), tmp_path, repeats=1, anyway=True)

    assert start(150) == 3
    used = [result.calls for name in suites if (result := recorded(tmp_path / f"{name.stem}.db"))]
    assert len(used) == 2
    assert sum(used) <= 150
    assert (tmp_path / "single_pass.html").is_file(), "the suite with fewer calls comes first"
    assert start(used[1]) == 3
    assert "constrained: the budget is spent" in capsys.readouterr().out
    assert start(1000) == 0
    again = recorded(tmp_path / "single_pass.db")
    assert again is not None
    assert again.calls == used[1], "what is finished is not run again"
    assert "2 of 2 suites are done" in capsys.readouterr().out


def test_a_suite_for_which_too_little_is_left_does_not_keep_another_from_its_turn(
    tmp_path: Path, capsys: Output
) -> None:
    suites = [SUITES / f"{name}.yaml" for name in ("single_pass", "constrained")]
    assert run_suites(suites, {"": "echo/echo"}, Budget(calls=30), tmp_path) == 3
    said = capsys.readouterr().out
    assert said.count("cannot show anything") == 2
    assert "0 of 2 suites are done" in said


PATHS = sorted(SUITES.glob("*.yaml"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_suite_is_named_after_its_file_and_asks_questions(path: Path) -> None:
    suite = read_suite(path, models={"": "local/smollm2"}).suite
    assert suite.name == path.stem
    assert suite.comparisons
    assert all(each.question.endswith("?") for each in suite.comparisons)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
async def test_a_suite_could_show_something(path: Path) -> None:
    if path.stem == "programs":
        pytest.skip("its problems are read by another process")
    plan = lab.prepare(path, "echo/echo").plan()
    assert not plan.refusal
    assert all(each.detectable.value is not None for each in plan.tests)
