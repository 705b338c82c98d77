"""Texts as vectors, where `autoreason[embeddings]` is installed; a sentence where it is not."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.knowledge.test_holdout import make_records
from tests.stats.intervals import ends

from autoreason.errors import InvalidInput
from autoreason.knowledge import predictor
from autoreason.knowledge.holdout import measure_predictor
from autoreason.knowledge.predictor import embed, fit_ridge
from autoreason.knowledge_records import Record

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
