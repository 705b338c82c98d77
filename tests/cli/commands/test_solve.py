"""`solve`: programs for problems with tests, one or a whole set."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable

import pytest
from tests.cli.conftest import Shell
from tests.cli.inside import Inside
from tests.cli.server import Server
from tests.cli.solving import MadeUpClient, WrittenText, examiner, writes
from tests.cli.test_terminal import terminal
from tests.patience import until
from tests.programs.stage import program
from tests.run.solve_runs import number_of

from autoreason.exchange import Request
from autoreason.programs.examiner.process import ExaminerClient

__all__ = ["examiner", "writes"]

MODEL = ("-m", "echo/echo", "--seed", "7")
Script = Callable[[WrittenText], None]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")


@pytest.fixture(autouse=True)
def _stage(examiner: type[MadeUpClient], writes: Script) -> None:
    """No program is run, and the model is not one."""


def some(inside: Inside, problems: int = 3, *broken: str) -> str:
    return inside.write("set.jsonl", "\n".join([str(problems), *broken]))


def test_the_program_alone_goes_to_standard_output_or_to_a_file(inside: Inside) -> None:
    said = inside("solve", some(inside, 1), *MODEL)
    assert said.status == 0
    assert said.out == program(3, "draft/try/0") + "\n"
    end = " ".join(said.err.split())
    passed = "Solved: passes all 3 public tests and passes all 4 private tests."
    assert f"{passed} 6 attempts; no two of 6" in end
    assert "6 calls, " in end
    assert "solution on standard output" in end
    assert "Landlock" in inside("show", "--evidence").out
    said = inside("solve", some(inside, 1), *MODEL, "-o", "solution.py", "-q")
    assert (said.status, said.out, said.err) == (0, "", "")
    assert (inside.folder / "solution.py").read_text().startswith("passes = 3")


def test_a_model_that_writes_no_program_has_solved_nothing(inside: Inside, writes: Script) -> None:
    writes(lambda _: "")
    said = inside("solve", some(inside, 1), *MODEL)
    assert (said.status, said.out) == (1, "")
    assert "Not solved: no program came of" in said.err
    assert "no code" not in said.err
    assert "none of" not in said.err
    assert "has no text" in inside("show", "--text").sentence


@pytest.mark.parametrize("passes", [0, 1])
def test_a_program_that_fails_its_tests_is_handed_over_and_not_called_solved(
    inside: Inside, writes: Script, passes: int
) -> None:
    writes(lambda request: program(passes, request.key))
    said = inside("solve", some(inside, 1), *MODEL, "--calls", "20")
    assert said.status == 1
    assert said.out.startswith(f"passes = {passes}")
    assert [line for line in said.err.splitlines() if line.startswith("Not solved: ")], said.err
    assert "Converged" not in said.err
    assert "\nNot solved: " in inside("show").out
    quiet = inside("solve", some(inside, 1), *MODEL, "-q")
    assert quiet.status == 1
    assert quiet.err.startswith("autoreason: not solved: wrong answer, ")


@pytest.mark.parametrize(("passes", "status"), [(0, 1), (1, 0)])
def test_a_set_of_which_no_test_was_passed_does_not_end_well(
    inside: Inside, writes: Script, passes: int, status: int
) -> None:
    writes(lambda request: program(passes, request.key))
    for more in ((), ("-q",), ("--json",)):
        said = inside("solve", some(inside, 2), *MODEL, *more)
        assert said.status == status
        why = said.err.lower().count("not solved: no program of the set passes a public test\n")
        assert why == status


def test_where_no_program_came_the_file_is_not_taken_for_the_answer(
    inside: Inside, writes: Script
) -> None:
    writes(lambda _: "")
    asked = ("solve", some(inside, 1), *MODEL, "-o", "s.py")
    quiet = inside(*asked, "-q")
    assert quiet.status == 1
    assert quiet.sentence == "no program came of 6 of 6 calls; nothing was written to s.py"
    inside.write("s.py", "print('older')")
    again = inside(*asked)
    assert again.status == 1
    assert "nothing was written to s.py" in again.err
    assert (inside.folder / "s.py").read_text() == "print('older')"


def test_a_run_that_paused_says_how_its_program_reaches_the_file(
    inside: Inside, writes: Script
) -> None:
    writes(lambda request: program(1, request.key))
    asked = ("solve", some(inside, 1), *MODEL, "--call-limit", "2", "-o", "s.py")
    shown = inside(*asked)
    assert shown.status == 3
    assert "autoreason resume" in shown.err
    assert "with -o s.py it writes the result there" in shown.err
    assert "resume" in (quiet := inside(*asked, "-q")).sentence
    assert "-o s.py" in quiet.sentence


def test_a_set_ends_with_its_conclusion_and_has_tables(inside: Inside, writes: Script) -> None:
    writes(_tournament_is_best)
    said = inside("solve", some(inside, 12), *MODEL, "--strategy", "single,tournament")
    assert said.status == 0
    assert said.out.startswith("tournament wins on 12 problems: tournament passes the tests of a")
    assert said.out.endswith(" · autoreason view last\n")
    shown = inside("show", "--evidence").out
    for title in ("Answers", "Comparisons", "What each came to", "By difficulty", "Verdicts"):
        assert f"\n{title}\n" in shown
    assert "100 % (74 to 100)" in shown
    assert "Sandbox    Landlock" in shown
    assert "wins" not in said.err
    assert "p12, tournament 1: accepted, 3 of 3 public tests" in said.err
    assert "pass 1" not in said.err, "a set is a line a problem"


def _tournament_is_best(request: Request) -> str:
    right = request.role == "reviser"
    return program(3 if right else 1, request.key, "accepted" if right else "wrong_answer")


def test_broken_lines_are_named_and_the_rest_is_solved(inside: Inside) -> None:
    said = inside("solve", some(inside, 2, "line 17: no statement"), *MODEL)
    assert said.status == 0
    assert "left out, line 17: no statement" in said.err
    assert "1 part left out: see --evidence." in said.out
    assert "1 line: no statement (line 17)" in inside("show", "--evidence").out


def test_the_report_is_a_folder_of_files(inside: Inside) -> None:
    inside("solve", some(inside, 3), *MODEL, "--strategy", "all", "-q")
    assert inside("show", "--report", "out/deep").err == "written to out/deep\n"
    folder = inside.folder / "out" / "deep"
    made = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {"report.md", "report.json", "report.tex", "cells.csv", "comparisons.csv"} <= made
    assert "programs/2_p2/tournament-1.py" in made
    assert len((folder / "cells.csv").read_text().splitlines()) == 19
    assert "Landlock" in (folder / "report.md").read_text()


def test_a_set_that_reached_its_budget_says_how_far_it_is_and_goes_on(inside: Inside) -> None:
    single = ("--strategy", "single")
    asked = ("solve", some(inside, 4), *MODEL, *single, "--call-limit", "2")
    paused = inside(*asked)
    assert paused.status == 3
    assert "autoreason resume" in paused.err
    assert "2 of 4 parts done" in inside("show").out
    assert "unfinished: 2 of 4 parts" in " ".join(inside("lab", "report").out.lower().split())
    resumed = inside("resume", "--call-limit", "9")
    assert resumed.status == 0
    assert "single passes the tests of 100 % (40 to 100) of 4 problems" in resumed.out
    assert inside("show", "--report", "out").status == 0
    assert json.loads((inside.folder / "out" / "report.json").read_text())["tasks"] == 4


def better_in_each_round(request: Request) -> str:
    """Each pass brings a program that passes one test more."""
    found = re.search(r"pass/(\d)", request.key)
    return program(1 + int(found[1]) if found else 1, request.key)


def test_one_problem_is_shown_pass_by_pass_and_each_with_its_programs(
    inside: Inside, writes: Script
) -> None:
    writes(better_in_each_round)
    inside("solve", some(inside, 1), *MODEL, "--strategy", "critique_revise", "-q")
    said = " ".join(inside("show", "--evidence").out.split())
    assert "draft 3 lines; wrong answer, 1 of 3 public tests passed; test 2 is the first" in said
    assert "B 3 lines; wrong answer, 2 of 3 public tests passed; test 3 is the first" in said
    assert "B 3 lines; accepted, 3 of 3 public tests" in said
    assert said.index("Pass 1") < said.index("Pass 2")
    assert said.index("Pass 2") < said.index("Solved: it passes all 3 public tests")

    shown = inside("show", "--round", "2")
    assert "Pass 1" not in shown.out
    assert program(2, "pass/1/reviser/try/0") in shown.out
    assert program(3, "pass/2/reviser/try/0") in shown.out
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--difficulty", "odd"), "there are easy, hard"),
        (("--limit", "0"), "--limit is 0; give a number from 1"),
        (("--test-time-limit", "-1"), "--test-time-limit is -1; give up to 60 s"),
        (("--repeats", "0"), "repeats is 0"),
        (("--strategy", "harsh"), "harsh writes texts, not programs"),
        (("--strategy", "single,single"), "one or several strategies"),
        (("-o", "x.py"), "--output is for one program"),
        (("-o", "full/file/x.py"), "cannot write to "),
        pytest.param(("-o", "/proc/x.py"), "cannot write to /proc/x.py", marks=LINUX),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_writes_nothing(
    inside: Inside, arguments: tuple[str, ...], said: str
) -> None:
    (inside.folder / "full").mkdir()
    inside.write("full/file", "in the way")
    problems, before = some(inside, 3), sorted(inside.folder.rglob("*"))
    refused = inside("solve", problems, *MODEL, *arguments)
    assert refused.status == 2, refused
    assert said in refused.sentence
    assert sorted(inside.folder.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to this user")
def test_a_folder_that_is_closed_is_noticed_before_anything_is_asked(inside: Inside) -> None:
    problems = some(inside, 1)
    closed = inside.folder / "closed"
    for mode in (0o555, 0o000):
        closed.mkdir(mode, exist_ok=True)
        closed.chmod(mode)
        try:
            refused = inside("solve", problems, *MODEL, "-o", str(closed / "x.py"))
        finally:
            closed.chmod(0o755)
        assert refused.status == 2
        assert str(closed) in refused.err
        assert not inside.journal_exists


def test_without_a_sandbox_nothing_is_run_unless_asked_for_by_name(inside: Inside) -> None:
    problems = inside.write("set.jsonl", "no sandbox")
    refused = inside("solve", problems, *MODEL)
    assert refused.status == 2
    assert "--unsafe" in refused.sentence
    assert not inside.journal_exists
    assert inside("solve", problems, *MODEL, "--unsafe").status == 0


SUM = {
    "id": "sum",
    "statement": "Read two numbers and print their sum.",
    "difficulty": "easy",
    "public_tests": [{"input": "1 2\n", "output": "3\n"}],
    "private_tests": [{"input": "3 9\n", "output": "12\n"}, {"input": "0 0\n", "output": "0\n"}],
}
WRONG = "print(3)"
SLOW = "while True: pass"
RIGHT = "print(sum(map(int, input().split())))"


@pytest.fixture
def _real(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examiner's own process after all; everywhere but on Linux there may be no sandbox."""
    if not sys.platform.startswith("linux"):
        pytest.skip("needs the sandbox of Linux")
    monkeypatch.setattr("autoreason.programs.examiner.process.ExaminerClient", ExaminerClient)


