"""What tests of a folder are worth to later runs: the weights of judges."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autoreason.knowledge.folder import read_folder
from autoreason.knowledge.holdout import evaluate_predictor
from autoreason.knowledge.test_results import (
    TestResult,
    judge_weights,
    read_tests,
    record_test,
    weigh,
)

RESULT = TestResult(
    judge="a/a",
    verdict="not shown",
    difference=0.0,
    low=None,
    high=None,
    pairs=100,
    groups=90,
    when="2026-01-01",
    weight=2.0,
    weight_without=1.5,
)
shares, groups = st.floats(0, 1), st.integers(0, 5000)


@given(shares, shares, groups)
def test_who_is_right_more_often_weighs_no_less(one: float, other: float, groups: int) -> None:
    low, high = sorted((one, other))
    assert weigh(low, groups) <= weigh(high, groups)


@given(shares, groups)
def test_a_weight_is_never_negative_and_moves_from_1_only_by_what_was_seen(
    right: float, groups: int
) -> None:
    found = weigh(right, groups)
    assert 0.25 <= found <= 3
    assert found * 4 == int(found * 4)
    assert abs(weigh(right, groups // 2) - 1) <= abs(found - 1)
    assert weigh(right, 0) == 1


@pytest.mark.parametrize(
    ("right", "groups", "weight"),
    [(0.5, 100, 0.25), (0.5, 10_000, 0.25), (0.2, 500, 0.25), (0.6, 500, 1), (0.7, 100, 1.75)],
)
def test_a_judge_at_chance_has_the_least_weight(right: float, groups: int, weight: float) -> None:
    assert weigh(right, groups) == weight


def test_weights_are_those_of_the_last_tests_and_need_every_judge(tmp_path: Path) -> None:
    def weights(*judges: str, with_records: bool = True) -> dict[str, float]:
        return judge_weights(tmp_path, judges, with_records=with_records)

    assert weights("a/a", "b/b") == {}
    record_test(tmp_path, replace(RESULT, weight=0.25))
    record_test(tmp_path, RESULT)
    assert weights("a/a", "b/b") == weights("a/a") == {}
    record_test(tmp_path, replace(RESULT, judge="b/b", weight=0.5, weight_without=1.0))
    assert weights("a/a", "b/b") == {"a/a": 2.0, "b/b": 0.5}
    assert weights("a/a", "b/b", with_records=False) == {"a/a": 1.5, "b/b": 1.0}
    record_test(tmp_path, replace(RESULT, judge="b/b", weight=None, verdict="too few"))
    assert weights("a/a", "b/b") == {}


def test_tests_of_an_older_version_have_no_weights(tmp_path: Path) -> None:
    line = (
        '{"judge":"a/a","verdict":"helps","difference":0.1,"low":0.0,"high":0.2,"pairs":200,'
        '"groups":50,"when":"2026-01-01","run":"amber-fox"}'
    )
    (tmp_path / ".tests.jsonl").write_text(line + "\n")
    (found,) = read_tests(tmp_path)
    assert found.weight is None
    assert judge_weights(tmp_path, ["a/a", "a/a"], with_records=True) == {}


def test_tests_of_a_single_table_are_kept_beside_it_and_are_none_of_the_folder(
    tmp_path: Path,
) -> None:
    table = tmp_path / "mails.csv"
    table.write_text("subject,opens,sent,list\nA,9,90,x\nB,1,90,x\n")
    evaluate_predictor(table, "words")
    (found,) = read_tests(table)
    assert found.judge == "words"
    assert read_tests(tmp_path) == []
    assert [each.file for each in read_folder(tmp_path).files] == ["mails.csv"]


def test_nothing_is_kept_beside_a_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        record_test(tmp_path / "kb", RESULT)
