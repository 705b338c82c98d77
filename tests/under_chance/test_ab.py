"""A/B tests whose truth is known: how often a plan is right, and what chance makes of a report."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from tests.under_chance.luck import most_often

from autoreason.knowledge.standing import Standing, find_standings
from autoreason.knowledge_records import Record, RecordedOutcome
from autoreason.stats.power import always_valid_difference, sample_size, unequal_split
from autoreason.studies.ab import AbPlan, AbReport, Arm, report_of

CODES = ("AAAA", "BBBB", "CCCC", "DDDD", "EEEE")


def planned(arms: int, base: float, lift: float) -> AbPlan:
    """A test of so many texts; the first is the control."""
    return AbPlan(
        run="run",
        arms=tuple(
            Arm(code=code, text=f"text {code}", origin="draft", chosen="ab")
            for code in CODES[:arms]
        ),
        control=CODES[0],
        base=base,
        lift=lift,
        sample=sample_size(base, lift, arms - 1),
    )


def counts_of(row: list[int], n: int) -> dict[str, tuple[int, int]]:
    """What came of so many readers of each text."""
    return {code: (count, n) for code, count in zip(CODES, row, strict=False)}


def verdicts(report: AbReport) -> list[str]:
    return [str(row[-1]) for row in report.sections()[0].tables[0].rows]


@pytest.mark.parametrize(
    ("arms", "base", "lift", "most"),
    [
        (2, 0.2, 0.1, 0.893),
        (3, 0.2, 0.1, 0.893),
        (3, 0.05, 0.2, 0.893),
        (5, 0.02, 0.3, 0.893),
        # An interval needs twenty of each kind, and these are rare: it takes more than the lift does.
        (2, 0.9, 0.1, 1.0),
    ],
)
def test_as_many_readers_as_planned_show_the_lift_four_times_out_of_five(
    arms: int, base: float, lift: float, most: float
) -> None:
    times, plan = 300, planned(arms, base, lift)
    shares = [base * (1 + lift * (at == 1)) for at in range(arms)]
    drawn = np.random.default_rng(arms).binomial(plan.sample, shares, size=(times, arms))
    found = sum(
        "better" in verdicts(report_of(plan, counts_of(row, plan.sample))) for row in drawn.tolist()
    )
    # Four standard errors below what is promised.
    assert 0.707 < found / times <= most


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_thirty_looks_at_an_equal_split_call_it_unequal_in_one_test_of_a_thousand(
    arms: int,
) -> None:
    times, looks, total = 1500, 30, 6000 * arms
    steps = np.random.default_rng(arms).multinomial(
        3 * total // looks, [1 / arms] * arms, size=(times, looks)
    )
    seen = sum(
        any(unequal_split(counts, total) < 0.001 for counts in each)
        for each in steps.cumsum(axis=1).tolist()
    )
    assert seen <= most_often(times, 0.001)


@pytest.mark.parametrize(("share", "arms"), [(0.02, 2), (0.2, 2), (0.2, 4)])
def test_forty_looks_find_no_difference_where_there_is_none(share: float, arms: int) -> None:
    times, looks, step, total = 400, 40, 200, 4000
    steps = np.random.default_rng(arms).binomial(step, share, size=(times, looks, arms))
    fooled = 0
    for each in steps.cumsum(axis=1).tolist():
        intervals = (
            always_valid_difference(
                (arm, look * step), (control, look * step), total, 0.05 / (arms - 1)
            )
            for look, (control, *others) in enumerate(each, 1)
            for arm in others
        )
        fooled += any(
            found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)
            for found in intervals
        )
    assert fooled <= most_often(times)


def record(test: object, arm: object, count: int, n: int) -> Record:
    """What an arm of a test came to."""
    result = RecordedOutcome(metric="rate", value=count / n, n=n)
    return Record(text=f"text {arm}", kind="outcome", result=result, group=f"test {test}")


def test_texts_that_do_not_differ_are_expected_to_do_alike() -> None:
    rng, n, plan = np.random.default_rng(5), 1000, planned(4, 0.2, 0.1)
    expected, raw = [], []
    for _ in range(40):
        counts = rng.binomial(n, 0.2, size=(41, 4)).tolist()
        known = [
            record(test, arm, count, n)
            for test, row in enumerate(counts[1:])
            for arm, count in enumerate(row)
        ]
        report = report_of(plan, counts_of(counts[0], n), known=known)
        mean = sum(counts[0]) / 4 / n
        expected.append(max((arm.shrunken or 0) / mean - 1 for arm in report.arms))
        raw.append(max(counts[0]) / n / mean - 1)
    assert fmean(raw) > 0.05
    assert fmean(expected) < 0.2 * fmean(raw)


def test_winners_of_real_tests_do_as_expected_whether_much_or_little_is_expected(
    shared: Path,
) -> None:
    rng = np.random.default_rng(0)
    lines = (shared / "outcomes" / "upworthy_tests.jsonl").read_text("utf-8").splitlines()
    read: list[Record] = []
    later: dict[str, dict[str, tuple[int, int]]] = {}
    for test, line in enumerate(lines):
        for at, arm in enumerate(json.loads(line)["arms"]):
            n, clicks = arm["impressions"], arm["clicks"]
            half = int(rng.hypergeometric(clicks, n - clicks, n // 2))
            read.append(record(test, at, half, n // 2))
            later.setdefault(f"test {test}", {})[f"text {at}"] = (clicks - half, n - n // 2)
    standings: dict[str, dict[str, Standing]] = {}
    for each, standing in find_standings(read):
        standings.setdefault(each.group, {})[each.text] = standing
    lifts = []
    for group, arms in standings.items():
        best = max(arms, key=lambda text: arms[text].value)
        (clicks, n), every = later[group][best], later[group].values()
        mean = sum(each for each, _ in every) / sum(each for _, each in every)
        lifts.append((arms[best].shrunken / arms[best].mean - 1, clicks / n / mean - 1))
    assert len(lifts) > 1000
    lifts.sort()
    for third in (lifts[at * len(lifts) // 3 : (at + 1) * len(lifts) // 3] for at in range(3)):
        beyond = [happened - expected for expected, happened in third]
        assert abs(fmean(beyond)) < 2 * stdev(beyond) / len(beyond) ** 0.5
