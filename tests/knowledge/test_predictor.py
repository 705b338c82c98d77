"""Predictors, and a regression that is saved for a run."""

from __future__ import annotations

import stat
import sys
from importlib.util import find_spec
from pathlib import Path
from random import Random

import msgspec
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.knowledge.test_holdout import make_records
from tests.stats.intervals import ends

from autoreason.errors import InvalidInput
from autoreason.knowledge import predictor
from autoreason.knowledge.holdout import measure_predictor
from autoreason.knowledge.index import SearchQuery
from autoreason.knowledge.predictor import (
    CopyFinder,
    FittedPredictor,
    Ridge,
    SavedRidge,
    digest_ridge,
    embed,
    encode_ridge,
    find_testable,
    fit_for_run,
    fit_ridge,
    fit_words,
    load_ridge,
    save_ridge,
)
from autoreason.knowledge.words import is_too_similar, word_set
from autoreason.knowledge_records import Record, RecordedOutcome

WORDS = [f"w{at}" for at in range(30)]


def make_texts(number: int, seed: int = 0) -> list[str]:
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
    found = []
    for at, text in enumerate(make_texts(number)):
        when = f"2024-{1 + at // 20:02}-{1 + at % 20 // 2 * 2:02}" if dated else ""
        found.append((Record(text=text, kind="outcome", group=f"g{at // 2}", when=when), None))
    return found


class LearnedScores(dict[str, float]):
    """Scores that remember which of them a regression has read."""

    def __init__(self, scores: dict[str, float]) -> None:
        super().__init__(scores)
        self.ids: set[str] = set()

    def __getitem__(self, record_id: str) -> float:
        self.ids.add(record_id)
        return super().__getitem__(record_id)


@pytest.mark.parametrize("dated", [True, False])
def test_words_of_a_pairs_own_group_and_of_later_ones_are_never_learned(dated: bool) -> None:
    known = rows(200, dated=dated)
    scores = {record.id: float("w1" in record.text.split()) for record, _ in known}
    by_fit: dict[int, LearnedScores] = {}
    predictor = FittedPredictor(
        "words", known, lambda fit: by_fit.setdefault(fit, LearnedScores(scores))
    )
    by_id = {record.id: record for record, _ in known}
    answers = []
    for at, (record, _) in enumerate(known):
        answers.append(predictor(SearchQuery(f"w1 new{at}", record.group, record.when)))
        for learned in by_fit[predictor.fit].ids if predictor.fit else ():
            assert by_id[learned].group != record.group
            assert not dated or by_id[learned].when < record.when
    assert answers[-1] > 0
    assert (answers[0] == 0) == dated


def test_of_one_day_only_what_has_an_earlier_time_is_learned() -> None:
    moments = ["2024-03-05", "2024-03-05T07:00", "2024-03-05T09:00", "2024-03-06"]
    known = [
        (Record(text=f"{text} n{at}", kind="outcome", group=f"g{at}", when=moments[at % 4]), None)
        for at, text in enumerate(make_texts(160))
    ]
    scores = LearnedScores({record.id: 1.0 for record, _ in known})
    predictor = FittedPredictor("words", known, lambda _: scores)
    assert predictor(SearchQuery("w1 new", "x", "2024-03-05")) == 0
    predictor(SearchQuery("w1 new", "x", "2024-03-05T08:00"))
    assert scores.ids == {record.id for record, _ in known if record.when == moments[1]}
    with pytest.raises(ValueError, match="in the order of their dates"):
        predictor(SearchQuery("w1 new", "x", "2024-03-05"))


