"""The usual way to a program: what is tried next, when it stops, and which program is handed in."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.programs.stage import PROBLEM, Worked, fenced, program, work
from tests.programs.test_contest import prefers

from autoreason.events import (
    DraftFailed,
    PanelDecided,
)
from autoreason.programs.assignment import CodeVerdict, Examined, Observed, Probe
from autoreason.programs.events import ProgramExamined
from autoreason.programs.policy import PolicyQuery, Turn
from autoreason.programs.program_strategy import Attempt
from autoreason.programs.search import Choice, Finalists, Group

INPUTS = ("5 1\n", "6 1\n", "7 1\n")


@pytest.fixture(autouse=True)
def inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three inputs, whatever the problem."""
    monkeypatch.setattr("autoreason.programs.search.make_inputs", lambda *_: INPUTS)


def behaving(behaviour: str, tag: str = "", passes: int = 3) -> str:
    """A program that passes, and does as it says on other inputs."""
    return f"behaves = {behaviour}\n{program(passes, tag)}"


def in_turn(*answers: str) -> Any:
    """Programs one after another."""
    numbers = count()
    return lambda _: fenced(answers[next(numbers)])


def turns(worked: Worked) -> list[Turn]:
    """What the policy was asked."""
    return [each.turn for each in worked.queries if isinstance(each, PolicyQuery)]


def stages(worked: Worked) -> list[str]:
    """Where programs were written, in order."""
    return [each.stage for each in worked.of(ProgramExamined)]


async def test_the_behaviour_that_most_programs_share_is_handed_in() -> None:
    wrote = [
        behaving("odd"),
        behaving("usual", "1"),
        behaving("usual", "22"),
        behaving("usual", "3"),
    ]
    worked = await work("search", {"author": in_turn(*wrote)}, calls=4)
    assert worked.delivered
    assert worked.delivered.status == "converged"
    assert worked.delivered.text in (wrote[1], wrote[3])
    assert worked.delivered.reason == (
        "it passes all 3 public tests; 3 of 4 that pass behave alike on 3 inputs made by code"
    )


async def test_attempts_end_once_one_behaviour_leads() -> None:
    worked = await work("search", {"author": lambda _: fenced(behaving("usual"))}, calls=12)
    assert 1 < len(worked.roles()) < 12
    assert set(worked.roles()) == {"author"}


async def test_a_program_is_watched_once_however_often_it_is_written() -> None:
    worked = await work("search", {"author": lambda _: fenced(behaving("usual"))})
    assert len([each for each in worked.queries if each.key.endswith("/observed")]) == 1


async def test_where_nothing_can_be_compared_the_first_that_passes_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("autoreason.programs.search.make_inputs", lambda *_: ())
    worked = await work("search", {"author": in_turn(program(3))})
    assert worked.roles() == ["author"]
    assert worked.delivered
    assert worked.delivered.reason == "it passes all 3 public tests"


async def test_programs_that_cannot_be_watched_are_handed_in_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(_: object, probe: Probe) -> Observed:
        failed = {"failure": "sandbox_error"}
        return msgspec.convert({"observations": [failed] * len(probe.inputs)}, Observed)

    monkeypatch.setattr("tests.programs.stage.MadeUpExaminer.observe", fails)
    worked = await work("search", {"author": in_turn(program(3))})
    assert worked.delivered
    assert worked.delivered.text == program(3)


async def test_after_a_failure_the_policy_says_what_is_next() -> None:
    script = {
        "policy/1": "repair",
        "policy/2": "merge",
        "policy/3": "fresh",
        "author": in_turn(program(1, "first"), program(2, "fresh")),
        "reviser": fenced(program(2, "repaired")),
        "synthesizer": fenced(program(0, "merged")),
    }
    worked = await work("search", script, calls=4)
    assert worked.roles() == ["author", "reviser", "synthesizer", "author"]
    assert stages(worked) == ["draft", "repair/2", "merge/3", "attempt/4"]
    repaired, merged = (each.messages[-1].text for each in worked.requests if each.role in WRITERS)
    assert program(1, "first") in repaired
    assert "1 of 3 tests passed." in repaired
    assert program(1, "first") in merged
    assert program(2, "repaired") in merged


