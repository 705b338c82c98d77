"""Predictors that toss coins, and records that say nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.knowledge.test_holdout import make_records
from tests.under_chance.luck import misses, most_often

from autoreason.knowledge.holdout import (
    Answer,
    PredictorTest,
    evaluate_predictor,
    measure_predictor,
    summarize,
)
from autoreason.knowledge.outcome_file import encode_records
from autoreason.knowledge.predictor import Use
from autoreason.knowledge.standing import FoundPairs, Pair
from autoreason.knowledge.test_results import choose_fitted
from autoreason.knowledge_records import Record

TIMES = 80


def toss(rng: Random, groups: int, pairs: int, alike: float) -> PredictorTest:
    """Answers by coin, which within a group are the same with probability `alike`; so are those of length."""
    answers = []
    for group in range(groups):
        common = rng.randint(0, 1), rng.randint(0, 1)
        text = Record(text="", kind="outcome", group=str(group))
        pair = Pair(str(group), f"2024-{group:05}", text, text)
        for _ in range(rng.randint(1, pairs)):
            right, length = (
                float(one if rng.random() < alike else rng.randint(0, 1)) for one in common
            )
            answers.append(Answer(pair, right, (), length))
    return summarize("retrieval", answers, FoundPairs([], 0, 0), Use())


worlds = pytest.mark.parametrize(
    ("groups", "pairs", "alike"), [(62, 1, 0.0), (24, 5, 0.7), (40, 3, 1.0)]
)


@worlds
def test_a_predictor_that_tosses_coins_seldom_helps_or_harms(
    groups: int, pairs: int, alike: float
) -> None:
    rng = Random(f"{groups} {pairs}")
    found = [toss(rng, groups, pairs, alike) for _ in range(TIMES)]
    verdicts = [each.verdict for each in found]
    assert verdicts.count("helps") <= most_often(TIMES, 0.025)
    assert verdicts.count("harms") <= most_often(TIMES, 0.025)
    assert sum(misses(each.right, 0.5) for each in found) <= most_often(TIMES)
    assert sum(each.p_value is not None and each.p_value < 0.05 for each in found) <= most_often(
        TIMES
    )
    assert sum(misses(each.against_length, 0.0) for each in found) <= most_often(TIMES, 0.06)
    assert sum(each.declines for each in found) <= most_often(TIMES, 0.04)


def test_records_whose_outcomes_are_shuffled_seldom_help() -> None:
    times = 10
    found = [
        measure_predictor(make_records(62, telling=False, seed=seed), "retrieval")
        for seed in range(times)
    ]
    assert all(each.verdict != "too few" for each in found)
    assert sum(each.verdict == "helps" for each in found) <= most_often(times, 0.025)
    assert sum("Placebo" in each.to_text() for each in found) <= most_often(times)


def test_outcomes_that_mean_nothing_seldom_give_a_predictor_a_seat(tmp_path: Path) -> None:
    times, seated = 16, 0
    for seed in range(times):
        folder = tmp_path / str(seed)
        folder.mkdir()
        records = make_records(80, telling=False, seed=seed)
        (folder / "records.jsonl").write_bytes(encode_records(records))
        assert evaluate_predictor(folder, "words").verdict != "too few"
        seated += choose_fitted(folder, "tested") is not None
    assert seated <= most_often(times, 0.025)
