"""Standings and pairs."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.knowledge.folder import read_folder
from autoreason.knowledge.standing import Standing, find_pairs, find_standings
from autoreason.knowledge_records import Chosen, Record, RecordedOutcome


def outcome(
    text: str,
    value: float,
    group: str = "g",
    n: int | None = 1000,
    *,
    better: str = "higher",
    se: float | None = None,
    chosen: Chosen = "unknown",
    when: str = "",
) -> Record:
    result = RecordedOutcome(
        metric="opens", value=value, n=n, se=se, better="lower" if better == "lower" else "higher"
    )
    return Record(text=text, kind="outcome", result=result, group=group, chosen=chosen, when=when)


def verdict(text: str, approved: bool, group: str = "g", pair: str = "") -> Record:
    said: Literal["approved", "rejected"] = "approved" if approved else "rejected"
    return Record(text=text, kind="verdict", verdict=said, group=group, pair=pair)


def standings(*records: Record) -> dict[str, Standing]:
    return {record.text: standing for record, standing in find_standings(records)}


def test_a_result_counts_relative_to_its_group_and_a_text_sent_twice_once() -> None:
    found = standings(
        outcome("a", 0.02, "poor"), outcome("b", 0.01, "poor"), outcome("c", 0.4, "rich"),
        outcome("d", 0.5, "rich"),
    )  # fmt: skip
    assert found["a"].score > 0 > found["c"].score
    assert found["a"].mean == pytest.approx(0.015)
    assert found["a"].deviation == pytest.approx(1 / 3)
    found = standings(outcome("a", 0.2, n=1000), outcome("a ", 0.4, n=3000), outcome("b", 0.3))
    assert found["a"].value == pytest.approx(0.35)
    assert (found["a"].n, found["a"].size) == (4000, 2)


def test_what_rests_on_little_is_shrunken_more_and_without_n_as_is_typical() -> None:
    noise = [outcome(f"{g}{i}", 0.2 + 0.1 * i, f"g{g}", 2000) for g in range(20) for i in (0, 1, 2)]
    few = [outcome("few", 0.4, "h", 50), outcome("many", 0.4, "h", 5000), outcome("x", 0.2, "h")]
    found = standings(*noise, *few)
    assert 0 < found["few"].reliability < found["many"].reliability < 1
    assert found["few"].mean < found["few"].shrunken < found["many"].shrunken < 0.4
    known = [outcome(f"{g}{i}", 0.2 + 0.1 * i, f"g{g}", 400) for g in range(9) for i in (0, 1, 2)]
    found = standings(*known, outcome("u", 0.5, "h", None), outcome("v", 0.2, "h", None))
    usual = median(found[record.text].reliability for record in known)
    assert found["u"].reliability == pytest.approx(usual)
    assert standings(outcome("u", 0.5, n=None), outcome("v", 0.2, n=None))["u"].reliability == 0.5


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 10**6)), min_size=1, max_size=8))
def test_shrinking_keeps_the_side_and_never_goes_beyond(values: list[tuple[float, int]]) -> None:
    records = [outcome(str(at), value, n=n) for at, (value, n) in enumerate(values)]
    for standing in standings(*records).values():
        assert 0 <= standing.reliability <= 1
        low, high = sorted((standing.mean, standing.value))
        assert low - 1e-9 <= standing.shrunken <= high + 1e-9
        assert standing.score * standing.deviation >= 0


def test_pairs_differ_beyond_their_error_and_begin_with_the_first_of_both() -> None:
    records = [outcome("a", 0.30), outcome("b", 0.29), outcome("c", 0.20)]
    found = {(pair.better.text, pair.worse.text) for pair in find_pairs(records).pairs}
    assert found == {("a", "c"), ("b", "c")}
    assert standings(outcome("a", 0.9))["a"].score == 0, "alone in its group it says nothing"
    assert find_pairs([outcome("a", 0.9), outcome("b", 0.1, "other")]).pairs == []
    lower = [outcome("a", 0.1, better="lower"), outcome("b", 0.4, better="lower")]
    (pair,) = find_pairs(lower).pairs
    assert (pair.better.text, pair.worse.text) == ("a", "b")
    assert standings(*lower)["a"].score > 0 > standings(*lower)["b"].score
    dated = [outcome("a", 0.9, when="2024-02-01"), outcome("b", 0.1, when="2024-01-31")]
    assert [pair.when for pair in find_pairs(dated).pairs] == ["2024-01-31"]


def about_two(better: str, worse: str, pair: str) -> list[Record]:
    return [verdict(better, True, pair=pair), verdict(worse, False, pair=pair)]


@pytest.mark.parametrize(
    ("records", "pairs"),
    [
        ([outcome("a", 9, n=None, se=1), outcome("b", 2, n=None, se=1)], "ab"),
        ([outcome("a", 0.9, chosen="picked"), outcome("b", 0.1), outcome("c", 0.5)], "cb"),
        ([verdict("a", True), verdict("b", False), verdict("c", True, "h")], "ab"),
        ([verdict("a", True, ""), verdict("b", False, "")], ""),
        ([verdict("a", True), verdict("b", True)], ""),
        # Verdicts about two texts concern these alone.
        ([*about_two("a", "b", "1"), *about_two("b", "c", "2")], "ab bc"),
        # Repetitions are one pair, contradictions none.
        ([*about_two("a", "b", "1"), *about_two("a", "b", "2")], "ab"),
        ([*about_two("a", "b", "1"), *about_two("a", "b", "2"), *about_two("b", "a", "3")], ""),
        ([verdict("a", True), verdict("a", False), verdict("b", False)], ""),
    ],
)
def test_pairs_are_of_texts_that_were_compared_and_not_contradicted(
    records: list[Record], pairs: str
) -> None:
    found = [f"{pair.better.text}{pair.worse.text}" for pair in find_pairs(records).pairs]
    assert found == pairs.split()


def test_what_makes_no_pair_is_counted() -> None:
    found = find_pairs([outcome("a", 0.9, n=None), outcome("b", 0.1, n=None), outcome("c", 0.5)])
    assert (found.pairs, found.no_error) == ([], 2)
    assert find_pairs([outcome("a", 0.9, chosen="picked"), outcome("b", 0.1)]).picked == 1


def test_the_recorded_headlines_make_the_recorded_pairs(
    shared: Path, headlines: tuple[Record, ...]
) -> None:
    pairs = read_folder(shared / "outcomes" / "upworthy_pairs.jsonl").records
    found, recorded = find_pairs(headlines).pairs, find_pairs(pairs).pairs
    assert len(recorded) == 1844
    assert {(p.group, p.better.text, p.worse.text, p.when) for p in found} == {
        (p.group, p.better.text, p.worse.text, p.when) for p in recorded
    }
    # About two thirds of what a recorded headline did is its own.
    assert 0.6 < median(standing.reliability for _, standing in find_standings(headlines)) < 0.78
