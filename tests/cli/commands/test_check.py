"""`problems check` runs one program on one problem, or every known solution of a set; no model is asked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.inside import Inside

from autoreason.programs.sandbox import levels

PROBLEM = {
    "id": "adding",
    "statement": "Add two numbers.",
    "time_limit_s": 1,
    "public_tests": [["1 2\n", "3\n"]],
    "private_tests": [["5 6\n", "11\n"], ["7 7\n", "14\n"], ["8 8\n", "16\n"]],
    "solution": "print(sum(map(int, input().split())))",
}
RIGHT = "print(sum(map(int, input().split())))"
WRONG = "a, b = map(int, input().split())\nprint(a + b if a != 7 else 15)"


@pytest.fixture
def problem(inside: Inside) -> str:
    return inside.write("problem.json", json.dumps(PROBLEM))


@pytest.fixture
def problems(inside: Inside) -> str:
    other = PROBLEM | {"id": "other", "solution": "print(3)"}
    return inside.write("set.jsonl", f"{json.dumps(PROBLEM)}\n{json.dumps(other)}\nnonsense\n")


def test_a_right_program_is_accepted_test_by_test(inside: Inside, problem: str) -> None:
    said = inside("problems", "check", problem, inside.write("solution.py", RIGHT))
    assert said.status == 0
    conclusion, table = said.out.split("\n\n")
    head, *rows = table.splitlines()
    assert head.split() == ["test", "verdict", "time", "memory"]
    assert [row[:9].strip() for row in rows] == ["public 1", "private 1", "private 2", "private 3"]
    assert all("accepted" in row and " MB" in row for row in rows)
    assert conclusion.startswith("adding: accepted; 4 of 4 passed; sandbox ")


def test_a_wrong_one_stops_and_shows_the_first_difference(inside: Inside, problem: str) -> None:
    said = inside("problems", "check", problem, inside.write("solution.py", WRONG))
    assert said.status == 1
    assert "private 3" not in said.out
    assert "private 2  wrong answer" in said.out
    assert "line 1, token 1: expected 14, got 15" in said.out
    assert "\nprivate 2, input\n7 7\n\nprivate 2, expected\n14\n\nprivate 2, got\n15\n" in said.out
    assert " ".join(said.out.split()).startswith(
        "adding: wrong answer; 2 of 4 passed; stopped at the first failure, --every goes on; sandbox"
    )


def test_a_problem_of_a_set_is_chosen_by_its_id(inside: Inside, problems: str) -> None:
    solution = inside.write("s.py", RIGHT)
    assert inside("problems", "check", problems, solution, "--problem", "other").status == 0
    sentence = inside("problems", "check", problems, solution).sentence
    assert sentence == "name one problem of set.jsonl with --problem, such as adding"
    assert "no problem 'third'" in (
        inside("problems", "check", problems, solution, "--problem", "third").sentence
    )


def test_what_cannot_be_used_is_refused_in_one_sentence(inside: Inside, problem: str) -> None:
    right = inside.write("s.py", RIGHT)
    (inside.folder / "latin.py").write_bytes("print('é')".encode("latin-1"))
    refusals = {
        ("nowhere.json", right): "cannot read nowhere.json: No such file or directory; name a file",
        (problem, "nowhere.py"): "cannot read nowhere.py: No such file or directory; name a file",
        (problem, "latin.py"): "latin.py is not UTF-8 text; save it as UTF-8",
        (right, problem): "the problem comes first",
        (problem, problem): "the problem comes first",
        (problem, right, "--test-time-limit", "99"): "--test-time-limit is 99; give up to 60 s",
        (problem, right, "--test-time-limit", "0"): "--test-time-limit is 0; give up to 60 s",
        (problem, right, "--test-memory-limit", "1"): "--test-memory-limit is 1; give 16 to",
    }
    for arguments, sentence in refusals.items():
        said = inside("problems", "check", *arguments)
        assert said.status == 2
        assert said.sentence.startswith(sentence)
    none = inside.write("none.json", json.dumps(PROBLEM | {"public_tests": []}))
    assert inside("problems", "check", none, right, "--public-only").sentence == (
        "problem 'adding' has no public tests; leave out --public-only"
    )
    no_tests = PROBLEM | {"public_tests": [], "private_tests": []}
    empty = inside.write("empty.json", json.dumps(no_tests))
    assert "it has no tests" in inside("problems", "check", empty, right).sentence


def test_a_test_that_cannot_be_held_has_a_status_of_its_own(inside: Inside) -> None:
    crash = "def check(input, output, expected): return int('x')"
    broken = PROBLEM | {"checker_program": crash}
    path = inside.write("p.json", json.dumps(broken))
    said = inside("problems", "check", path, inside.write("s.py", RIGHT))
    assert said.status == 6
    assert "sandbox error (the checker crashed: ValueError" in said.out


def test_without_a_sandbox_nothing_is_run_unless_it_is_said(
    inside: Inside, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = levels.DetectedLevel("none", ("this is a test",))
    monkeypatch.setattr(levels, "find_level", lambda *_: none)
    mark = inside.folder / "mark"
    program = inside.write("s.py", f"open({str(mark)!r}, 'w').close()\n{RIGHT}")
    said = inside("problems", "check", problem, program)
    assert said.status == 2
    assert "--unsafe" in said.sentence
    assert not mark.exists()
    said = inside("problems", "check", problem, program, "--unsafe")
    assert said.status == 0
    assert "no sandbox" in said.out
    assert mark.exists()


def test_known_solutions_of_a_set_are_checked(inside: Inside, problems: str) -> None:
    said = inside("problems", "check", problems)
    assert said.status == 1
    conclusion, _, _, failed, _, left_out = said.out.splitlines()
    assert failed == "other    wrong answer on test 2  line 1, token 1: expected 11, got 3"
    assert left_out.startswith("Left out   line 3: ")
    assert conclusion.startswith("1 of 2 known solutions accepted, 6 tests; 1 record left out; ")
    shown = inside("problems", "check", problems, "--json").json
    assert (shown["solutions"], shown["accepted"]) == (2, 1)
    assert shown["failed"][0]["problem"] == "other"


def test_programs_cannot_write_to_the_users_folder(inside: Inside, problem: str) -> None:
    mark = Path(os.path.realpath(inside.folder)) / "mark"
    program = inside.write("s.py", f"open({str(mark)!r}, 'w').close()")
    said = inside("problems", "check", problem, program)
    assert said.status == 1
    assert not mark.exists()
