"""`show` and its neighbours on runs that write programs."""

from __future__ import annotations

import re

import pytest
from tests.cli.commands.test_solve import MODEL, Script, some
from tests.cli.inside import Inside
from tests.cli.solving import MadeUpClient, examiner, writes
from tests.programs.stage import program
from tests.run.solve_runs import number_of

from autoreason.exchange import Request

__all__ = ["examiner", "writes"]


@pytest.fixture(autouse=True)
def _stage(examiner: type[MadeUpClient], writes: Script) -> None:
    """No program is run, and the model is no model."""


# ---- passes ------------------------------------------------------------------------------------


def better_in_each_round(request: Request) -> str:
    """Each pass brings a program that passes one test more."""
    found = re.search(r"pass/(\d)", request.key)
    return program(1 + int(found[1]) if found else 1, request.key)


def test_one_problem_is_shown_pass_by_pass(inside: Inside, writes: Script) -> None:
    writes(better_in_each_round)
    inside("solve", some(inside, 1), *MODEL, "--strategy", "critique_revise", "-q")
    said = " ".join(inside("show", "--evidence").out.split())
    assert "draft 3 lines; wrong answer, 1 of 3 public tests passed; test 2 is the first" in said
    assert "B 3 lines; wrong answer, 2 of 3 public tests passed; test 3 is the first" in said
    assert "B 3 lines; accepted, 3 of 3 public tests" in said
    assert said.index("Pass 1") < said.index("Pass 2")
    assert said.index("Pass 2") < said.index("Solved: it passes all 3 public tests")


def test_one_round_is_shown_with_its_programs(inside: Inside, writes: Script) -> None:
    writes(better_in_each_round)
    inside("solve", some(inside, 1), *MODEL, "--strategy", "critique_revise", "-q")
    said = inside("show", "--round", "2")
    assert "Pass 1" not in said.out
    assert program(2, "pass/1/reviser/try/0") in said.out
    assert program(3, "pass/2/reviser/try/0") in said.out
    assert "has no round 3; it has 2 rounds" in inside("show", "--round", "3").sentence


def test_each_attempt_at_a_problem_of_a_set_is_a_run(inside: Inside, writes: Script) -> None:
    writes(better_in_each_round)
    inside("solve", some(inside, 3), *MODEL, "--strategy", "single,critique_revise", "-q")
    run, *_ = inside.runs()
    found = inside("runs", "--suite", run, "--search", "p2", "--json").json
    revised, single = (each["run"] for each in found)
    said = inside("show", single, "--evidence").out
    assert "attempt 6" in said
    assert "Pass 2" in inside("show", revised, "--round", "2").out


# ---- beside it ---------------------------------------------------------------------------------


def test_runs_says_what_was_solved_of_what_there_is(
    inside: Inside, writes: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes(
        lambda request: program(3, "", "wrong_answer" if number_of(request) == 2 else "accepted")
    )
    inside("solve", some(inside, 3), *MODEL, "--repeats", "2", "-q")
    monkeypatch.setenv("COLUMNS", "200")
    _, line, _ = inside("runs").out.splitlines()
    assert "  solved 4 of 6  " in line
    assert "solve: " not in line
    (found,) = inside("runs", "--json").json
    assert (found["solved"], found["to_solve"], found["passes"]) == (4, 6, None)
