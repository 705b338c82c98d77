"""Whatever a model does, no strategy takes more calls than it has, and the same answers tell the same story."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programs.stage import PROBLEM, Worked, critique, fenced, program, work

from autoreason.events import (
    CandidateReady,
    DraftReady,
)
from autoreason.exchange import Outcome, Reply, Request
from autoreason.programs.assignment import CodeVerdict
from autoreason.programs.events import ProgramExamined
from autoreason.programs.program_strategies import PROGRAM_STRATEGIES


class Moody:
    """A model that does as it likes: answers well, badly, half or not at all."""

    def __init__(self, mood: int) -> None:
        self._mood = mood

    def __call__(self, request: Request) -> Reply:
        luck = random.Random(f"{self._mood}/{request.key}")
        outcome = luck.choices(list(Outcome)[:4], (6, 2, 1, 1))[0]
        return Reply(outcome=outcome, text=self._text(request, luck), model=request.model)

    def _text(self, request: Request, luck: random.Random) -> str:
        if luck.random() < 0.2:
            return "I would rather not."
        match request.role:
            case "critic":
                return critique("It is slow.")
            case "judge":
                assert request.schema
                rankings = request.schema.definition["properties"]["ranking"]["enum"]
                return f"RANKING: {luck.choice(rankings)}"
        return fenced(program(luck.choice((0, 1, 1, 2, 2, 2, 3)), luck.choice("abcdefg")))


async def moody(strategy: str, mood: int, calls: int) -> Worked:
    """A strategy with a model that cannot be relied upon."""
    model = Moody(mood)
    roles = ("author", "critic", "reviser", "synthesizer", "judge")
    return await work(strategy, dict.fromkeys(roles, model), calls=calls)


moods = st.integers(0, 10**6)
allowances = st.integers(1, 14)
names = st.sampled_from(list(PROGRAM_STRATEGIES))


@given(names, moods, allowances)
async def test_no_strategy_oversteps_its_allowance(name: str, mood: int, calls: int) -> None:
    worked = await moody(name, mood, calls)
    assert worked.delivered
    assert len(worked.roles()) == worked.allowance.total.calls <= calls
    keys = [request.key for request in worked.requests]
    assert len(set(keys)) == len(keys)


@given(names, moods, allowances)
async def test_what_passes_every_public_test_ends_it_and_is_handed_in(
    name: str, mood: int, calls: int
) -> None:
    worked = await moody(name, mood, calls)
    examined = worked.of(ProgramExamined)
    right = [each for each in examined if each.examined.verdict is CodeVerdict.ACCEPTED]
    assert worked.delivered
    if right:
        # A search goes on for company, and hands in one that passes as well.
        assert name == "search" or right == [examined[-1]]
        assert worked.delivered.text in [each.program for each in right]
        assert worked.delivered.status == "converged"


@given(names, moods, allowances)
async def test_only_programs_that_came_whole_are_ever_run_or_handed_in(
    name: str, mood: int, calls: int
) -> None:
    worked = await moody(name, mood, calls)
    written = {each.text for each in worked.of(DraftReady)}
    written |= {each.program for each in worked.of(ProgramExamined)}
    written |= {each.text for each in worked.of(CandidateReady)}
    assert worked.delivered
    assert worked.delivered.text in written | {""}
    whole = [
        reply.text
        for request in worked.requests
        if request.role in ("author", "reviser", "synthesizer")
        and (reply := Moody(mood)(request)).outcome is Outcome.OK
    ]
    for text in written - {""}:
        assert any(text in reply for reply in whole)


@given(names, moods)
async def test_the_same_answers_tell_the_same_story(name: str, mood: int) -> None:
    once, again = await moody(name, mood, 8), await moody(name, mood, 8)
    assert once.events == again.events
    assert once.requests == again.requests


@given(st.sampled_from(["search", "best_of_n", "analyse_revise", "tournament"]), moods, allowances)
async def test_who_keeps_the_best_never_hands_in_less_than_the_best(
    name: str, mood: int, calls: int
) -> None:
    worked = await moody(name, mood, calls)
    passed = {each.program: each.examined.passed for each in worked.of(ProgramExamined)}
    assert worked.delivered
    if worked.delivered.text:
        assert passed[worked.delivered.text] == max(passed.values())


@given(names, st.integers(1, 40))
def test_a_plan_takes_no_more_calls_than_there_are(name: str, calls: int) -> None:
    from autoreason.programs.program_strategies import find_program_strategy

    plan = find_program_strategy(name).planned(calls)
    assert sum(plan.values()) <= calls
    assert min(plan.values()) >= 0
    assert plan["author"] >= 1


@pytest.mark.parametrize("name", PROGRAM_STRATEGIES)
async def test_without_public_tests_the_first_program_is_handed_in(name: str) -> None:
    from msgspec.structs import replace

    blind = replace(PROBLEM, public=())
    worked = await work(name, {"author": fenced(program(0))}, problem=blind)
    assert worked.delivered
    assert worked.roles() == ["author"]
    assert (worked.delivered.status, worked.delivered.text) == ("done", program(0))
    assert "no public tests" in worked.delivered.reason
    assert worked.examiner.asked == []


@pytest.mark.parametrize("name", PROGRAM_STRATEGIES)
async def test_tests_that_could_not_be_held_are_no_result(name: str) -> None:
    worked = await work(name, {"author": fenced(program(99))})
    assert worked.delivered is None
    assert worked.interruption
    assert str(worked.interruption) == "the public tests could not be run: so it is"
