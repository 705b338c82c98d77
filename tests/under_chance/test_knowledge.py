"""Predictors and judges that toss coins, records that say nothing, and what a test can show."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean

import pytest
from tests.knowledge.test_holdout import make_records
from tests.under_chance.luck import misses, most_often

from autoreason.knowledge.folder import encode_records
from autoreason.knowledge.folder_report import _DIFFER as DIFFER
from autoreason.knowledge.folder_report import check_knowledge
from autoreason.knowledge.holdout import (
    SHOWN,
    PairAnswer,
    PredictorTest,
    choose_fitted,
    evaluate_predictor,
    measure_predictor,
    summarize,
)
from autoreason.knowledge.standing import FoundPairs, Pair
from autoreason.knowledge_records import Record, RecordedOutcome
from autoreason.studies.knowledge_test import JudgeAnswers, PairAnswers, decide, judge_answers

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
            answers.append(PairAnswer(pair, right, {}, length))
    return summarize("retrieval", answers, FoundPairs([], 0, 0))


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
    assert verdicts.count("worse") <= most_often(TIMES, 0.025)
    assert sum(misses(each.right, 0.5) for each in found) <= most_often(TIMES)
    assert sum(each.p_value is not None and each.p_value < 0.05 for each in found) <= most_often(
        TIMES
    )
    assert sum(misses(each.against_length, 0.0) for each in found) <= most_often(TIMES, 0.06)
    assert sum(each.declines for each in found) <= most_often(TIMES, 0.04)


def test_a_predictor_that_is_nineteen_points_worse_than_length_is_called_worse() -> None:
    rng = Random(4)
    answers = [
        PairAnswer(
            Pair(str(at % 40), "", text, text), float(rng.random() < 0.56), {}, float(at % 4 > 0)
        )
        for at in range(400)
        for text in [Record(text="", kind="outcome", group=str(at % 40))]
    ]
    found = summarize("words", answers, FoundPairs([], 0, 0))
    assert found.against_length.value == pytest.approx(-0.19, abs=0.05)
    assert found.verdict == "worse"


def texts_that_are_alike(groups: int, texts: int, n: int, rate: float, seed: int) -> bytes:
    """A file of records with as many lists of texts, all of one rate."""
    rng = Random(seed)
    return encode_records(
        [
            Record(
                text=f"{group} {at}",
                kind="outcome",
                group=f"g{group}",
                result=RecordedOutcome(metric="open rate", value=hits / n, n=n),
            )
            for group in range(groups)
            for at in range(texts)
            for hits in [sum(rng.random() < rate for _ in range(n))]
        ]
    )


def test_the_intervals_of_a_group_hold_together_those_of_the_best_too(tmp_path: Path) -> None:
    rate, groups = 0.25, 120
    (tmp_path / "records.jsonl").write_bytes(texts_that_are_alike(groups, 12, 80, rate, seed=3))
    ranked = check_knowledge(tmp_path).ranked
    assert len(ranked) == groups
    missed = sum(any(misses(end.seen, rate) for end in each.ends) for each in ranked)
    assert missed <= most_often(groups)


def test_of_texts_that_are_all_alike_the_best_and_the_worst_are_adjusted_to_the_mean(
    tmp_path: Path,
) -> None:
    rate = 0.25
    (tmp_path / "records.jsonl").write_bytes(texts_that_are_alike(12, 20, 400, rate, seed=5))

    report = check_knowledge(tmp_path)
    ends = [end for each in report.ranked for end in each.ends]
    assert len(ends) == 12 * 10
    assert report.pairs + report.untested <= most_often(12 * 190, 0.01)
    raw = fmean(abs((end.seen.value or 0) - rate) * 100 for end in ends)
    adjusted = fmean(abs(end.lift) * 100 for end in ends)
    assert raw > 2
    assert adjusted < 1


def test_records_whose_outcomes_are_shuffled_seldom_help() -> None:
    times = 10
    found = [
        measure_predictor(make_records(80, telling=False, seed=seed), "retrieval")
        for seed in range(times)
    ]
    assert all(each.verdict != "too few" for each in found)
    assert sum(each.verdict == "helps" for each in found) <= most_often(times, 0.025)
    assert sum("Placebo" in each.to_text() for each in found) <= most_often(times)


def test_the_placebo_of_a_regression_is_a_coin_with_an_interval_that_says_something() -> None:
    times = 8
    placebos = [
        measure_predictor(make_records(80, dated=seed % 2 == 0, seed=seed), "words").placebo
        for seed in range(times)
    ]
    assert sum(misses(each, 0.5) for each in placebos) <= most_often(times)
    for each in placebos:
        assert each.low is not None
        assert each.high is not None
        assert each.high - each.low < 0.3


def test_shuffled_outcomes_that_do_better_than_a_coin_are_warned_of() -> None:
    rng, text = Random(2), Record(text="", kind="outcome")

    def tell(share: float) -> str:
        answers = [
            PairAnswer(Pair(str(at), "", text, text), 1.0, placebo, 0.5)
            for at in range(100)
            for placebo in [{(draw, at % 10): float(rng.random() < share) for draw in range(2)}]
        ]
        return summarize("words", answers, FoundPairs([], 0, 0)).to_text()

    warning = "shuffled outcomes do better than a coin"
    assert warning in tell(0.75)
    assert warning not in tell(0.5)


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


@pytest.mark.parametrize("length", [0.5, 0.25])
def test_of_two_predictors_that_toss_coins_one_seldom_helps(length: float) -> None:
    rng, times, helped = Random(length), 40, 0
    for _ in range(times):
        pairs = [
            Pair(str(at), "", *[Record(text="", kind="outcome", group=str(at))] * 2)
            for at in range(60)
        ]
        longer = [float(rng.random() < length) for _ in pairs]
        verdicts = [
            summarize(
                "words",
                [
                    PairAnswer(pair, float(rng.randint(0, 1)), {}, by_length)
                    for pair, by_length in zip(pairs, longer, strict=True)
                ],
                FoundPairs([], 0, 0),
            ).verdict
            for _ in range(2)
        ]
        helped += "helps" in verdicts
    assert helped <= most_often(times, 0.05)


def ask_judge(rng: Random, groups: int, pairs: int, *, skills: tuple[float, ...]) -> JudgeAnswers:
    """A judge that takes no notice of records; how often it is right about a pair, and so about its group, differs."""
    answers = []
    for group in range(groups):
        for _ in range(rng.randint(1, pairs)):
            skill = rng.choice(skills)
            shares = [sum(rng.random() < skill for _ in range(2)) / 2 for _ in range(3)]
            answers.append(
                PairAnswers(
                    group=str(group),
                    when=f"2024-{group:05}",
                    without=shares[0],
                    with_records=shares[1],
                    placebo=shares[2],
                )
            )
    return judge_answers("random/judge", answers, 0)


@pytest.mark.parametrize(
    ("groups", "pairs", "skills"), [(64, 1, (0.5,)), (62, 3, (0.35, 0.65)), (90, 1, (0.0, 1.0))]
)
def test_a_judge_that_tosses_coins_is_seldom_helped_harmed_or_said_to_decline(
    groups: int, pairs: int, skills: tuple[float, ...]
) -> None:
    rng = Random(f"{groups} {pairs}")
    found = [ask_judge(rng, groups, pairs, skills=skills) for _ in range(TIMES)]
    verdicts = [each.verdict for each in found]
    assert verdicts.count("helps") <= most_often(TIMES, 0.025)
    assert verdicts.count("harms") <= most_often(TIMES, 0.025)
    for share in ("without", "with_records", "placebo"):
        assert sum(misses(getattr(each, share), 0.5) for each in found) <= most_often(TIMES)
    assert sum(misses(each.gain, 0.0) for each in found) <= most_often(TIMES, 0.06)
    assert sum(each.by_time is not None for each in found) > TIMES / 2
    assert sum(each.declines for each in found) <= most_often(TIMES, 0.04)
    # Under the weight of a judge of whom nothing is known, and one judge no more than another.
    assert fmean(each.weight or 0 for each in found) < 0.75
    assert sum((each.weight or 0) > 1 for each in found) <= most_often(TIMES)
    ahead = [(one.weight or 0) > (two.weight or 0) for one, two in pairwise(found)]
    assert 0.2 < fmean(ahead) < 0.6


def test_records_that_say_nothing_help_in_at_most_one_test_of_forty() -> None:
    rng, times = Random(7), 400

    def pair() -> tuple[float, float]:
        skill = rng.choice((0.35, 0.65))
        without, known, placebo = (sum(rng.random() < skill for _ in range(2)) / 2 for _ in "abc")
        return known - without, known - placebo

    def draw() -> str:
        groups = [[pair() for _ in range(2)] for _ in range(40)]
        gains, real = ([[pair[at] for pair in group] for group in groups] for at in (0, 1))
        return decide(gains, real)[0]

    verdicts = [draw() for _ in range(times)]
    assert verdicts.count("helps") <= most_often(times, 0.025)
    assert verdicts.count("harms") <= most_often(times, 0.025)


def how_often_shown(groups: int, pairs: int, gain: float, differ: float = DIFFER) -> float:
    """How often records that help so much are found to, where with and without differ on such a share of pairs."""
    rng, times = Random(f"{groups} {gain}"), 200

    def draw() -> str:
        gains = []
        for _ in range(groups):
            luck = rng.random()
            won, lost = luck < (differ + gain) / 2, luck > 1 - (differ - gain) / 2
            gains.append([float(won) - float(lost)] * pairs)
        return decide(gains, gains)[0]

    return sum(draw() == "helps" for _ in range(times)) / times


@pytest.mark.parametrize(
    ("pairs", "gain", "power"),
    [(30, 0.1, 0.0), (100, 0.1, 0.45), (200, 0.1, 0.74), (400, 0.1, 0.96), (800, 0.05, 0.74)],
)
def test_so_many_pairs_show_a_gain_as_often_as_was_measured(
    pairs: int, gain: float, power: float
) -> None:
    assert how_often_shown(pairs, 1, gain) == pytest.approx(power, abs=0.1)


@pytest.mark.parametrize(("groups", "pairs"), [(100, 1), (200, 1), (120, 3)])
def test_what_check_says_could_be_shown_is_shown_four_times_out_of_five(
    groups: int, pairs: int
) -> None:
    # Where all pairs of a group agree they are worth one.
    assert how_often_shown(groups, pairs, SHOWN * sqrt(DIFFER / groups)) == pytest.approx(
        0.8, abs=0.1
    )


@pytest.mark.parametrize("sizes", [[10] * 8, [5] * 60, [20, 3, 5, 8] * 5])
def test_what_a_test_of_a_predictor_was_likely_to_show_is_shown_four_times_out_of_five(
    sizes: list[int],
) -> None:
    rng = Random(str(sizes))

    def test(skill: float) -> PredictorTest:
        answers = [
            PairAnswer(
                Pair(str(at), "", text, text), float(rng.random() < skill), {}, rng.randint(0, 1)
            )
            for at, size in enumerate(sizes)
            for text in [Record(text="", kind="outcome", group=str(at))] * size
        ]
        return summarize("words", answers, FoundPairs([], 0, 0))

    enough = [test(0.5).could_show for _ in range(20)]
    assert None not in enough
    skill = fmean(filter(None, enough))
    assert fmean(test(skill).verdict == "helps" for _ in range(TIMES)) == pytest.approx(
        0.8, abs=0.15
    )


@pytest.mark.parametrize("sizes", [[540, 8, 5, 4, 4, 3], [300, *[5] * 20]])
def test_where_most_pairs_are_of_one_group_nothing_is_said_to_be_likely_to_show(
    sizes: list[int],
) -> None:
    answers = [
        PairAnswer(Pair(str(at), "", text, text), float(number % 5 > 1), {}, float(number % 9 > 3))
        for at, size in enumerate(sizes)
        for number, text in enumerate([Record(text="", kind="outcome", group=str(at))] * size)
    ]
    found = summarize("words", answers, FoundPairs([], 0, 0))
    assert ((found.right.low or 0) < 0.05, found.could_show) == (True, None)
    assert found.conclusion.startswith("not shown to help: words is right on 60 % (")
    assert found.conclusion.endswith("so few or so uneven were not likely to show anything")
