"""The usual way to a program: what is tried next, when it stops, and which program is handed in."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.programs.stage import PROBLEM, Worked, fenced, program, work
from tests.programs.test_program_strategies import prefers

from autoreason.events import DraftFailed, PanelDecided
from autoreason.programs.assignment import CodeVerdict, Examined, Observation, Observed, Probe
from autoreason.programs.events import ProgramExamined
from autoreason.programs.policy import Action, ActionResult, Option, Policy, PolicyQuery, Turn
from autoreason.programs.program_strategies import Attempt
from autoreason.programs.search import LEAD, Choice, Finalists, choose, group

ACTIONS: tuple[Action, ...] = ("fresh", "repair", "merge")
OPTIONS = tuple(Option(action, "some/model") for action in ACTIONS)

options = st.builds(Option, st.sampled_from(ACTIONS), st.sampled_from(["a/x", "b/y"]))
taken = st.tuples(options, st.integers(1, 2), st.booleans()).map(lambda each: ActionResult(*each))
names = st.sampled_from(["search", "mine.py:Mine"])
any_turn = st.builds(
    lambda strategy, last, seed: Turn(strategy=strategy, options=OPTIONS, seed=seed, last=last),
    names,
    st.none() | taken,
    st.integers(0, 2**32 - 1),
)


def taught(history: Sequence[Turn]) -> Policy:
    policy = Policy()
    for turn in history:
        policy.learn(turn)
    return policy


@given(st.lists(any_turn), any_turn, st.randoms(use_true_random=False))
def test_the_order_in_which_problems_report_changes_nothing(
    history: list[Turn], turn: Turn, chance: random.Random
) -> None:
    shuffled = history[:]
    chance.shuffle(shuffled)
    assert taught(history).choose(turn) == taught(shuffled).choose(turn)


@given(st.lists(any_turn), options, names)
def test_a_posterior_counts_every_call_once_and_is_never_negative(
    history: list[Turn], option: Option, name: str
) -> None:
    passes, fails = taught(history).posterior(name, option)
    before = sum(Policy().posterior(name, option))
    own = [t.last for t in history if t.last and (t.strategy, t.last.option) == (name, option)]
    assert min(passes, fails) > 0
    assert passes + fails == pytest.approx(before + sum(each.calls for each in own))


@given(st.lists(any_turn), any_turn)
def test_what_is_chosen_is_one_of_the_options_and_nothing_where_there_are_none(
    history: list[Turn], turn: Turn
) -> None:
    policy = taught(history)
    assert policy.choose(turn) in ACTIONS
    assert policy.choose(Turn(strategy="search", options=(), seed=turn.seed)) == ""


@given(st.sampled_from(OPTIONS), st.integers(0, 2**32 - 1))
def test_what_works_is_taken_up_whatever_was_expected_of_it(option: Option, seed: int) -> None:
    history = [
        Turn(
            strategy="search", options=(), seed=0, last=ActionResult(each, 1, passed=each == option)
        )
        for each in OPTIONS
        for _ in range(300)
    ]
    turn = Turn(strategy="search", options=OPTIONS, seed=seed)
    assert taught(history).choose(turn) == option.action


def test_before_anything_is_known_or_if_another_learned_it_attempts_are_the_usual_choice() -> None:
    chosen = [Policy().choose(Turn(strategy="s", options=OPTIONS, seed=n)) for n in range(400)]
    assert chosen.count("fresh") > 0.9 * len(chosen)
    assert "repair" in chosen
    last = ActionResult(OPTIONS[2], 1, passed=True)
    policy = taught([Turn(strategy="mine.py:Mine", options=(), seed=0, last=last)] * 50)
    assert policy.posterior("search", OPTIONS[2]) == Policy().posterior("search", OPTIONS[2])


def test_where_nothing_ever_passes_attempts_stay_fresh() -> None:
    """Problems too hard for the model tell nothing about which way is better; the others bring no more there."""
    policy, chosen = Policy(), list[str]()
    last: ActionResult | None = None
    for seed in range(600):
        turn = Turn(strategy="search", options=OPTIONS, seed=seed, last=last)
        policy.learn(turn)
        chosen.append(policy.choose(turn))
        last = ActionResult(OPTIONS[ACTIONS.index(chosen[-1])], 1, passed=False)
    assert chosen.count("fresh") > 0.9 * len(chosen)


KINDS: dict[str, Action] = {"fresh": "fresh", "revise": "repair", "merge": "merge"}
Rates = dict[Action, float]
"""How often a call of each kind passes the public tests of a problem."""


@pytest.fixture(scope="module")
def sets(shared: Path) -> list[list[Rates]]:
    """The problems of every set, by what was recorded of each; where a kind was not, by that of all."""
    passed: dict[tuple[str, str], dict[Action, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for line in (shared / "recorded" / "real_programs.jsonl").read_text().splitlines():
        row = json.loads(line)
        good = bool(row.get("program")) and row["public"] == row["public_total"]
        passed[row["set"], row["problem"]][KINDS[row["kind"]]].append(good)
    usual = {
        kind: fmean(good for each in passed.values() for good in each[kind])
        for kind in KINDS.values()
    }
    found: dict[str, list[Rates]] = defaultdict(list)
    for (name, _), each in passed.items():
        found[name].append(
            {kind: fmean(each[kind]) if each[kind] else usual[kind] for kind in usual}
        )
    return list(found.values())


def passes(rates: Rates, calls: int, policy: Policy | None, chance: random.Random) -> bool:
    """Whether one of so many calls passes; without a policy all are attempts of their own."""
    luck = [chance.random() for _ in range(calls)]
    last: ActionResult | None = None
    passed = luck[0] < rates["fresh"]
    for number in range(1, calls):
        if passed:
            break
        kinds: tuple[Action, ...] = ("fresh", "repair", "merge")
        options = tuple(Option(kind, "m") for kind in kinds[: number + 1])
        turn = Turn(strategy="s", options=options, seed=chance.getrandbits(32), last=last)
        action = "fresh"
        if policy:
            policy.learn(turn)
            action = policy.choose(turn)
        taken = next(each for each in options if each.action == action)
        passed = luck[number] < rates[taken.action]
        last = ActionResult(taken, 1, passed=passed)
    if policy:
        policy.learn(Turn(strategy="s", options=(), seed=0, last=last))
    return passed


@pytest.mark.parametrize("calls", [6, 12])
@pytest.mark.parametrize("problems", [1, None])
def test_learning_costs_next_to_nothing_where_there_is_nothing_to_learn(
    sets: list[list[Rates]], calls: int, problems: int | None
) -> None:
    """Alone or over a set, the share of problems solved stays within half a point of attempts alone."""
    lost: list[int] = []
    for repeat in range(12):
        for number, drawn in enumerate(sets):
            policy = Policy()
            for place, rates in enumerate(drawn):
                if problems and place % problems == 0:
                    policy = Policy()
                seed = f"{repeat}/{number}/{place}"
                alone = passes(rates, calls, None, random.Random(seed))
                lost.append(alone - passes(rates, calls, policy, random.Random(seed)))
    assert fmean(lost) < 0.005


def test_a_model_that_repairs_well_is_soon_asked_to() -> None:
    rates: Rates = {"fresh": 0.15, "repair": 0.4, "merge": 0.1}
    policy, chance = Policy(), random.Random(3)
    alone = [passes(rates, 6, None, chance) for _ in range(600)]
    learned = [passes(rates, 6, policy, chance) for _ in range(600)]
    assert fmean(learned) > fmean(alone) + 0.1


steady = settings(derandomize=True)


def observed(answers: str) -> Observed:
    """What a program did, a letter for each input; `!` is a failure."""
    return Observed(
        observations=tuple(
            Observation(failure="ValueError") if each == "!" else Observation(value=each)
            for each in answers
        )
    )


def choice_of(answers: Sequence[str], others: Sequence[str] = (), left: int = 0) -> Choice:
    programs = [f"program {number}" for number in range(len(answers))]
    seen = [observed(each) for each in answers]
    return choose(programs, seen, [observed(each) for each in others], left=left)


some_answers = st.integers(1, 4).flatmap(
    lambda inputs: st.lists(
        st.text("ab!", min_size=inputs, max_size=inputs), min_size=1, max_size=7
    )
)


@steady
@given(some_answers, st.integers(0, 12))
def test_every_program_is_in_one_group_and_the_chosen_one_in_the_first(
    answers: list[str], left: int
) -> None:
    programs = [f"program {number}" for number in range(len(answers))]
    choice = choice_of(answers, left=left)
    members = sorted(member for each in choice.groups for member in each)
    assert members == list(range(len(answers)))
    assert choice.index in choice.groups[0]
    assert set(choice.groups) == set(group(programs, [observed(each) for each in answers]))


@steady
@given(some_answers)
def test_what_more_than_half_do_is_chosen_where_they_do_not_fail(answers: list[str]) -> None:
    answers = [each.replace("!", "c") for each in answers]
    most = max(answers, key=answers.count)
    if 2 * answers.count(most) > len(answers):
        assert answers[choice_of(answers).index] == most


@pytest.mark.parametrize(
    ("answers", "others", "best"),
    [
        # The largest group wins, and the earliest where none is.
        ("ab cd ef cd", "", 1),
        ("ab cd", "", 0),
        # Near misses speak for what they nearly are.
        ("zzzz aaab aaac caaa", "", 1),
        # A program that fails where others answer counts less, and failing alike is not agreement.
        ("ab!! abcd", "", 1),
        ("ab! ab! cde cde xyz", "", 2),
        # Inputs on which most fail are left out.
        ("xa !b !b !c", "", 1),
        # Programs that fail public tests speak for others, and are not chosen.
        ("aa bb", "bc cb cc", 1),
        # A program that always fails agrees with none, and says nothing of the inputs.
        ("!! a! !!", "", 1),
        ("!! !! ab", "", 2),
        ("!! !! !!", "", 0),
    ],
)
def test_behaviour_decides_which_program_is_chosen(answers: str, others: str, best: int) -> None:
    assert choice_of(answers.split(), others.split()).index == best
    assert choice_of(["", ""]).index == 0, "without inputs the first"


def test_the_same_program_is_in_one_group_although_it_was_slow_once_or_always_fails() -> None:
    seen = [observed("ab"), observed("a!"), observed("ac")]
    assert group(["same", "same", "other"], seen) == ((0, 1), (2,))
    assert group(["one", "two", "two"], [observed("!!")] * 3) == ((1, 2), (0,))


def test_the_choice_is_clear_with_enough_of_a_lead_or_where_too_few_attempts_are_left() -> None:
    def clear(*answers: str, left: int) -> bool:
        return choice_of(answers, left=left).clear

    assert LEAD == 3
    assert clear("a", "a", "a", left=9)
    assert not clear("a", "a", left=9)
    assert clear("a", "a", left=1)
    assert not clear("a", "b", "a", "a", left=9)
    assert clear("a", "b", "a", left=0)
    assert not clear("a", "b", left=0)


INPUTS = ("5 1\n", "6 1\n", "7 1\n")


@pytest.fixture(autouse=True)
def inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoreason.programs.search.make_inputs", lambda *_: INPUTS)


def behaving(behaviour: str, tag: str = "", passes: int = 3) -> str:
    return f"behaves = {behaviour}\n{program(passes, tag)}"


def in_turn(*answers: str) -> Any:
    numbers = count()
    return lambda _: fenced(answers[next(numbers)])


def turns(worked: Worked) -> list[Turn]:
    return [each.turn for each in worked.queries if isinstance(each, PolicyQuery)]


def stages(worked: Worked) -> list[str]:
    return [each.stage for each in worked.of(ProgramExamined)]


async def test_the_behaviour_that_most_programs_share_is_handed_in() -> None:
    wrote = [behaving("odd"), *(behaving("usual", tag) for tag in ("1", "22", "3"))]
    worked = await work("search", {"author": in_turn(*wrote)}, calls=4)
    assert worked.delivered.status == "converged"
    assert worked.delivered.text in (wrote[1], wrote[3])
    assert worked.delivered.reason == (
        "it passes all 3 public tests; 3 of 4 that pass behave alike on 3 inputs made by code"
    )


async def test_one_behaviour_that_leads_ends_it_watched_once_and_teaches_nothing() -> None:
    # Easy problems are among those whose first attempt passes.
    worked = await work("search", {"author": lambda _: fenced(behaving("usual"))}, calls=12)
    assert 1 < len(worked.roles()) < 12
    assert set(worked.roles()) == {"author"}
    assert len([each for each in worked.queries if each.key.endswith("/observed")]) == 1
    assert turns(worked) == []


async def test_where_nothing_can_be_compared_or_watched_the_first_that_passes_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("autoreason.programs.search.make_inputs", lambda *_: ())
    worked = await work("search", {"author": in_turn(program(3))})
    assert worked.roles() == ["author"]
    assert worked.delivered.reason == "it passes all 3 public tests"

    async def fails(_: object, probe: Probe) -> Observed:
        failed = {"failure": "sandbox_error"}
        return msgspec.convert({"observations": [failed] * len(probe.inputs)}, Observed)

    monkeypatch.setattr("tests.programs.stage.MadeUpExaminer.observe", fails)
    worked = await work("search", {"author": in_turn(program(3))})
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
    assert worked.delivered.status == "capped"
    assert worked.delivered.text in (wrote[1], wrote[3])
    assert worked.delivered.reason == (
        "after 4 of 4 calls it passes 2 of 3 public tests; "
        "2 of 3 that pass as many behave alike on 3 inputs made by code"
    )


@pytest.mark.parametrize(
    ("groups", "passed", "text"),
    [
        (((0,), (1, 2)), 3, "none of the other 2 that pass behaves as it does"),
        (((0,), (1,), (2,)), 3, "no two of 3 that pass behave alike"),
        (((0, 2), (1,)), 3, "2 of 3 that pass behave alike"),
        (((0, 2), (1,)), 1, "2 of 3 that pass as many behave alike"),
        (((0,), (1,), (2,)), 0, "no two of 3 programs behave alike"),
    ],
)
def test_a_program_alone_in_what_it_does_is_not_said_to_be_alike(
    groups: tuple[tuple[int, ...], ...], passed: int, text: str
) -> None:
    verdict = CodeVerdict.ACCEPTED if passed == 3 else CodeVerdict.WRONG_ANSWER
    result = Examined(which="public", verdict=verdict, passed=passed, run=3, total=3)
    attempts = [Attempt(f"attempt/{n}", f"n = {n}", result) for n in range(3)]
    final = Finalists(attempts, Choice(0, tuple(groups), clear=False))
    assert final.describe_agreement(final.chosen) == text


async def test_without_public_tests_the_behaviour_alone_decides() -> None:
    blind = replace(PROBLEM, public=())
    wrote = [behaving("odd"), behaving("usual", "1"), behaving("usual", "2")]
    worked = await work("search", {"author": in_turn(*wrote)}, calls=3, problem=blind)
    assert worked.delivered.status == "done"
    assert worked.delivered.text in wrote[1:]
    assert worked.delivered.reason == "2 of 3 programs behave alike on 3 inputs made by code"


def scarce(*passing: str) -> dict[str, Any]:
    """Programs of which fewer than half pass, so that the last calls are worth more as ballots."""
    failing = [program(0, str(n)) for n in range(3)]
    script: dict[str, Any] = {f"policy/{n}": "fresh" for n in range(1, 9)}
    script["author"] = in_turn(*failing, *passing)
    return script


async def test_judges_decide_between_equal_groups_else_the_earlier_is_handed_in() -> None:
    short, long = behaving("one") + "  # my best", behaving("two", "a longer one")

    worked = await work("search", {**scarce(short, long), "judge": prefers("two")}, calls=8)
    asked = [each.messages[-1].text for each in worked.requests if each.role == "judge"]
    assert asked
    assert not any("my best" in text for text in asked)
    assert worked.roles() == ["author"] * 5 + ["judge"] * (len(worked.roles()) - 5)
    (panel,) = worked.of(PanelDecided)
    assert panel.verdict
    assert worked.delivered.text == long
    assert "judges chose between 2 groups of that size" in worked.delivered.reason
    script = {**scarce(behaving("one"), behaving("two")), "judge": "I cannot decide."}
    worked = await work("search", script, calls=8)
    assert worked.of(PanelDecided)[0].verdict is None
    assert worked.delivered.text == behaving("one")


async def test_programs_that_fail_have_a_say_in_which_of_equals_is_right() -> None:
    wrote = [behaving("right", passes=2), behaving("wrong"), behaving("right")]
    script = {"policy/1": "fresh", "author": in_turn(*wrote)}
    worked = await work("search", script, calls=3)
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
