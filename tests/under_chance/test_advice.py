"""Advice: its printed error rates, repeated by simulation."""

from __future__ import annotations

from math import sqrt
from random import Random

import pytest

from autoreason.studies.advise.judge_check import chance_to_pass
from autoreason.studies.advise.operating import (
    WORLDS,
    AdviceWorld,
    play_advice,
    study_advice,
)
from autoreason.studies.advise.pick_test import chance_confirmed
from autoreason.studies.advise.pilots import operating_line, weigh_pilots

TIMES = 2000


def is_repeated(times: int, expected: float, runs: int = TIMES) -> bool:
    """Whether so many are within four standard errors of what is printed."""
    return abs(times / runs - expected) <= 4 * sqrt(expected * (1 - expected) / runs) + 1e-9


@pytest.mark.parametrize("pilots", [2, 4, 6])
@pytest.mark.parametrize("share", [0.5, 0.6, 0.7, 0.8, 0.9])
def test_pilots_end_as_often_in_each_verdict_as_is_printed(pilots: int, share: float) -> None:
    random = Random(f"{pilots}/{share}")
    world = AdviceWorld(name="", result=share, sees=1.0)
    ended = [weigh_pilots(play_advice(world, pilots, random)[2]) for _ in range(TIMES)]
    printed = operating_line(share, (7,) * pilots)
    assert is_repeated(ended.count("run_it"), printed.run_it)
    assert is_repeated(ended.count("do_not"), printed.do_not)
    assert is_repeated(ended.count("undecided"), printed.undecided)


@pytest.mark.parametrize(("sees", "lean"), [(0.5, 0.0), (0.7, 0.0), (0.9, 0.0), (0.7, 0.4)])
def test_judges_pass_as_often_as_is_printed(sees: float, lean: float) -> None:
    random = Random(f"{sees}/{lean}")
    world = AdviceWorld(name="", result=0.5, sees=sees, lean=lean)
    passed = sum(not play_advice(world, 0, random)[0].fault for _ in range(TIMES))
    assert is_repeated(passed, chance_to_pass(sees, lean))


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_picks_are_confirmed_as_often_as_is_printed(share: float) -> None:
    random = Random(f"pick {share}")
    world = AdviceWorld(name="", result=0.5, pick=share)
    confirmed = sum(play_advice(world, 0, random)[1].works for _ in range(TIMES))
    assert is_repeated(confirmed, chance_confirmed(share))


def test_a_whole_advice_says_run_it_as_often_as_its_steps_allow() -> None:
    study = study_advice(TIMES, 3)
    for world, outcomes in zip(WORLDS, study.outcomes, strict=True):
        passes = chance_to_pass(world.sees, world.lean)
        expected = passes * operating_line(world.result, (7,) * study.pilots).run_it
        assert is_repeated(round(outcomes.endings["run it"] * TIMES), expected), world.name
