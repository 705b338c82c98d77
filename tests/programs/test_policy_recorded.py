"""The policy on the recorded attempts of a small model, for which nothing is better than another attempt."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from autoreason.programs.policy import Action, ActionResult, Option, Policy, Turn

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
        for number, given in enumerate(sets):
            policy = Policy()
            for place, rates in enumerate(given):
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
