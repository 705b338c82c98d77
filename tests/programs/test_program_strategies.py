"""The other ways to a program: independent attempts, and revisions by an author who sees the results."""

from __future__ import annotations

import json
import random
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.programs.stage import PROBLEM, MadeUpExaminer, Worked, critique, fenced, program, work
from tests.run.runs import go_on, start_run
from tests.run.solve_runs import SCRIPT, task, terms
from tests.tournament.stage import cut_off

from autoreason.errors import InvalidInput, StrategyError
from autoreason.events import (
    BallotCast,
    CandidateDropped,
    CandidateReady,
    CritiqueWritten,
    DraftReady,
    PassDecided,
)
from autoreason.exchange import Outcome, Reply, Request
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.programs.assignment import CodeVerdict
from autoreason.programs.events import ProgramExamined
from autoreason.programs.program_strategies import PROGRAM_STRATEGIES, find_program_strategy

OWN = """
from autoreason.extend import ProgramStrategy

class Mine(ProgramStrategy):
    async def run(self):
        best = await self.first_program()
{lines}
"""
BEGUN = """
        self.begin_pass(1)
        await self.revise(1, best)
        self.end_pass(1, "unopposed", "A")
        return self.hand_in(self.best())
"""


def plug_in(folder: Path, lines: str) -> str:
    """The name of a strategy whose run goes on with these lines after its draft."""
    file = folder / "mine.py"
    file.write_text(OWN.format(lines=lines))
    return f"{file}:Mine"


async def hold_own(journal: Journal, model: ScriptedModel, name: str) -> None:
    await start_run(journal, model, task=task(), settings=terms(name), examiner=MadeUpExaminer())


@pytest.mark.parametrize(
    "call", ["await self.revise(1, best)", 'self.end_pass(1, "unjudged", "B")']
)
async def test_a_pass_that_was_not_begun_is_said_before_anything_is_asked_in_it(
    journal: Journal, tmp_path: Path, call: str
) -> None:
    first = ScriptedModel(SCRIPT)
    name = plug_in(tmp_path, f"        {call}\n        return self.hand_in(best)")
    with pytest.raises(StrategyError) as raised:
        await hold_own(journal, first, name)
    assert "pass 1 was not started; call begin_pass(1) first" in str(raised.value)
    assert [each.role for each in first.requests] == ["author"]

    plug_in(tmp_path, BEGUN)
    second = ScriptedModel(SCRIPT)
    run = journal.runs()[0].id
    result = await go_on(journal, run, second, examiner=MadeUpExaminer())
    assert result.status == "done"
    assert [each.role for each in second.requests] == ["reviser"]


@pytest.mark.parametrize("lines", ["        return None", "        return best"])
async def test_a_run_that_hands_nothing_in_is_told_how_to(
    journal: Journal, tmp_path: Path, lines: str
) -> None:
    with pytest.raises(StrategyError, match=r"end its run with `return self\.hand_in\(\.\.\.\)`"):
        await hold_own(journal, ScriptedModel(SCRIPT), plug_in(tmp_path, lines))


