"""Advice: its printed error rates, repeated by simulation."""

from __future__ import annotations

from math import sqrt
from random import Random

import pytest
from benchmarks.advice import WORLDS, AdviceWorld, play_judge, play_pilots, study_advice
from tests.under_chance.luck import most_often

from autoreason.run.experience import LEAST, MOST, PastRun, describe_experience
from autoreason.settings import Models, make_settings
from autoreason.studies.advice_measures import (
    chance_to_fail,
    find_fault,
    judge_findings,
    may_fail,
    operating_line,
    weigh_pilots,
)
from autoreason.studies.certificate import FLOOR, READABLE
from autoreason.tournament.voting import trend

TIMES = 2000


def is_repeated(times: int, expected: float, runs: int = TIMES) -> bool:
    """Whether so many are within four standard errors of what is printed."""
    return abs(times / runs - expected) <= 4 * sqrt(expected * (1 - expected) / runs) + 1e-9


@pytest.mark.parametrize(("judges", "texts"), [(2, 3), (3, 3), (7, 9)])
def test_runs_before_judges_at_random_are_seldom_said_to_rise(judges: int, texts: int) -> None:
    """A series is looked at after every run, and what is said once counts."""
    random, names, series = Random(judges), [str(at) for at in range(texts)], 200
    usual = make_settings(Models.everywhere("random/judge"), 7)
    rising = 0
    for _ in range(series):
        trends = [
            trend([random.sample(names, texts) for _ in range(judges)], names) for _ in range(15)
        ]
        past = [PastRun(each, 30, 30) for each in trends]
        looks = [past[max(0, at - MOST) : at] for at in range(LEAST, len(past) + 1)]
        rising += any("still rising" in describe_experience(each, usual) for each in looks)
    assert rising <= most_often(series)


@pytest.mark.parametrize("pilots", [3, 5, 6])
@pytest.mark.parametrize("share", [0.5, 0.6, 0.7, 0.8, 0.9])
def test_pilots_end_as_often_in_each_verdict_as_is_printed(pilots: int, share: float) -> None:
    random = Random(f"{pilots}/{share}")
    world = AdviceWorld(name="", result=share, sees=1.0)
    ended = [weigh_pilots(play_pilots(world, pilots, random)) for _ in range(TIMES)]
    printed = operating_line(share, (2,) * pilots)
    assert is_repeated(ended.count("run_it"), printed.run_it)
    assert is_repeated(ended.count("do_not"), printed.do_not)
    assert is_repeated(ended.count("undecided"), printed.undecided)


@pytest.mark.parametrize(
    ("sees", "lean"), [(0.5, 0.0), (FLOOR, 0.0), (0.8, 0.0), (0.7, 0.4), (0.5, 0.9)]
)
def test_judges_fail_as_often_as_is_printed(sees: float, lean: float) -> None:
    random = Random(f"{sees}/{lean}")
    world = AdviceWorld(name="", result=0.5, sees=sees, lean=lean)
    played = [judge_findings(play_judge(world, random), ()) for _ in range(TIMES)]
    assert is_repeated(sum(bool(find_fault(each)) for each in played), chance_to_fail(sees, lean))


def test_a_judge_exactly_at_the_floor_is_turned_away_once_in_forty_times_at_most() -> None:
    assert chance_to_fail(FLOOR) <= 0.025


def test_ballots_as_often_unreadable_as_is_allowed_seldom_turn_a_judge_away() -> None:
    """Looked at after every pair, of which nine are asked at most."""
    random, failed = Random(4), 0
    for _ in range(TIMES):
        read: tuple[bool, ...] = ()
        while len(read) < 18 and may_fail((), read, 9 - len(read) // 2):
            read = (*read, *(random.random() < READABLE for _ in range(2)))
        failed += bool(find_fault(judge_findings((), read)))
    assert failed / TIMES <= 0.05


def test_a_whole_advice_says_run_it_as_often_as_its_steps_allow() -> None:
    study = study_advice(TIMES, 3)
    for world, outcomes in zip(WORLDS, study.outcomes, strict=True):
        passes = 1 - chance_to_fail(world.sees, world.lean)
        runs, fewest = (operating_line(world.result, (2,) * n).run_it for n in (study.pilots, 3))
        spread = 4 * sqrt(max(runs * (1 - runs), 0.001) / TIMES)
        found = outcomes.endings["run it"]
        # Judges who take more questions leave calls for fewer pilots.
        assert passes * fewest - spread <= found <= passes * runs + spread, world.name
