"""Texts as vectors, where `autoreason[embeddings]` is installed; a sentence where it is not."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.knowledge.test_holdout import make_records

from autoreason.errors import InvalidInput
from autoreason.knowledge.folder import read_folder
from autoreason.knowledge.holdout import PredictorName, measure_predictor
from autoreason.knowledge.index import Index
from autoreason.knowledge.predictor import fit_ridge
from autoreason.knowledge_records import Record

installed = pytest.mark.skipif(
    not all(map(find_spec, ("wordllama", "tokenizers", "safetensors"))),
    reason="autoreason[embeddings] is not installed",
)


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from autoreason.knowledge import embeddings

    embeddings._embedder.cache_clear()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InvalidInput, match=r"pip install '\.\[embeddings\]'"):
        measure_predictor(make_records(40), "embeddings")
    embeddings._embedder.cache_clear()


def test_words_alone_load_none_of_it() -> None:
    code = (
        "import sys; from autoreason.knowledge.predictor import fit_ridge; "
        "fit_ridge('words', ['a b', 'c d'], [0.0, 1.0]).predict('a'); "
        "print([each for each in ('tokenizers', 'wordllama') if each in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@installed
@given(st.text())
def test_any_text_has_a_finite_vector(text: str) -> None:
    import numpy as np

    from autoreason.knowledge.embeddings import embed

    vector = embed(text)
    assert vector.shape == (256,)
    assert np.isfinite(vector).all()


@installed
def test_lone_surrogates_and_nothing_have_vectors_too() -> None:
    from autoreason.knowledge.embeddings import embed

    assert embed("\ud800 x").any()
    assert not embed("").any()


@installed
def test_what_is_alike_is_near_though_it_shares_no_word() -> None:
    from autoreason.knowledge.embeddings import embed

    near, far = (embed("car") @ embed(other) for other in ("vehicle", "poetry"))
    assert near > far


@installed
@pytest.mark.parametrize("name", ["embeddings", "both"])
def test_what_did_well_is_predicted_from_words_that_mean_the_same(name: PredictorName) -> None:
    texts = ["a cheap car", "a fast vehicle", "a long poem", "an old novel"] * 10
    ridge = fit_ridge(name, texts, [1.0, 1.0, 0.0, 0.0] * 10)  # type: ignore[arg-type]
    assert ridge.predict("some truck") > ridge.predict("some poetry")
    assert bool(ridge.words) == (name == "both")


@installed
@pytest.mark.parametrize(("predictor", "measured"), [("embeddings", 0.62), ("both", 0.66)])
def test_it_is_right_on_the_recorded_headlines_as_often_as_measured(
    shared: Path, predictor: PredictorName, measured: float
) -> None:
    records = read_folder(shared / "outcomes" / "upworthy_tests.jsonl").records
    found = measure_predictor(records, predictor)
    assert found.leaks == 0
    assert found.right.low is not None
    assert found.right.high is not None
    assert found.right.low < measured < found.right.high < 0.72


NEAR = "A cheap holiday by the sea."
FAR = "The parliament voted on the budget."


def write_folder(folder: Path, retrieval: str) -> Path:
    """Two facts, and by what they are to be found."""
    (folder / "facts").mkdir(parents=True)
    (folder / "facts" / "far.md").write_text(FAR)
    (folder / "facts" / "near.md").write_text(NEAR)
    (folder / "kb.toml").write_text(f'retrieval = "{retrieval}"\n')
    return folder


def found_in(folder: Path, text: str) -> list[str]:
    with Index.open(folder) as index:
        return [each.record.text for each in index.nearest(text)]


@installed
def test_a_folder_may_be_searched_by_meaning(tmp_path: Path) -> None:
    # No word is shared.
    wanted = "Inexpensive beach vacation"
    folder = write_folder(tmp_path / "kb", "embeddings")
    assert found_in(folder, wanted) == [NEAR, FAR]
    (folder / "kb.toml").write_text('retrieval = "words"\n')
    assert found_in(folder, wanted) == []


@installed
def test_nothing_later_and_nothing_of_another_kind_is_near() -> None:
    records = [
        Record(text=NEAR, kind="outcome", when="2024-03-01"),
        Record(text=FAR, kind="outcome", when="2024-01-01"),
        Record(text="A beach.", kind="fact", when="2023-01-01"),
    ]
    with Index.of(records, "embeddings") as index:
        near = list(index.nearest("Beach", ("outcome",), until="2024-02-01"))
    assert [each.record.text for each in near] == [FAR]


@installed
def test_predictors_look_for_neighbours_as_the_folder_says() -> None:
    records = make_records(40)
    by_words = measure_predictor(records, "retrieval")
    by_meaning = measure_predictor(records, "retrieval", retrieval="embeddings")
    assert by_meaning.leaks == 0
    assert by_meaning.records_used > by_words.records_used


def test_a_folder_that_asks_for_more_than_is_installed_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autoreason.knowledge import embeddings

    embeddings._embedder.cache_clear()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InvalidInput, match=r"pip install '\.\[embeddings\]'"):
        found_in(write_folder(tmp_path / "kb", "embeddings"), "Anything")
    embeddings._embedder.cache_clear()
