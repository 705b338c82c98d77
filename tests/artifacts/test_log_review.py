"""Published logs of loops with a number: the rule says of them what their noise says."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from autoreason.artifacts.keep_rule import measure_noise
from autoreason.artifacts.log_review import LoggedTrial, review_log


def lines(shared: Path, name: str) -> list[dict[str, Any]]:
    """A recorded log."""
    path = shared / "recorded" / "metric_loops" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_most_keeps_of_a_training_night_are_smaller_than_what_a_change_of_seed_does(
    shared: Path,
) -> None:
    log = lines(shared, "training_nights")
    trials = [LoggedTrial(line["value"], line["status"] == "keep") for line in log]
    (at,) = (at for at, line in enumerate(log) if line["seed_only"])
    by_seed = abs(log[at]["value"] - log[at - 1]["value"])
    assert by_seed == pytest.approx(0.0007, abs=0.00002)
    review = review_log(trials, by_seed / sqrt(2), "lower")
    assert (review.keeps, review.within_noise) == (22, 14)
    assert review.within_noise_share == pytest.approx(0.14, abs=0.005)
    # The other eight are 86 % of the gain; those beyond doubt at one look are among them.
    assert 0 < review.sure <= 8


def test_a_lucky_record_stops_a_climb_and_none_of_its_keeps_is_sure(shared: Path) -> None:
    log = lines(shared, "prompt_edits")
    repeats = [line["value"] for line in log if line["unchanged"]]
    noise = measure_noise([repeats])
    assert (fmean(repeats), stdev(repeats)) == pytest.approx((0.562, 0.014), abs=0.0005)
    assert noise.spread == pytest.approx(stdev(repeats))
    review = review_log([LoggedTrial(line["value"], line["kept"]) for line in log], noise.spread)
    assert (review.keeps, review.sure, review.trials_since) == (4, 0, 91)
    # What was left of the record of 0.60 when its prompt was repeated.
    assert max(line["value"] for line in log) == 0.60
    assert max(repeats) < 0.60


def test_failed_trials_count_as_trials_and_a_log_without_a_keep_has_no_gain() -> None:
    review = review_log([LoggedTrial(1.0, True), LoggedTrial(None, False)], 0.1)
    assert (review.keeps, review.trials_since, review.within_noise_share) == (0, 1, 0.0)