def outcomes(group: str, when: str, *texts: str) -> list[Record]:
    """Records of one group, each with another result."""
    results = [RecordedOutcome(metric="opens", value=0.1 + 0.2 * at, n=2000) for at in range(9)]
    return [
        Record(text=text, kind="outcome", group=group, when=when, result=result)
        for text, result in zip(texts, results, strict=False)
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
    # Nor where a copy of a text is among what is known.
    earlier = outcomes("copy", "2024-03-04", "Tea for two!", "something else")
    assert [each.group for each in find_testable([*known, *earlier, *pair]).pairs] == []
    later = outcomes("copy", "2024-03-06", "Tea for two!", "something else")
    assert "pair" in [each.group for each in find_testable([*known, *later, *pair]).pairs]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    load_ridge.cache_clear()
    return tmp_path / "autoreason" / "predictors"


def test_words_are_weighed_as_ridge_regression_weighs_them() -> None:
    texts = make_texts(80)
    outcomes = [float("w1" in text.split()) + Random(text).random() for text in texts]
    weights = fit_words(texts, outcomes)
    names = sorted(set().union(*map(word_set, texts)))
    rows = numpy.array(
        [
            [(name in word_set(text)) / len(word_set(text)) ** 0.5 for name in names]
            for text in texts
        ]
    )
    centred = numpy.array(outcomes) - numpy.mean(outcomes)
    exact = numpy.linalg.solve(rows.T @ rows + 3 * numpy.eye(len(names)), rows.T @ centred)
    assert [weights[name] for name in names] == pytest.approx(exact.tolist(), abs=0.02)
    assert max(weights, key=weights.__getitem__) == "w1"
    begun = fit_words(texts, outcomes, {"w1": 5.0, "elsewhere": 1.0})
    assert [begun[name] for name in names] == pytest.approx(exact.tolist(), abs=0.05)
    assert set(fit_words(texts, [1.0] * 80).values()) == {0.0}


@given(st.permutations(range(30)), st.floats(-5, 5))
def test_neither_the_order_of_records_nor_a_shift_of_all_outcomes_matters(
    order: list[int], shift: float
) -> None:
    texts = make_texts(30)
    outcomes = [float("w2" in text) for text in texts]
    one = fit_ridge("words", texts, outcomes)
    other = fit_ridge("words", [texts[at] for at in order], [outcomes[at] + shift for at in order])
    for text in texts:
        assert one.predict(text) == pytest.approx(other.predict(text), abs=0.02)


def test_a_saved_regression_is_read_again_as_it_was(data: Path) -> None:
    texts = make_texts(40)
    fitted = fit_for_run("words", texts, [float("w3" in text) for text in texts])
    body = encode_ridge(fitted)
    save_ridge(body)
    save_ridge(body)
    (file,) = data.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert load_ridge(digest_ridge(body)) == fitted
    assert fitted.records == 40
    file.write_bytes(b"?")
    load_ridge.cache_clear()
    with pytest.raises(InvalidInput, match="was changed"):
        load_ridge(digest_ridge(body))
    file.unlink()
    with pytest.raises(InvalidInput, match="is not saved here"):
        load_ridge(digest_ridge(body))


@given(st.integers(1, 100))
def test_texts_much_longer_or_shorter_than_all_that_is_known_get_no_number(words: int) -> None:
    known = SavedRidge(ridge=Ridge(words={"w": 1.0}), records=30, shortest=8, longest=20)
    answer = known.predict("w " * words)
    assert (answer is not None) == (4 <= words <= 40)


installed = pytest.mark.skipif(
    not all(map(find_spec, ("wordllama", "tokenizers", "safetensors"))),
    reason="autoreason[embeddings] is not installed",
)


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor._embedder.cache_clear()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InvalidInput, match=r"pip install '\.\[embeddings\]'"):
        measure_predictor(make_records(40), "embeddings")
    predictor._embedder.cache_clear()


@installed
@given(st.text())
def test_any_text_has_a_finite_vector(text: str) -> None:
    import numpy as np

    vector = embed(text)
    assert vector.shape == (256,)
    assert np.isfinite(vector).all()
    assert embed("\ud800 x").any()
    assert not embed("").any()


@installed
def test_what_did_well_is_predicted_from_words_that_mean_the_same() -> None:
    texts = ["a cheap car", "a fast vehicle", "a long poem", "an old novel"] * 10
    ridge = fit_ridge("embeddings", texts, [1.0, 1.0, 0.0, 0.0] * 10)
    assert ridge.predict("some truck") > ridge.predict("some poetry")


@installed
def test_it_is_right_on_the_recorded_headlines_as_often_as_measured(
    headlines: tuple[Record, ...],
) -> None:
    low, high = ends(measure_predictor(headlines, "embeddings").right)
    assert low < 0.66 < high < 0.72
