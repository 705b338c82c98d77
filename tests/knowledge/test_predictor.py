"""Predictors."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from autoreason.knowledge.predictor import (
    CopyFinder,
    FittedPredictor,
    LengthPredictor,
    find_testable,
)
from autoreason.knowledge.retrieval import Query
from autoreason.knowledge.words import is_too_similar
from autoreason.knowledge_records import Record, RecordedOutcome

WORDS = [f"w{at}" for at in range(30)]


def make_texts(number: int, seed: int = 0) -> list[str]:
    """Texts of random words."""
    rng = Random(seed)
    return [" ".join(rng.sample(WORDS, rng.randint(2, 9))) for _ in range(number)]


def test_every_copy_is_found() -> None:
    texts = make_texts(300)
    finder = CopyFinder(texts)
    for text in texts[:60]:
        expected = [at for at, other in enumerate(texts) if is_too_similar(other, text)]
        assert finder.find(text) == expected


def rows(number: int, *, dated: bool) -> list[tuple[Record, None]]:
    """Records of two a group."""
    return [
        (
            Record(
                text=text,
                kind="outcome",
                group=f"g{at // 2}",
                when=f"2024-{1 + at // 20:02}-{1 + at % 20 // 2 * 2:02}" if dated else "",
            ),
            None,
        )
        for at, text in enumerate(make_texts(number))
    ]


def words_predictor(known: list[tuple[Record, None]], scores: dict[str, float]) -> FittedPredictor:
    """A regression on the words of such records."""
    return FittedPredictor("words", known, lambda _: scores)


@pytest.mark.parametrize("dated", [True, False])
def test_words_of_a_pairs_own_group_and_of_later_ones_are_never_learned(dated: bool) -> None:
    known = rows(200, dated=dated)
    scores = {record.id: float("w1" in record.text.split()) for record, _ in known}
    predictor = words_predictor(known, scores)
    answers = [
        predictor.predict(Query(f"w1 new{at}", record.group, record.when))
        for at, (record, _) in enumerate(known)
    ]
    assert predictor.use.leaks == 0
    assert predictor.use.records > 0
    assert answers[-1] > 0
    assert (answers[0] == 0) == dated


def test_of_one_day_only_what_has_an_earlier_time_is_learned() -> None:
    moments = ["2024-03-05", "2024-03-05T07:00", "2024-03-05T09:00", "2024-03-06"]
    known = [
        (Record(text=f"{text} n{at}", kind="outcome", group=f"g{at}", when=moments[at % 4]), None)
        for at, text in enumerate(make_texts(160))
    ]
    scores = {record.id: 1.0 for record, _ in known}
    predictor = words_predictor(known, scores)
    assert predictor.predict(Query("w1 new", "x", "2024-03-05")) == 0
    predictor.predict(Query("w1 new", "x", "2024-03-05T08:00"))
    assert predictor.use == (40, 0)
    with pytest.raises(ValueError, match="in the order of their dates"):
        predictor.predict(Query("w1 new", "x", "2024-03-05"))


def outcomes(group: str, when: str, *texts: str) -> list[Record]:
    """Records of one group, each with another result."""
    return [
        Record(
            text=text,
            kind="outcome",
            group=group,
            when=when,
            result=RecordedOutcome(metric="opens", value=0.1 + 0.2 * at, n=2000),
        )
        for at, text in enumerate(texts)
    ]


def test_a_pair_is_tested_where_more_than_twenty_records_are_known_before_it() -> None:
    pair = outcomes("pair", "2024-03-05", "tea for two", "three for coffee")
    known = [
        each
        for at in range(11)
        for each in outcomes(f"g{at}", "2024-03-04", f"one{at}", f"two{at}")
    ]

    def count(records: list[Record]) -> tuple[int, int]:
        found = find_testable(records)
        return len(found.pairs), found.untested

    assert count([*known, *pair]) == (1, 11)
    assert count([*known[2:], *pair]) == (0, 11)
    same_day = [msgspec.structs.replace(each, when="2024-03-05") for each in known]
    assert count([*same_day, *pair]) == (0, 12)
    undated = [msgspec.structs.replace(each, when="") for each in [*known, *pair]]
    assert count(undated) == (12, 0)


def test_a_pair_with_a_copy_of_a_text_among_what_is_known_is_not_tested() -> None:
    pair = outcomes("pair", "2024-03-05", "tea for two", "three for coffee")
    known = [
        each
        for at in range(11)
        for each in outcomes(f"g{at}", "2024-03-04", f"one{at}", f"two{at}")
    ]
    earlier = outcomes("copy", "2024-03-04", "Tea for two!", "something else")
    assert [each.group for each in find_testable([*known, *earlier, *pair]).pairs] == []
    later = outcomes("copy", "2024-03-06", "Tea for two!", "something else")
    assert "pair" in [each.group for each in find_testable([*known, *later, *pair]).pairs]


def test_length_counts_characters() -> None:
    assert LengthPredictor().predict(Query("abc")) == 3
