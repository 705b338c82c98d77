"""What a search does next: each action by how often it has worked so far in this run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from autoreason.exchange import Request

Action = Literal["fresh", "repair", "merge"]
"""Another attempt of its own, a failing program with its results, or one program made of two that fail."""

_EXPECTED: Mapping[Action, float] = {"fresh": 0.25, "repair": 0.10, "merge": 0.03}
"""Calls after a failure that passed every public test, over 8,900 recorded ones of a small model. Where fresh attempts
pass less or more often, the others are expected to do so in proportion: what is hard for one is hard for all."""
_WEIGHT: Mapping[Action, float] = {"fresh": 24.0, "repair": 12.0, "merge": 12.0}
"""How many calls of the model at hand count as much as what is expected; models differ most in how well they repair."""


class Option(Struct, frozen=True):
    """An action and the model that takes it."""

    action: Action
    model: str


class Taken(Struct, frozen=True):
    """What came of an action."""

    option: Option
    calls: int
    passed: bool
    """Whether a program came of it that passes every public test."""


class Turn(Struct, frozen=True, kw_only=True):
    """What a policy is asked: which of these is next, and what came of the one before."""

    strategy: str
    """Only what was tried by the strategy of this name says something to it."""
    options: tuple[Option, ...]
    """None where the search is over, and only what came of it is said."""
    seed: int
    last: Taken | None = None


class Policy:
    """Thompson sampling over a beta posterior for every action of every model, shared by all problems of a run."""

    def __init__(self) -> None:
        self._passed: Counter[tuple[str, Option]] = Counter()
        self._failed: Counter[tuple[str, Option]] = Counter()

    def learn(self, turn: Turn) -> None:
        """Take in what came of the action before. A call that brings no new program that passes is a failure."""
        if turn.last:
            arm = turn.strategy, turn.last.option
            self._passed[arm] += turn.last.passed
            self._failed[arm] += turn.last.calls - turn.last.passed

    def posterior(self, strategy: str, option: Option) -> tuple[float, float]:
        """The parameters of the beta distribution of an option's success."""
        share = _EXPECTED[option.action]
        if option.action != "fresh":
            passes, fails = self.posterior(strategy, Option("fresh", option.model))
            share *= passes / (passes + fails) / _EXPECTED["fresh"]
        weight = _WEIGHT[option.action]
        arm = strategy, option
        return share * weight + self._passed[arm], (1 - share) * weight + self._failed[arm]

    def choose(self, turn: Turn) -> str:
        """The action that is likeliest by a draw each, which counts for no less than what is expected; or nothing.

        A draw below what is expected would only try the others more often than they may turn out to be worth.
        """
        chance = random.Random(turn.seed)
        drawn: dict[str, float] = {}
        for option in turn.options:
            passes, fails = self.posterior(turn.strategy, option)
            drawn[option.action] = max(chance.betavariate(passes, fails), passes / (passes + fails))
        return max(drawn, key=drawn.__getitem__, default="")


def read_turn(request: Request) -> Turn:
    """What a policy is asked."""
    return msgspec.json.decode(request.messages[0].text, type=Turn)
