"""What is tried next follows what has worked, and the same turn always gets the same answer."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.programs.policy import Action, ActionResult, Option, Policy, Turn

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