WRITERS = ("reviser", "synthesizer")


async def test_a_merge_is_an_option_once_two_different_programs_failed() -> None:
    script = {"policy/1": "fresh", "policy/2": "fresh", "policy/3": "fresh"}
    wrote = in_turn(program(1), program(1), program(2), program(0))
    worked = await work("search", {**script, "author": wrote}, calls=4)
    offered = [[option.action for option in turn.options] for turn in turns(worked)]
    alone = ["fresh", "repair"]
    assert offered == [alone, alone, [*alone, "merge"], []]


async def test_the_policy_learns_what_came_of_every_action_the_last_one_too() -> None:
    script = {
        "policy/1": "repair",
        "policy/2": "fresh",
        "author": in_turn(program(1), behaving("usual"), behaving("usual")),
        "reviser": "I see nothing wrong with it.",
    }
    worked = await work("search", script, calls=4)
    learned = [turn.last for turn in turns(worked)]
    assert [(e.option.action, e.calls, e.passed) for e in learned if e] == [
        ("repair", 2, False),
        ("fresh", 1, True),
    ]
    assert turns(worked)[-1].options == ()


async def test_the_first_attempt_teaches_nothing_because_easy_problems_are_among_them() -> None:
    worked = await work("search", {"author": lambda _: fenced(behaving("usual"))})
    assert turns(worked) == []


async def test_repairs_go_round_the_failing_programs_the_best_first() -> None:
    script: dict[str, Any] = {f"policy/{n}": "repair" for n in range(1, 6)}
    script["policy/1"] = "fresh"
    script["author"] = in_turn(program(1, "weak"), program(2, "good"))
    script["reviser"] = in_turn(program(0, "a"), program(0, "b"), program(0, "c"), program(0, "d"))
    worked = await work("search", script, calls=5)
    asked = [each.messages[-1].text for each in worked.requests if each.role == "reviser"]
    assert program(2, "good") in asked[0]
    assert program(1, "weak") in asked[1]


async def test_where_none_passes_the_behaviour_decides_among_those_that_pass_most() -> None:
    wrote = [
        behaving("odd", passes=2),
        behaving("usual", "1", passes=2),
        behaving("other", "2", passes=1),
        behaving("usual", "3", passes=2),
    ]
    script = {f"policy/{n}": "fresh" for n in range(1, 5)}
    worked = await work("search", {**script, "author": in_turn(*wrote)}, calls=4)
    assert worked.delivered
    assert worked.delivered.status == "capped"
    assert worked.delivered.text in (wrote[1], wrote[3])
    assert worked.delivered.reason == (
        "after 4 of 4 calls it passes 2 of 3 public tests; "
        "2 of 3 that pass as many behave alike on 3 inputs made by code"
    )


async def test_where_no_two_programs_behave_alike_nobody_is_said_to_agree() -> None:
    wrote = [behaving(kind) for kind in ("one", "two", "three")]
    worked = await work("search", {"author": in_turn(*wrote)}, calls=3)
    assert worked.delivered
    assert worked.delivered.reason == (
        "it passes all 3 public tests; no two of 3 that pass behave alike on 3 inputs made by code"
    )


