"""Watching a program is a query, and its answer is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.programs.stage import PROBLEM, MadeUpExaminer, program

from autoreason.events import PassDecided
from autoreason.exchange import Query, Request
from autoreason.jobs.context import JobContext
from autoreason.programs import events
from autoreason.programs.assignment import (
    Assignments,
    CodeVerdict,
    Examined,
    Example,
    Observation,
    Observed,
    Probe,
    Trial,
)
from autoreason.programs.examination import (
    ExaminerService,
    NotExamined,
    ProbeQuery,
    feedback,
    observe,
    shorten,
    unstated_tests,
)
from autoreason.programs.program_strategies import no_program_result
from autoreason.prompts import built_in
from autoreason.settings import Models, make_settings
from autoreason.task import Task


class Broken(MadeUpExaminer):
    async def observe(self, probe: Probe) -> Observed:
        failed = Observation(failure=CodeVerdict.SANDBOX_ERROR)
        return Observed(observations=(failed,) * len(probe.inputs))


async def look(
    examiner: MadeUpExaminer, text: str, inputs: Sequence[str]
) -> tuple[Observed, list[ProbeQuery]]:
    asked: list[ProbeQuery] = []

    async def ask(request: Request | Query[Any]) -> Any:
        assert isinstance(request, ProbeQuery)
        asked.append(request)
        return await ExaminerService(examiner).answer(request)

    settings = make_settings(Models.everywhere("scripted/x"), 7)
    task = Task(brief=PROBLEM.statement, work=Assignments((PROBLEM,)))
    context = JobContext(task, settings, built_in(writes="programs"), ask, lambda _: None)
    return await observe(context, "draft/observed", text, inputs), asked


async def test_the_examiner_is_asked_under_a_key_and_answers_once_an_input() -> None:
    text = f"behaves = well\n{program(3)}"
    observed, [query] = await look(MadeUpExaminer(), text, ["1 2\n", "3 4\n"])
    assert observed.observations == (Observation(value="well"),) * 2
    assert (query.kind, query.key) == ("observation", "draft/observed")
    assert query.probe == Probe(problem=PROBLEM.id, program=text, inputs=("1 2\n", "3 4\n"))


async def test_a_sandbox_that_fails_says_nothing_of_the_program() -> None:
    with pytest.raises(NotExamined):
        await look(Broken(), program(3), ["1 2\n"])


def describe(*trials: Trial, total: int = 3) -> str:
    passed = sum(each.verdict is CodeVerdict.ACCEPTED for each in trials)
    verdict = next((t.verdict for t in trials if t.verdict != "accepted"), CodeVerdict.ACCEPTED)
    examined = Examined(
        which="public", verdict=verdict, passed=passed, run=len(trials), total=total, trials=trials
    )
    return feedback(examined, PROBLEM)


RIGHT = Trial(number=1, verdict=CodeVerdict.ACCEPTED)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"verdict": "wrong_answer", "input": "1\n", "expected": "2\n", "got": "3\n"},
            "wrong answer.\nInput:\n1\nExpected:\n2\nGot:\n3\nFirst difference: token 1",
        ),
        (
            {"verdict": "wrong_answer", "input": "1", "expected": "2"},
            "wrong answer.\nInput:\n1\nExpected:\n2\nNothing was printed.\nFirst difference: token 1",
        ),
        (
            {"verdict": "time_limit", "input": "9", "got": "1\n2\n", "trace": "step 2 of 9"},
            "time limit: 2 s of processor time are allowed, and by the clock little more than three "
            "times that.\nInput:\n9\nFirst difference: token 1",
        ),
        (
            {"verdict": "memory_limit", "got": "1\n2\n", "trace": "line 3\nMemoryError"},
            "memory limit: more than 512 MB were asked for.\nFirst difference: token 1\n"
            "Traceback:\nline 3\nMemoryError",
        ),
        (
            {"verdict": "output_limit"},
            "output limit: far more was printed than the answer can have.\nFirst difference: token 1",
        ),
    ],
)
def test_a_failure_shows_what_helps_and_not_how_far_a_program_came_before_a_limit(
    fields: dict[str, str], text: str
) -> None:
    failed = msgspec.convert({"number": 2, "difference": "token 1"} | fields, Trial)
    assert describe(RIGHT, failed) == (
        "1 of 3 tests passed. The first failure ended it; the other tests were not run.\n\n"
        f"Test 2: {text}"
    )


def test_a_crash_shows_the_end_of_its_traceback_and_long_data_keep_both_ends() -> None:
    trace = (
        "Traceback (most recent call last):\n"
        + "  File x, line 1\n" * 500
        + "ZeroDivisionError: no"
    )
    text = describe(Trial(number=1, verdict=CodeVerdict.RUNTIME_ERROR, trace=trace, input="0"))
    assert "Test 1: runtime error." in text
    assert text.endswith("ZeroDivisionError: no")
    assert 2000 < len(text) < 4000
    wrong = Trial(
        number=1, verdict=CodeVerdict.WRONG_ANSWER, input="1 " * 50_000, expected="2", got="3"
    )
    text = describe(wrong)
    assert "[... 98,500 characters left out ...]" in text
    assert len(text) < 4000
    assert shorten("abc") == "abc"


@pytest.mark.parametrize("verdict", CodeVerdict)
def test_nothing_that_was_measured_is_told(verdict: CodeVerdict) -> None:
    once = Trial(number=1, verdict=verdict, seconds=2.04, wall=2.31, memory=77_000_000, input="9")
    assert describe(once) == describe(replace(once, seconds=2.91, wall=6.8, memory=99_000_000))


def test_a_function_is_shown_the_test_that_failed() -> None:
    test = "assert add(1, 2) == 3"
    trial = Trial(number=1, verdict=CodeVerdict.WRONG_ANSWER, input=test, expected=test)
    examined = Examined(
        which="public", verdict=trial.verdict, passed=0, run=1, total=1, trials=(trial,)
    )
    problem = replace(PROBLEM, kind="function", entry_point="add")
    assert feedback(examined, problem) == (
        f"0 of 1 tests passed.\n\nTest 1: wrong answer.\nTest:\n{test}"
    )


def test_three_failing_tests_are_shown_and_no_program_is_told() -> None:
    wrong = [Trial(number=n, verdict=CodeVerdict.WRONG_ANSWER, got="x") for n in range(1, 6)]
    text = describe(*wrong, total=5)
    assert text.count("Got:") == 3
    assert "Failing as well: test 4 (wrong answer), 5 (wrong answer)." in text
    assert (
        feedback(no_program_result("public", 3), PROBLEM) == "There was no program in the answer."
    )


def test_tests_that_stand_in_the_statement_are_not_shown_twice() -> None:
    problem = replace(
        PROBLEM,
        statement="Add.\n\nInput\n\n1   2\n\nOutput\n\n3\n\nassert add(1, 2) == 3",
        public=(
            Example(input="1 2\n", output="3\n"),
            Example(input="5 5\n", output="10\n"),
            Example(code="assert add(1, 2) == 3"),
        ),
    )
    assert unstated_tests(problem) == (Example(input="5 5", output="10"),)


# What is said of it


def test_a_pass_over_programs_is_said_in_words_for_programs() -> None:
    equal = PassDecided(
        number=1,
        outcome="unopposed",
        winner="A",
        words=4,
        streak=1,
        reason="A and B pass equally many public tests, and too few calls are left for judges",
    )
    assert events.describe_pass(equal, 2) == (
        "A goes on (A and B pass equally many public tests, and too few calls are left for judges); "
        "survival 1 of 2 in a row"
    )
    taken = replace(equal, outcome="unjudged", winner="B", streak=0, reason="")
    assert events.describe_pass(taken, 2) == "accepted without a vote"


@pytest.mark.parametrize(
    ("verdict", "passed", "run", "sentence"),
    [
        ("accepted", 25, 25, "accepted, 25 of 25 private tests"),
        ("wrong_answer", 10, 11, "wrong answer at private test 11 of 25"),
        ("wrong_answer", 10, 25, "wrong answer, 10 of 25 private tests passed"),
        ("no_code", 0, 0, "no program"),
    ],
)
def test_a_failure_that_ended_the_tests_says_where(
    verdict: str, passed: int, run: int, sentence: str
) -> None:
    found = Examined(
        which="private", verdict=CodeVerdict(verdict), passed=passed, run=run, total=25
    )
    assert events.describe_examined(found) == sentence
