"""Regressions of outcomes on texts, and one that is saved for a run."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.knowledge.test_predictor import make_texts

from autoreason.errors import InvalidInput
from autoreason.knowledge.ridge import (
    Ridge,
    SavedRidge,
    digest_ridge,
    encode_ridge,
    fit_for_run,
    fit_ridge,
    fit_words,
    load_ridge,
    save_ridge,
)
from autoreason.knowledge.words import word_set


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own."""
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


def test_where_weights_begin_does_not_matter() -> None:
    texts = make_texts(50)
    outcomes = [float("w2" in text) for text in texts]
    begun = fit_words(texts, outcomes, {"w2": 5.0, "elsewhere": 1.0})
    afresh = fit_words(texts, outcomes)
    assert [begun[word] for word in afresh] == pytest.approx(list(afresh.values()), abs=0.05)


def test_equal_outcomes_teach_nothing() -> None:
    assert set(fit_words(make_texts(5), [1.0] * 5).values()) == {0.0}


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


@given(st.text())
def test_any_text_has_a_finite_number(text: str) -> None:
    assert abs(Ridge(words={"free": 2.0, "the": -1.0}).predict(text)) <= 3


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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [(Path.unlink, "is not saved here"), (lambda file: file.write_bytes(b"?"), "was changed")],
)
def test_one_that_is_gone_or_changed_is_one_sentence(
    data: Path, change: Callable[[Path], None], sentence: str
) -> None:
    body = encode_ridge(fit_for_run("words", make_texts(30), [float(at) for at in range(30)]))
    save_ridge(body)
    change(data / digest_ridge(body))
    with pytest.raises(InvalidInput, match=sentence):
        load_ridge(digest_ridge(body))


@given(st.integers(1, 100))
def test_texts_much_longer_or_shorter_than_all_that_is_known_get_no_number(words: int) -> None:
    known = SavedRidge(ridge=Ridge(words={"w": 1.0}), records=30, shortest=8, longest=20)
    answer = known.predict("w " * words)
    assert (answer is not None) == (4 <= words <= 40)
