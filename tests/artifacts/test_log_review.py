"""Published logs of loops with a number: the rule says of them what their noise says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from msgspec import Struct

from autoreason.artifacts.acceptance import Effect, KeepRule, Noise, measure_noise


class LoggedTrial(Struct, frozen=True):
    """One line of a log in which a trial is one number."""

    value: float | None
    """None where it failed."""
    kept: bool


class LogReview(Struct, frozen=True, kw_only=True):
    """A log of single evaluations, judged by its noise."""

    keeps: int
    """After the first, which is the start."""
    within_noise: int
    """Keeps whose gain is less than what one standard deviation of two evaluations of one artifact makes."""
    within_noise_share: float
    """Of the whole gain."""
    sure: int
    """Keeps that this rule makes after one evaluation; the others it would evaluation of again."""
    trials_since: int
    """Trials after the last keep."""


def review_log(trials: Iterable[LoggedTrial], spread: float, sign: int = 1) -> LogReview:
    """Judge the keeps of a log whose single evaluations have this standard deviation."""
    rule = KeepRule()
    noise, error = Noise(spread=spread), sqrt(2) * spread
    record: float | None = None
    gains, trials_since = [], 0
    for trial in trials:
        trials_since += 1
        if trial.kept and trial.value is not None:
            if record is not None:
                gains.append(sign * (trial.value - record))
            record, trials_since = trial.value, 0
    small = [gain for gain in gains if gain < error]
    effects = (Effect(value=gain, error=error, evaluations=1, against=1) for gain in gains)
    return LogReview(
        keeps=len(gains),
        within_noise=len(small),
        within_noise_share=sum(small) / sum(gains) if sum(gains) else 0.0,
        sure=sum(rule.decide(effect, noise) == "keep" for effect in effects),
        trials_since=trials_since,
    )


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
    review = review_log(trials, by_seed / sqrt(2), -1)
    assert (review.keeps, review.within_noise) == (22, 14)
    assert review.within_noise_share == pytest.approx(0.14, abs=0.005)
    # The other eight are 86 % of the gain; those beyond doubt at one evaluation are among them.
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
