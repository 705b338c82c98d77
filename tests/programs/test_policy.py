"""What is tried next follows what has worked, and the same turn always gets the same answer."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.programs.search import Action, ActionResult, Option, Policy, Turn

ACTIONS: tuple[Action, ...] = ("fresh", "repair", "merge")
OPTIONS = tuple(Option(action, "some/model") for action in ACTIONS)

options = st.builds(Option, st.sampled_from(ACTIONS), st.sampled_from(["a/x", "b/y"]))
taken = st.tuples(options, st.integers(1, 2), st.booleans()).map(lambda each: ActionResult(*each))
names = st.sampled_from(["search", "mine.py:Mine"])
turns = st.builds(
    lambda strategy, last, seed: Turn(strategy=strategy, options=OPTIONS, seed=seed, last=last),
    names,
    st.none() | taken,
    st.integers(0, 2**32 - 1),
)


def taught(history: Sequence[Turn]) -> Policy:
    """A policy that has heard all of it."""
    policy = Policy()
    for turn in history:
        policy.learn(turn)
    return policy


@given(st.lists(turns), turns, st.randoms(use_true_random=False))
def test_the_order_in_which_problems_report_changes_nothing(
    history: list[Turn], turn: Turn, chance: random.Random
) -> None:
    shuffled = history[:]
    chance.shuffle(shuffled)
    assert taught(history).choose(turn) == taught(shuffled).choose(turn)


@given(st.lists(turns), options, names)
def test_a_posterior_counts_every_call_once_and_is_never_negative(
    history: list[Turn], option: Option, name: str
) -> None:
    passes, fails = taught(history).posterior(name, option)
    before = sum(Policy().posterior(name, option))
    own = [t.last for t in history if t.last and (t.strategy, t.last.option) == (name, option)]
    assert min(passes, fails) > 0
    assert passes + fails == pytest.approx(before + sum(each.calls for each in own))


@given(st.lists(turns), turns)
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


def test_what_one_strategy_learns_says_nothing_to_another() -> None:
    last = ActionResult(OPTIONS[2], 1, passed=True)
    policy = taught([Turn(strategy="mine.py:Mine", options=(), seed=0, last=last)] * 50)
    assert policy.posterior("search", OPTIONS[2]) == Policy().posterior("search", OPTIONS[2])


def test_before_anything_is_known_another_attempt_is_the_usual_choice() -> None:
    chosen = [Policy().choose(Turn(strategy="s", options=OPTIONS, seed=n)) for n in range(400)]
    assert chosen.count("fresh") > 0.9 * len(chosen)
    assert "repair" in chosen


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
    for repeat in range(24):
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
