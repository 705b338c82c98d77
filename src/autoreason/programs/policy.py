"""Which action a search tries next, by what has worked so far."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from autoreason.exchange import Query

Action = Literal["fresh", "repair", "merge"]

_EXPECTED: Mapping[Action, float] = {"fresh": 0.25, "repair": 0.10, "merge": 0.03}
"""Calls after a failure that passed every public test, over 8,900 recorded ones of a small model. Where fresh attempts
pass less or more often, the others are expected to do so in proportion: what is hard for one is hard for all."""
_WEIGHT: Mapping[Action, float] = {"fresh": 24.0, "repair": 12.0, "merge": 12.0}
"""How many calls the prior is worth; models differ most in how well they repair."""


class Option(Struct, frozen=True):
    """An action and the model that performs it."""

    action: Action
    model: str


class ActionResult(Struct, frozen=True):
    """The result of an action."""

    option: Option
    calls: int
    passed: bool


class Turn(Struct, frozen=True, kw_only=True):
    """What the policy is asked about: the options for the next action, and the result of the last one."""

    strategy: str
    """The policy learns separately for each strategy."""
    options: tuple[Option, ...]
    """Empty where the search is over, and only the last result is reported."""
    seed: int
    last: ActionResult | None = None


class PolicyQuery(Query[str], frozen=True, kw_only=True):
    """The next action of a search; empty where the turn has no options."""

    kind = "next_action"
    turn: Turn


class Policy:
    """Thompson sampling over a beta posterior for every action of every model, shared by all problems of a run."""

    def __init__(self) -> None:
        self._passed: Counter[tuple[str, Option]] = Counter()
        self._failed: Counter[tuple[str, Option]] = Counter()

    def learn(self, turn: Turn) -> None:
        """Learn from the last result. A call without a new program that passes is a failure."""
        if turn.last:
            arm = turn.strategy, turn.last.option
            self._passed[arm] += turn.last.passed
            self._failed[arm] += turn.last.calls - turn.last.passed

    def posterior(self, strategy: str, option: Option) -> tuple[float, float]:
        share = _EXPECTED[option.action]
        if option.action != "fresh":
            passes, fails = self.posterior(strategy, Option("fresh", option.model))
            share *= passes / (passes + fails) / _EXPECTED["fresh"]
        weight = _WEIGHT[option.action]
        arm = strategy, option
        return share * weight + self._passed[arm], (1 - share) * weight + self._failed[arm]

    def choose(self, turn: Turn) -> str:
        """The action with the highest draw, where no draw counts for less than the mean; empty without options.

        A draw below the mean would only try the other actions more often than they are worth.
        """
        chance = random.Random(turn.seed)
        drawn: dict[str, float] = {}
        for option in turn.options:
            passes, fails = self.posterior(turn.strategy, option)
            drawn[option.action] = max(chance.betavariate(passes, fails), passes / (passes + fails))
        return max(drawn, key=drawn.__getitem__, default="")
