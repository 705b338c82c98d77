"""Outcomes explained by texts: ridge regressions on words, on embeddings or on both, and one saved for a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from math import fsum, sqrt
from operator import mul, sub
from pathlib import Path
from statistics import fmean

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
    """Weights of words by ridge regression, with conjugate gradients (Hestenes and Stiefel 1952).

    A text counts as its different words, each divided by the root of how many they are; `start` are weights
    that are nearly right.
    """
    names: dict[str, int] = {}
    words_of = [[names.setdefault(word, len(names)) for word in word_set(text)] for text in texts]
    squares = [1 / (len(words) or 1) for words in words_of]
    texts_with: list[list[int]] = [[] for _ in names]
    for at, words in enumerate(words_of):
        for word in words:
            texts_with[word].append(at)

    def project(values: Sequence[float]) -> list[float]:
        """The sum over texts that have a word, for every word."""
        return [sum(map(values.__getitem__, having)) for having in texts_with]

    def apply(weights: Sequence[float]) -> list[float]:
        """The matrix of the normal equations times a vector."""
        sums = [sum(map(weights.__getitem__, words)) for words in words_of]
        image = project(list(map(mul, sums, squares)))
        return [value + _PENALTY * weight for value, weight in zip(image, weights, strict=True)]

    centre = fmean(outcomes)
    scaled = [(y - centre) * sqrt(square) for y, square in zip(outcomes, squares, strict=True)]
    weights = [start.get(word, 0.0) for word in names]
    residual = list(map(sub, project(scaled), apply(weights)))
    direction = residual
    error = fsum(map(mul, residual, residual))
    enough = _ENOUGH**2 * fsum(value * value for value in project(scaled))
    for _ in range(_MAX_STEPS):
        if error <= enough:
            break
        image = apply(direction)
        step = error / fsum(map(mul, direction, image))
        weights = [weight + step * value for weight, value in zip(weights, direction, strict=True)]
        residual = [value - step * other for value, other in zip(residual, image, strict=True)]
        before, error = error, fsum(map(mul, residual, residual))
        share = error / before
        direction = [
            value + share * other for value, other in zip(residual, direction, strict=True)
        ]
    return dict(zip(names, weights, strict=True))


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
