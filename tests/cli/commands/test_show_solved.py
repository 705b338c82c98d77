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


def mended_in_pass_two(request: Request) -> str:
    """Each pass brings a program that passes one test more."""
    found = re.search(r"pass/(\d)", request.key)
    return program(1 + int(found[1]) if found else 1, request.key)


def test_one_problem_is_told_pass_by_pass(inside: Inside, writes: Script) -> None:
    writes(mended_in_pass_two)
    inside("solve", some(inside, 1), *MODEL, "--strategy", "critique_revise", "-q")
    said = " ".join(inside("show", "--evidence").out.split())
    assert "draft 3 lines; wrong answer, 1 of 3 public tests passed; test 2 is the first" in said
    assert "B 3 lines; wrong answer, 2 of 3 public tests passed; test 3 is the first" in said
    assert "B 3 lines; accepted, 3 of 3 public tests" in said
    assert said.index("Pass 1") < said.index("Pass 2")
    assert said.index("Pass 2") < said.index("Solved: it passes all 3 public tests")


def test_one_pass_is_told_with_its_programs(inside: Inside, writes: Script) -> None:
    writes(mended_in_pass_two)
    inside("solve", some(inside, 1), *MODEL, "--strategy", "critique_revise", "-q")
    said = inside("show", "--round", "2")
    assert "Pass 1" not in said.out
    assert program(2, "pass/1/reviser/try/0") in said.out
    assert program(3, "pass/2/reviser/try/0") in said.out
    assert "has no round 3 on this problem" in inside("show", "--round", "3").sentence


def test_one_problem_of_a_set_is_told_strategy_by_strategy(inside: Inside, writes: Script) -> None:
    writes(mended_in_pass_two)
    inside("solve", some(inside, 3), *MODEL, "--strategy", "single,critique_revise", "-q")
    said = inside("show", "--problem", "p2").out
    assert said.index("single, repeat 1") < said.index("critique_revise, repeat 1")
    assert "attempt 6" in said
    assert "accepted, 3 of 3 public tests; accepted, 4 of 4 private tests" in " ".join(said.split())
    alone = inside("show", "--problem", "p2", "--strategy", "critique_revise").out
    assert "attempt 6" not in alone
    assert "Pass 2" in alone
    assert "Pass 2" in inside("show", "--problem", "p2", "--round", "2").out


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--round", "1"), "is on 3 problems; name one of them with --problem ID"),
        (("--strategy", "single"), "is on 3 problems; name one of them with --problem ID"),
        (("--problem", "p9"), "has no problem 'p9'; there are p1, p2, p3"),
        (("--problem", "p1", "--strategy", "x"), "has no strategy 'x'; there are single"),
        (("--problem", "p1", "--text"), "--strategy with --round"),
        (("--problem", "p1", "--round", "1"), "has no round 1 on this problem"),
    ],
)
def test_what_a_set_cannot_show_is_one_sentence(
    inside: Inside, asked: tuple[str, ...], said: str
) -> None:
    inside("solve", some(inside, 3), *MODEL, "--strategy", "single", "-q")
    refused = inside("show", *asked)
    assert refused.status == 2
    assert said in refused.sentence


def test_a_run_that_writes_texts_has_no_problems(inside: Inside) -> None:
    inside("run", "Write about tides.", "-m", "echo/echo", "--passes", "1", "-q")
    assert "writes no programs" in inside("show", "--problem", "p1").sentence


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