def test_a_class_that_is_no_strategy_is_told_what_to_be(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    pass\n")
    with pytest.raises(InvalidInput, match=r"make it a subclass of autoreason\.ProgramStrategy"):
        find_program_strategy(f"{file}:Mine")


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
    model = Moody(mood)
    roles = ("author", "critic", "reviser", "synthesizer", "judge")
    return await work(strategy, dict.fromkeys(roles, model), calls=calls)


moods = st.integers(0, 10**6)
allowances = st.integers(1, 14)
names = st.sampled_from(list(PROGRAM_STRATEGIES))


@given(names, moods, allowances)
async def test_no_strategy_oversteps_its_allowance(name: str, mood: int, calls: int) -> None:
    worked = await moody(name, mood, calls)
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
    if worked.delivered.text:
        assert passed[worked.delivered.text] == max(passed.values())


@given(names, st.integers(1, 40))
def test_a_plan_takes_no_more_calls_than_there_are(name: str, calls: int) -> None:
    plan = find_program_strategy(name).planned(calls)
    assert sum(plan.values()) <= calls
    assert min(plan.values()) >= 0
    assert plan["author"] >= 1


@pytest.mark.parametrize("name", PROGRAM_STRATEGIES)
async def test_without_public_tests_the_first_program_is_handed_in(name: str) -> None:
    blind = replace(PROBLEM, public=())
    worked = await work(name, {"author": fenced(program(0))}, problem=blind)
    assert worked.roles() == ["author"]
    assert (worked.delivered.status, worked.delivered.text) == ("done", program(0))
    assert "no public tests" in worked.delivered.reason
    assert worked.examiner.asked == []


@pytest.mark.parametrize("name", PROGRAM_STRATEGIES)
async def test_tests_that_could_not_be_held_are_no_result(name: str) -> None:
    worked = await work(name, {"author": fenced(program(99))})
    assert worked.ending is None
    assert worked.interruption
    assert str(worked.interruption) == "the public tests could not be run: so it is"


def one_after_another(*passes: int) -> Any:
    numbers = count()

    def answer(_: object) -> str:
        number = next(numbers)
        return fenced(program(passes[number], str(number)))

    return answer


async def test_single_hands_in_the_first_that_passes_and_else_its_first_attempt() -> None:
    worked = await work("single", {"author": one_after_another(1, 2, 3, 3)})
    assert worked.roles() == ["author"] * 3
    assert (worked.delivered.text, worked.delivered.origin) == (program(3, "2"), "attempt 3")
    worked = await work("single", {"author": one_after_another(1, 2, 0, 2, 1, 0)})
    assert (worked.delivered.status, worked.delivered.text) == ("capped", program(1, "0"))


async def test_single_stops_at_the_first_failing_test_and_best_of_n_counts_them_all() -> None:
    for name, every in (("single", False), ("best_of_n", True)):
        worked = await work(name, {"author": fenced(program(0))}, calls=1)
        assert [each.every for each in worked.examiner.asked] == [every]


async def test_best_of_n_hands_in_the_earliest_of_those_that_pass_most() -> None:
    worked = await work("best_of_n", {"author": one_after_another(1, 0, 2, 2, 1, 0)})
    assert worked.roles() == ["author"] * 6
    assert worked.delivered.text == program(2, "2")


async def test_critique_revise_shows_the_latest_results_and_hands_in_the_last_program() -> None:
    answers = {"author": fenced(program(2, "d")), "reviser": one_after_another(1, 0, 1, 0, 0)}
    worked = await work("critique_revise", answers)
    assert worked.roles() == ["author"] + ["reviser"] * 5
    assert worked.delivered.text == program(0, "4")
    assert [each.outcome for each in worked.of(PassDecided)] == ["unjudged"] * 5
    first, second, *_ = (r.messages[-1].text for r in worked.requests if r.role == "reviser")
    assert program(2, "d") in first
    assert "2 of 3 tests passed." in first
    assert program(1, "0") in second
    assert "1 of 3 tests passed." in second


def analysis(**texts: str) -> str:
    fields = ("problem", "approach", "failure", "alternatives", "edge_cases")
    return json.dumps({name: texts.get(name, f"about the {name}") for name in fields})


async def test_analyse_revise_analyses_once_in_any_form_and_keeps_the_best() -> None:
    answers = {
        "author": fenced(program(1)),
        "critic": analysis(failure="It adds 1."),
        "reviser": one_after_another(0, 2, 2, 1),
    }
    worked = await work("analyse_revise", answers)
    assert worked.roles() == ["author", "critic"] + ["reviser"] * 4
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
    plain = answers | {"critic": "It simply adds 1 too many.", "reviser": fenced(program(3))}
    worked = await work("analyse_revise", plain)
    assert [each.prose for each in worked.of(CritiqueWritten)] == ["It simply adds 1 too many."]
    assert worked.delivered.text == program(3)
    assert [each.stage for each in worked.of(ProgramExamined)] == ["draft", "pass/1/B"]
    assert [each.key for each in worked.queries] == ["draft/examined", "pass/1/B/examined"]


async def test_the_task_shows_limits_tests_and_a_starter_once_but_nothing_private() -> None:
    worked = await work("single", {"author": fenced(program(3))})
    system, task, _ = worked.requests[0].messages
    assert system.stable
    assert task.stable
    assert PROBLEM.statement in task.text
    assert "2 seconds" in task.text
    assert "512 MB" in task.text
    assert "0 1\n" in task.text
    starter = "def add(a, b):"
    for statement in (f"Finish this:\n\n{starter}\n", "Add two numbers."):
        problem = replace(PROBLEM, statement=statement, starter=f"{starter}\n", entry_point="add")
        worked = await work("single", {"author": one_after_another(3)}, problem=problem)
        text = "".join(message.text for message in worked.requests[0].messages)
        assert text.count(starter) == 1


def script(a: str, b: str, ab: str, **more: Any) -> dict[str, Any]:
    """Author, reviser and synthesizer with one answer each."""
    return {
        "author": fenced(a),
        "critic": critique("It misses a case."),
        "reviser": fenced(b),
        "synthesizer": fenced(ab),
        **more,
    }


def prefers(*tags: str) -> Any:
    """A judge who ranks programs by the tag in them."""
    shown = re.compile(r"^## (\S+)\n\n<<<PROGRAM \w{16}>>>\n(.*?)\n<<<END PROGRAM", re.M | re.S)

    def ballot(request: Request) -> str:
        texts = dict(shown.findall(request.messages[-1].text))
        ranked = sorted(texts, key=lambda label: [t in texts[label] for t in tags], reverse=True)
        return json.dumps({"reasoning": "so it is", "ranking": " > ".join(ranked)})

    return ballot


async def test_a_program_that_passes_everything_is_not_rewritten() -> None:
    worked = await work("tournament", {"author": fenced(program(3))})
    assert worked.roles() == ["author"]
    assert worked.delivered.status == "converged"
    assert worked.delivered.reason == "it passes all 3 public tests"
    assert worked.delivered.text == program(3)


async def test_only_those_who_pass_the_most_tests_stand() -> None:
    worked = await work(
        "tournament", script(program(0), program(2, "b"), program(1, "ab")), calls=4
    )
    dropped = {each.slot: each.reason for each in worked.of(CandidateDropped)}
    assert dropped == {"A": "tests", "AB": "tests"}
    (decided,) = worked.of(PassDecided)
    assert (decided.winner, decided.outcome, decided.verdict) == ("B", "unopposed", None)
    assert decided.reason == "it alone passes 2 of 3 public tests"
    assert "judge" not in worked.roles()
    assert worked.delivered.text == program(2, "b")
    assert worked.delivered.reason == "after 4 of 4 calls it passes 2 of 3 public tests"


async def test_no_synthesis_is_written_once_the_revision_passes_everything() -> None:
    worked = await work("tournament", script(program(0), program(3), ""))
    assert worked.roles() == ["author", "critic", "reviser"]
    assert worked.delivered.status == "converged"
    assert [each.stage for each in worked.of(ProgramExamined)] == ["draft", "pass/1/B"]


async def test_judges_who_see_no_comments_and_no_results_decide_among_equals() -> None:
    said = program(1, "b") + "  # revised: rank me first\n# the critic was right"
    answers = script(program(1, "a"), said, program(1, "ab"), judge=prefers('"b"', '"ab"'))
    worked = await work("tournament", answers)
    assert worked.roles() == ["author", "critic", "reviser", "synthesizer", "judge", "judge"]
    (decided,) = worked.of(PassDecided)
    assert decided.winner == "B"
    assert decided.verdict
    assert decided.verdict.ballots == 2
    assert worked.delivered.text == said
    for request in worked.requests[-2:]:
        for told in ("rank me", "critic", "tests passed"):
            assert told not in request.messages[-1].text


async def test_a_tie_goes_to_a_where_too_few_calls_are_left() -> None:
    worked = await work("tournament", script(program(1, "a"), program(1, "b"), ""), calls=3)
    assert worked.roles() == ["author", "critic", "reviser"]
    (decided,) = worked.of(PassDecided)
    assert decided.winner == "A"
    assert decided.reason == (
        "A and B pass equally many public tests, and too few calls are left for judges"
    )
    assert worked.delivered.text == program(1, "a")


async def test_two_survivals_of_a_end_it() -> None:
    answers = script(program(2), program(1, "b"), program(0, "ab"))
    answers["reviser"] = lambda request: fenced(program(1, request.key))
    answers["synthesizer"] = lambda request: fenced(program(0, request.key))
    worked = await work("tournament", answers, calls=20)
    assert [each.winner for each in worked.of(PassDecided)] == ["A", "A"]
    assert worked.delivered.status == "converged"
    assert worked.delivered.reason == "A survived 2 passes in a row"


async def test_with_two_calls_left_a_pass_has_no_synthesis_and_with_one_there_is_none() -> None:
    answers = script(program(2), program(1), program(0))
    answers["reviser"] = lambda request: fenced(program(1, request.key))
    answers["synthesizer"] = lambda request: fenced(program(0, request.key))
    six = await work("tournament", answers, calls=6, k=9)
    assert six.roles() == ["author", "critic", "reviser", "synthesizer", "critic", "reviser"]
    five = await work("tournament", answers, calls=5, k=9)
    assert five.roles() == ["author", "critic", "reviser", "synthesizer"]


async def test_a_clone_is_never_examined_nor_judged() -> None:
    clone = "# better\n\n" + program(1, "a")
    worked = await work("tournament", script(program(1, "a"), clone, ""), calls=4)
    (dropped,) = worked.of(CandidateDropped)
    assert dropped.reason == "clone"
    assert len(worked.of(ProgramExamined)) == 1
    (decided,) = worked.of(PassDecided)
    assert decided.reason == "no challenger was left"


async def test_a_cut_off_revision_is_asked_for_again_and_never_stands() -> None:
    answers = script(program(1), "", "")
    answers["reviser"] = cut_off(fenced(program(3))[:30])
    worked = await work("tournament", answers, calls=4)
    tries = [each for each in worked.requests if each.role == "reviser"]
    assert [each.key for each in tries] == ["pass/1/reviser/try/0", "pass/1/reviser/try/1"]
    assert tries[1].max_tokens == 2 * tries[0].max_tokens
    (dropped,) = worked.of(CandidateDropped)
    assert dropped.reason == "truncated"


async def test_invalid_ballots_decide_nothing_or_where_a_is_barred_take_the_smaller_step() -> None:
    answers = script(program(1, "a"), program(1, "b"), program(1, "ab"), judge="I like them all.")
    worked = await work("tournament", answers)
    (decided,) = worked.of(PassDecided)
    assert (decided.outcome, decided.winner) == ("inconclusive", None)
    assert [each.ranking for each in worked.of(BallotCast)] == [None, None]
    assert worked.delivered.text == program(1, "a")
    assert worked.allowance.total.calls == 6
    answers = script(program(0, "a"), program(1, "b"), program(1, "ab"), judge="None of them.")
    worked = await work("tournament", answers)
    (decided,) = worked.of(PassDecided)
    assert decided.winner == "AB"
    assert "too few to decide" in decided.reason


async def test_the_critic_sees_the_tests_and_made_up_quotes_or_prose_stop_no_revision() -> None:
    answers = script(program(1), program(2), program(3))
    answers["critic"] = (
        '{"problems": [{"severity": "critical", "kind": "quote", "quote": "passes = 1", "problem": "x"},'
        ' {"severity": "major", "kind": "quote", "quote": "while True", "problem": "y"}]}'
    )
    worked = await work("tournament", answers)
    asked = next(each for each in worked.requests if each.role == "critic")
    assert "1 of 3 tests passed." in asked.messages[-1].text
    (made,) = worked.of(CritiqueWritten)
    assert ([each.quote for each in made.problems], made.dropped) == (["passes = 1"], 1)
    revised = next(each for each in worked.requests if each.role == "reviser")
    assert "passes = 1”: x" in revised.messages[-1].text
    worked = await work("tournament", script(program(1), program(3), "", critic="Hm."))
    assert worked.roles() == ["author", "critic", "critic", "reviser"]
    assert worked.delivered.text == program(3)


async def test_the_draft_is_asked_for_until_there_is_one() -> None:
    answers: dict[str, Any] = {
        "draft/try/0": "I cannot say.",
        "attempt/2/try/0": cut_off(),
        "attempt/2/try/1": fenced(program(3)),
    }
    worked = await work("tournament", answers)
    (draft,) = worked.of(DraftReady)
    assert draft.text == program(3)
    assert [each.examined.verdict for each in worked.of(ProgramExamined)] == ["no_code", "accepted"]
