"""Outcomes explained by texts: ridge regressions on words, on embeddings or on both, and one saved for a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from math import fsum, sqrt
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.files import write_atomically
from autoreason.knowledge.words import split_words, word_set
from autoreason.knowledge_records import FittedName
from autoreason.paths import data_folder

_PENALTY = 3.0
_MAX_STEPS = 50
_ENOUGH = 0.01
"""Words are weighed until what is left to explain is this share of it."""
_BEYOND = 2
"""A text that is so many times as long as the longest known, or as short as the shortest, is unlike all of them."""


class Ridge(Struct, frozen=True, kw_only=True):
    """How outcomes depend on texts."""

    words: dict[str, float] = {}
    """What words are worth; empty where they do not count."""
    direction: tuple[float, ...] = ()
    """What the dimensions of an embedding are worth; empty where they do not count."""

    def predict(self, text: str) -> float:
        """How well a text may do, higher is better."""
        words = word_set(text)
        value = fsum(self.words.get(word, 0.0) for word in words) / sqrt(len(words) or 1)
        if self.direction:
            from autoreason.knowledge.embeddings import embed

            value += float(embed(text) @ self.direction)
        return value


def fit_ridge(
    name: FittedName, texts: Sequence[str], outcomes: Sequence[float], start: Ridge | None = None
) -> Ridge:
    """The regression of that name; `start` is one that is nearly right."""
    words: dict[str, float] = {}
    direction: tuple[float, ...] = ()
    if name != "words":
        from autoreason.knowledge.embeddings import fit_embeddings

        direction = fit_embeddings(texts, outcomes)
    if name != "embeddings":
        words = fit_words(texts, outcomes, start.words if start else {})
    return Ridge(words=words, direction=direction)


def fit_words(
    texts: Sequence[str], outcomes: Sequence[float], start: Mapping[str, float] = {}
) -> dict[str, float]:
    """Weights of words by ridge regression, with conjugate gradients; `start` are weights that are nearly right.

    A text counts as its different words, each divided by the root of how many they are.
    """
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, cg

    words_of = [sorted(word_set(text)) for text in texts]
    names = list(dict.fromkeys(word for words in words_of for word in words))
    if not names:
        return {}
    place = {name: at for at, name in enumerate(names)}
    sizes = list(map(len, words_of))
    rows = np.repeat(np.arange(len(texts)), sizes)
    columns = [place[word] for words in words_of for word in words]
    values = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)
    matrix = csr_array((values, (rows, columns)), shape=(len(texts), len(names)))
    normal = LinearOperator(
        (len(names), len(names)),
        matvec=lambda weights: matrix.T @ (matrix @ weights) + _PENALTY * weights,
        dtype=float,
    )
    target = matrix.T @ (np.array(outcomes) - np.mean(outcomes))
    begun = np.array([start.get(name, 0.0) for name in names])
    weights, _ = cg(normal, target, begun, rtol=_ENOUGH, maxiter=_MAX_STEPS)
    return dict(zip(names, weights.tolist(), strict=True))


class SavedRidge(Struct, frozen=True, kw_only=True):
    """A regression as a run has it: what the folder says later does not change it."""

    ridge: Ridge
    records: int
    shortest: int
    """Words of the shortest text it knows."""
    longest: int

    def predict(self, text: str) -> float | None:
        """How well a text may do; None where it is much longer or shorter than all that is known."""
        words = len(split_words(text))
        if not self.shortest / _BEYOND <= words <= self.longest * _BEYOND:
            return None
        return self.ridge.predict(text)


def fit_for_run(name: FittedName, texts: Sequence[str], outcomes: Sequence[float]) -> SavedRidge:
    """A regression on all of these texts."""
    lengths = [len(split_words(text)) for text in texts]
    ridge = fit_ridge(name, texts, outcomes)
    return SavedRidge(ridge=ridge, records=len(texts), shortest=min(lengths), longest=max(lengths))


def encode_ridge(found: SavedRidge) -> bytes:
    """As it is saved."""
    return msgspec.msgpack.encode(found, order="deterministic")


def digest_ridge(body: bytes) -> str:
    """The name under which it is saved."""
    return sha256(body).hexdigest()


def save_ridge(body: bytes) -> None:
    """Save a regression for the user alone: it has words of private records."""
    path = _path(digest_ridge(body))
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, body, private=True)


@lru_cache(4)
def load_ridge(digest: str) -> SavedRidge:
    """A saved regression, which must be as it was saved."""
    path = _path(digest)
    try:
        body = path.read_bytes()
    except OSError:
        raise InvalidInput(
            f"the predictor of this run is not saved here (no {path}); go on where it was started"
        ) from None
    if digest_ridge(body) != digest:
        raise InvalidInput(f"{path} was changed; remove it and start the run again")
    return msgspec.msgpack.decode(body, type=SavedRidge)


def _path(digest: str) -> Path:
    return data_folder() / "predictors" / digest
