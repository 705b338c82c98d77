"""Predictors of which of two texts does better: by similar texts, by words, by length."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from math import fsum, sqrt
from operator import mul
from statistics import fmean
from typing import Protocol

from autoreason.knowledge.index import Index, Row
from autoreason.knowledge.retrieval import Query, count_leaks, find_neighbours
from autoreason.knowledge.values import is_earlier
from autoreason.knowledge.words import split_words

NEIGHBOURS = 20
"""Similar texts whose outcomes are averaged."""
_PENALTY = 20.0
_GROWTH = 1.1
"""Words are weighed again when there are so many times as many records."""
_FOLDS = 10
_STEPS = 30
_ENOUGH = 1e-3
"""Words are weighed until what is left of the error is this share of it."""

Scores = Mapping[str, float]
"""How well texts did in their groups, by the ids of their records."""


class Predictor(Protocol):
    """Says how well a text may do, from records that a query allows."""

    def predict(self, query: Query) -> float | None:
        """A number that is higher for better texts; None where nothing is known."""
        ...


class LengthPredictor:
    """The longer text does better."""

    def predict(self, query: Query) -> float | None:
        """How many characters it has."""
        return float(len(query.text))


class Neighbours:
    """Similar texts of an index, looked for once for each query; leaks among them are counted."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._found: dict[Query, list[str]] = {}
        self.left_out: Counter[str] = Counter()
        self.looked_at = 0
        self.leaks = 0

    def ids(self, query: Query) -> list[str]:
        """The ids of the nearest records."""
        if query not in self._found:
            near = list(islice(find_neighbours(self._index, query, self.left_out), NEIGHBOURS))
            records = [each.record for each in near]
            self.looked_at += len(records)
            self.leaks += count_leaks(records, query)
            self._found[query] = [record.id for record in records]
        return self._found[query]


class RetrievalPredictor:
    """How similar texts did, on average."""

    def __init__(self, neighbours: Neighbours, scores: Scores) -> None:
        self._neighbours, self._scores = neighbours, scores

    def predict(self, query: Query) -> float | None:
        """The mean of the nearest."""
        found = [self._scores[each] for each in self._neighbours.ids(query)]
        return fmean(found) if found else None


class WordsPredictor:
    """A ridge regression of outcomes on words, from earlier records or, without dates, from other groups."""

    def __init__(self, rows: Sequence[Row], scores: Scores) -> None:
        self._dated = sorted((each for each in rows if each[0].when), key=lambda each: each[0].when)
        self._rows, self._scores = rows, scores
        self._known = 0
        self._weights: dict[str, float] = {}
        self._folds: dict[int, dict[str, float]] = {}

    def predict(self, query: Query) -> float | None:
        """The sum of its words' weights."""
        weights = self._from_earlier(query.before) if query.before else self._from_others(query)
        if not weights:
            return None
        features = text_features(query.text)
        return fsum(weights.get(word, 0.0) * value for word, value in features.items())

    def _from_earlier(self, before: str) -> Mapping[str, float]:
        """Weights from records before a date; queries come in the order of their dates."""
        known = bisect_left(self._dated, True, key=lambda row: not is_earlier(row[0].when, before))
        if known < self._known:
            raise ValueError("queries must come in the order of their dates")
        if known > max(NEIGHBOURS, _GROWTH * self._known):
            self._known = known
            self._weights = self._fit(self._dated[:known], self._weights)
        return self._weights

    def _from_others(self, query: Query) -> Mapping[str, float]:
        """Weights from nine tenths of the groups, among which the query's is not."""
        fold = _fold(query.group)
        if fold not in self._folds:
            rows = [row for row in self._rows if _fold(row[0].group) != fold]
            self._folds[fold] = self._fit(rows, {})
        return self._folds[fold]

    def _fit(self, rows: Sequence[Row], start: Mapping[str, float]) -> dict[str, float]:
        outcomes = [self._scores[record.id] for record, _ in rows]
        return fit_words([record.text for record, _ in rows], outcomes, start) if rows else {}


def _fold(group: str) -> int:
    return hashlib.sha256(group.encode("utf-8", "surrogatepass")).digest()[0] % _FOLDS


def text_features(text: str) -> dict[str, float]:
    """The words of a text, and pairs of neighbours, scaled so that long texts have no more weight."""
    words = split_words(text)
    found = dict.fromkeys(words, 1.0)
    size = 1 / sqrt(len(found) or 1)
    return {word: value * size for word, value in found.items()}


def fit_words(
    texts: Sequence[str],
    outcomes: Sequence[float],
    start: Mapping[str, float] = {},
    penalty: float = _PENALTY,
) -> dict[str, float]:
    """Weights of words by ridge regression, with conjugate gradients (Hestenes and Stiefel 1952)."""
    features = [text_features(text) for text in texts]
    names: dict[str, int] = {}
    rows = []
    for each in features:
        at = [names.setdefault(word, len(names)) for word in each]
        rows.append((at, list(each.values())))
    centre = fmean(outcomes)

    def times(weights: list[float]) -> list[float]:
        """X'X w + penalty w."""
        result = [penalty * weight for weight in weights]
        for at, values in rows:
            product = sum(map(mul, values, map(weights.__getitem__, at)))
            for each, value in zip(at, values, strict=True):
                result[each] += product * value
        return result

    weights = [start.get(word, 0.0) for word in names]
    residual = [-value for value in times(weights)]
    for (at, values), outcome in zip(rows, outcomes, strict=True):
        for each, value in zip(at, values, strict=True):
            residual[each] += value * (outcome - centre)
    direction = residual
    error = first = fsum(value * value for value in residual)
    for _ in range(_STEPS):
        if error <= _ENOUGH**2 * first or not error:
            break
        image = times(direction)
        step = error / fsum(map(mul, direction, image))
        weights = [weight + step * value for weight, value in zip(weights, direction, strict=True)]
        residual = [value - step * other for value, other in zip(residual, image, strict=True)]
        before, error = error, fsum(value * value for value in residual)
        direction = [
            value + error / before * other
            for value, other in zip(residual, direction, strict=True)
        ]
    return dict(zip(names, weights, strict=True))