@pytest.mark.usefixtures("_real")
def test_a_set_is_scored_in_a_real_sandbox_and_nobody_sees_its_private_tests(
    inside: Inside, writes: Script
) -> None:
    programs = {1: RIGHT, 2: WRONG, 3: SLOW}
    writes(lambda request: programs[number_of(request)])
    shown = "{} Problem number {}."
    lines = [
        json.dumps(SUM | {"id": f"sum {n}", "statement": shown.format(SUM["statement"], n)})
        for n in (1, 2, 3)
    ]
    path = inside.write("set.jsonl", "\n".join([lines[0], "{", *lines[1:]]))
    limits = ("--test-time-limit", "0.5", "--calls", "1", "--strategy", "single,best_of_n")
    found = inside("solve", path, *MODEL, *limits, "--json").json
    report = found["report"]
    for arm in report["arms"]:
        assert arm["verdicts"] == {"accepted": 1, "wrong_answer": 1, "time_limit": 1}
        assert arm["shares"]["overfitted"]["value"] == 0.5
    assert [each["kind"] for each in report["left_out"]] == ["line"]
    assert report["left_out"][0]["items"] == ["line 2"]
    everything = (inside.folder / "journal.db").read_bytes()
    wal = inside.folder / "journal.db-wal"
    everything += wal.read_bytes() if wal.exists() else b""
    assert b"1 2" in everything
    assert b"3 9" not in everything


def test_ctrl_c_and_resume_lose_nothing_and_pay_for_nothing_twice(
    shell: Shell, server: Server
) -> None:
    path = shell.home / "set.jsonl"
    path.write_text("\n".join(json.dumps(SUM | {"id": f"sum {n}"}) for n in range(3)))
    server.held_from = 8
    model = ("-m", "test/slow", "--base-url", server.url)
    with terminal(shell, "solve", str(path), *model, "--calls", "4", "--seed", "7") as screen:
        screen.wait_for("of 3 programs")
        until(lambda: server.asked >= 8)
        screen.process.send_signal(signal.SIGINT)
        screen.wait_for("already asked for")
        server.gate.set()
        assert screen.end() == 130
    resumed = shell("resume", "--json", "-q")
    assert resumed.returncode == 1, "nothing it wrote is a program"
    found = json.loads(resumed.stdout)
    assert found["report"]["arms"][0]["finished"] == 3
    assert found["report"]["left_out"] == []
    assert found["calls"] == server.asked
