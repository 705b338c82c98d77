"""Predictors."""

from __future__ import annotations

from random import Random

import pytest

from autoreason.knowledge.predictor import CopyFinder, FittedPredictor, LengthPredictor
from autoreason.knowledge.retrieval import Query
from autoreason.knowledge.words import is_too_similar
from autoreason.knowledge_records import Record

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
    return FittedPredictor(
        "words", known, lambda _: scores, CopyFinder([record.text for record, _ in known])
    )


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
    assert answers[-1] is not None
    assert answers[-1] > 0
    assert (answers[0] is None) == dated


def test_of_one_day_only_what_has_an_earlier_time_is_learned() -> None:
    moments = ["2024-03-05", "2024-03-05T07:00", "2024-03-05T09:00", "2024-03-06"]
    known = [
        (Record(text=f"{text} n{at}", kind="outcome", group=f"g{at}", when=moments[at % 4]), None)
        for at, text in enumerate(make_texts(160))
    ]
    scores = {record.id: 1.0 for record, _ in known}
    predictor = words_predictor(known, scores)
    assert predictor.predict(Query("w1 new", "x", "2024-03-05")) is None
    predictor.predict(Query("w1 new", "x", "2024-03-05T08:00"))
    assert predictor.use == (40, 0)
    with pytest.raises(ValueError, match="in the order of their dates"):
        predictor.predict(Query("w1 new", "x", "2024-03-05"))


def test_a_text_with_a_copy_among_what_is_known_gets_no_answer() -> None:
    known = rows(100, dated=False)
    predictor = words_predictor(known, {record.id: 1.0 for record, _ in known})
    assert predictor.predict(Query(known[7][0].text, "another")) is None


def test_length_counts_characters() -> None:
    assert LengthPredictor().predict(Query("abc")) == 3