async def test_where_no_public_test_is_passed_that_is_said() -> None:
    wrote = [behaving(kind, passes=0) for kind in ("one", "two", "three")]
    script = {f"policy/{n}": "fresh" for n in range(1, 4)}
    worked = await work("search", {**script, "author": in_turn(*wrote)}, calls=3)
    assert worked.delivered
    assert worked.delivered.reason == (
        "after 3 of 3 calls it passes no public test; "
        "no two of 3 programs behave alike on 3 inputs made by code"
    )


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (((0,), (1, 2)), "none of the other 2 that pass behaves as it does"),
        (((0,), (1,), (2,)), "no two of 3 that pass behave alike"),
        (((0, 2), (1,)), "2 of 3 that pass behave alike"),
    ],
)
def test_a_program_alone_in_what_it_does_is_not_said_to_be_alike(
    groups: tuple[tuple[int, ...], ...], text: str
) -> None:
    passed = Examined(which="public", verdict=CodeVerdict.ACCEPTED, passed=3, run=3, total=3)
    attempts = [Attempt(f"attempt/{n}", f"n = {n}", passed) for n in range(3)]
    final = Finalists(attempts, Choice(0, tuple(map(Group, groups)), clear=False))
    assert final.describe_agreement(final.chosen) == text


async def test_without_public_tests_the_behaviour_alone_decides() -> None:
    blind = replace(PROBLEM, public=())
    wrote = [behaving("odd"), behaving("usual", "1"), behaving("usual", "2")]
    worked = await work("search", {"author": in_turn(*wrote)}, calls=3, problem=blind)
    assert worked.delivered
    assert worked.delivered.status == "done"
    assert worked.delivered.text in wrote[1:]
    assert worked.delivered.reason == "2 of 3 programs behave alike on 3 inputs made by code"


def scarce(*passing: str) -> dict[str, Any]:
    """Programs of which fewer than half pass, so that the last calls are worth more as ballots."""
    failing = [program(0, str(n)) for n in range(3)]
    script: dict[str, Any] = {f"policy/{n}": "fresh" for n in range(1, 9)}
    script["author"] = in_turn(*failing, *passing)
    return script


async def test_judges_decide_between_groups_of_the_same_size_who_see_no_comments() -> None:
    short, long = behaving("one") + "  # my best", behaving("two", "a longer one")

    worked = await work("search", {**scarce(short, long), "judge": prefers("two")}, calls=8)
    asked = [each.messages[-1].text for each in worked.requests if each.role == "judge"]
    assert asked
    assert not any("my best" in text for text in asked)
    assert worked.roles() == ["author"] * 5 + ["judge"] * (len(worked.roles()) - 5)
    (panel,) = worked.of(PanelDecided)
    assert panel.verdict
    assert worked.delivered
    assert worked.delivered.text == long
    assert "judges chose between 2 groups of that size" in worked.delivered.reason


async def test_the_earlier_of_equals_is_handed_in_where_judges_say_nothing() -> None:
    script = {**scarce(behaving("one"), behaving("two")), "judge": "I cannot decide."}
    worked = await work("search", script, calls=8)
    assert worked.of(PanelDecided)[0].verdict is None
    assert worked.delivered
    assert worked.delivered.text == behaving("one")


async def test_programs_that_fail_have_a_say_in_which_of_equals_is_right() -> None:
    wrote = [behaving("right", passes=2), behaving("wrong"), behaving("right")]
    script = {"policy/1": "fresh", "author": in_turn(*wrote)}
    worked = await work("search", script, calls=3)
    assert worked.delivered
    assert worked.delivered.text == wrote[2]


async def test_an_answer_without_a_program_is_asked_for_again_once() -> None:
    script = {
        "draft/try/0": "First I would sort the numbers.",
        "draft/try/1": fenced(behaving("usual")),
        "author": fenced(behaving("usual")),
    }
    worked = await work("search", script)
    first, second = [each for each in worked.requests if each.key.startswith("draft/try")]
    *earlier, prose, again = second.messages
    assert tuple(earlier) == first.messages
    assert prose.text == "First I would sort the numbers."
    assert "nothing else" in again.text
    assert "```python" in again.text
    assert stages(worked)[0] == "draft"
    assert worked.of(ProgramExamined)[0].program == behaving("usual")
    assert worked.of(DraftFailed) == []
