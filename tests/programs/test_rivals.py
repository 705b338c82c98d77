"""The other ways to a program: independent attempts, and revisions by whoever sees the results."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from msgspec.structs import replace
from tests.programs.stage import PROBLEM, fenced, program, work

from autoreason.events import (
    CandidateDropped,
    CritiqueWritten,
    PassDecided,
)
from autoreason.programs.events import ProgramExamined


def one_after_another(*passes: int) -> Any:
    """An author whose programs pass so many tests, in turn."""
    numbers = count()

    def answer(_: object) -> str:
        number = next(numbers)
        return fenced(program(passes[number], str(number)))

    return answer


async def test_single_hands_in_the_first_that_passes() -> None:
    worked = await work("single", {"author": one_after_another(1, 2, 3, 3)})
    assert worked.roles() == ["author"] * 3
    assert worked.delivered
    assert (worked.delivered.text, worked.delivered.origin) == (program(3, "2"), "attempt 3")


async def test_single_hands_in_its_first_attempt_where_none_passes() -> None:
    worked = await work("single", {"author": one_after_another(1, 2, 0, 2, 1, 0)})
    assert worked.delivered
    assert worked.delivered.status == "capped"
    assert worked.delivered.text == program(1, "0")


async def test_single_stops_at_the_first_failing_test_and_best_of_n_counts_them_all() -> None:
    for name, every in (("single", False), ("best_of_n", True)):
        worked = await work(name, {"author": fenced(program(0))}, calls=1)
        assert [each.every for each in worked.examiner.asked] == [every]


async def test_best_of_n_hands_in_the_earliest_of_those_that_pass_most() -> None:
    worked = await work("best_of_n", {"author": one_after_another(1, 0, 2, 2, 1, 0)})
    assert worked.roles() == ["author"] * 6
    assert worked.delivered
    assert worked.delivered.text == program(2, "2")


async def test_critique_revise_hands_in_the_last_program_better_or_not() -> None:
    answers = {"author": fenced(program(2)), "reviser": one_after_another(1, 0, 1, 0, 0)}
    worked = await work("critique_revise", answers)
    assert worked.roles() == ["author"] + ["reviser"] * 5
    assert worked.delivered
    assert worked.delivered.text == program(0, "4")
    assert [each.outcome for each in worked.of(PassDecided)] == ["unjudged"] * 5


async def test_critique_revise_shows_the_results_of_the_latest_program() -> None:
    answers = {"author": fenced(program(2, "d")), "reviser": one_after_another(1, 3)}
    worked = await work("critique_revise", answers)
    first, second = (each.messages[-1].text for each in worked.requests if each.role == "reviser")
    assert program(2, "d") in first
    assert "2 of 3 tests passed." in first
    assert program(1, "0") in second
    assert "1 of 3 tests passed." in second


def analysis(**texts: str) -> str:
    """A structured analysis."""
    fields = ("problem", "approach", "failure", "alternatives", "edge_cases")
    return json.dumps({name: texts.get(name, f"about the {name}") for name in fields})


async def test_analyse_revise_analyses_once_and_keeps_the_best() -> None:
    answers = {
        "author": fenced(program(1)),
        "critic": analysis(failure="It adds 1."),
        "reviser": one_after_another(0, 2, 2, 1),
    }
    worked = await work("analyse_revise", answers)
    assert worked.roles() == ["author", "critic"] + ["reviser"] * 4
    assert worked.delivered
    assert worked.delivered.text == program(2, "1")
    assert [each.winner for each in worked.of(PassDecided)] == ["A", "B", "A", "A"]
    assert {each.reason for each in worked.of(CandidateDropped)} == {"tests"}
    (made,) = worked.of(CritiqueWritten)
    assert "Failure: It adds 1." in made.prose
    asked = [each.messages[-1].text for each in worked.requests if each.role == "reviser"]
    assert all("Failure: It adds 1." in text for text in asked)
    assert program(0, "0") in asked[1]
    assert "did no better" in asked[1]
    assert program(2, "1") in asked[2]
    assert "did no better" not in asked[2]


async def test_analyse_revise_takes_an_analysis_in_any_form() -> None:
    answers = {
        "author": fenced(program(1)),
        "critic": "It simply adds 1 too many.",
        "reviser": fenced(program(3)),
    }
    worked = await work("analyse_revise", answers)
    (made,) = worked.of(CritiqueWritten)
    assert made.prose == "It simply adds 1 too many."
    assert worked.delivered
    assert worked.delivered.text == program(3)


async def test_the_task_shows_limits_and_tests_but_nothing_private() -> None:
    worked = await work("single", {"author": fenced(program(3))})
    system, task, _ = worked.requests[0].messages
    assert system.stable
    assert task.stable
    assert PROBLEM.statement in task.text
    assert "2 seconds" in task.text
    assert "512 MB" in task.text
    assert "0 1\n" in task.text


async def test_every_program_run_is_told_with_its_stage() -> None:
    answers = {"author": fenced(program(1)), "critic": analysis(), "reviser": fenced(program(3))}
    worked = await work("analyse_revise", answers)
    assert [each.stage for each in worked.of(ProgramExamined)] == ["draft", "pass/1/B"]
    asked = [each.key for each in worked.queries]
    assert asked == ["draft/examined", "pass/1/B/examined"]


async def test_a_starter_is_shown_once_though_the_statement_holds_it_too() -> None:
    starter = "def add(a, b):"
    for statement in (f"Finish this:\n\n{starter}\n", "Add two numbers."):
        problem = replace(PROBLEM, statement=statement, starter=f"{starter}\n", entry_point="add")
        worked = await work("single", {"author": one_after_another(3)}, problem=problem)
        text = "".join(message.text for message in worked.requests[0].messages)
        assert text.count(starter) == 1
