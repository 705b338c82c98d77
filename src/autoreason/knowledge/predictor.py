"""Predictors of which of two texts does better: by similar texts, by a ridge regression, by length."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.util import find_spec
from math import fsum, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.files import data_folder, write_atomically
from autoreason.knowledge.columns import is_earlier
from autoreason.knowledge.index import IndexRow, SearchQuery
from autoreason.knowledge.standing import (
    MIN_KNOWN,
    FoundPairs,
    KnownBefore,
    Pair,
    find_pairs,
    find_standings,
)
from autoreason.knowledge.words import MAX_SIMILARITY, share, split_words, word_set
from autoreason.knowledge_records import FittedName, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_PENALTY = 3.0
_MAX_STEPS = 50
_ENOUGH = 0.01
"""Words are weighed until what is left to explain is this share of it."""
_BEYOND = 2
"""A text that is so many times as long as the longest known, or as short as the shortest, is unlike all of them."""


class Ridge(Struct, frozen=True, kw_only=True):
    """How outcomes depend on texts."""

    words: dict[str, float]
    direction: tuple[float, ...] = ()
    """What the dimensions of an embedding are worth; empty where they do not count."""

    def predict(self, text: str) -> float:
        """How well a text may do, higher is better."""
        words = word_set(text)
        value = fsum(self.words.get(word, 0.0) for word in words) / sqrt(len(words) or 1)
        if self.direction:
            value += float(embed(text) @ self.direction)
        return value


def fit_ridge(
    name: FittedName, texts: Sequence[str], outcomes: Sequence[float], start: Ridge | None = None
) -> Ridge:
    """The regression of that name; `start` is one that is nearly right."""
    direction: tuple[float, ...] = ()
    if name == "embeddings":
        direction = fit_embeddings(texts, outcomes)
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
    longest: int

    def predict(self, text: str) -> float | None:
        """How well a text may do; None where it is much longer or shorter than all that is known."""
        words = len(split_words(text))
        if not self.shortest / _BEYOND <= words <= self.longest * _BEYOND:
            return None
        return self.ridge.predict(text)


def fit_for_run(name: FittedName, texts: Sequence[str], outcomes: Sequence[float]) -> SavedRidge:
    lengths = [len(split_words(text)) for text in texts]
    ridge = fit_ridge(name, texts, outcomes)
    return SavedRidge(ridge=ridge, records=len(texts), shortest=min(lengths), longest=max(lengths))


def encode_ridge(found: SavedRidge) -> bytes:
    return msgspec.msgpack.encode(found, order="deterministic")


def digest_ridge(body: bytes) -> str:
    return sha256(body).hexdigest()


def save_ridge(body: bytes) -> None:
    """Save a regression for the user alone: it has words of private records."""
    path = _path(digest_ridge(body))
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, body, private=True)


@lru_cache(4)
def load_ridge(digest: str) -> SavedRidge:
    path = _path(digest)
    try:
        body = path.read_bytes()
    except OSError:
        missing = f"the predictor of this run is not saved here (no {path})"
        raise InvalidInput(f"{missing}; go on where it was started") from None
    if digest_ridge(body) != digest:
        raise InvalidInput(f"{path} was changed; remove it and start the run again")
    return msgspec.msgpack.decode(body, type=SavedRidge)


def _path(digest: str) -> Path:
    return data_folder() / "predictors" / digest


_GROWTH = 1.2
"""It is fitted again when there are so many times as many records."""
_FOLDS = 10

TextScores = Mapping[str, float]
"""How well texts did in their groups, by the ids of their records."""


def comparable_rows(records: Iterable[Record]) -> list[IndexRow]:
    """What predictors may know: every text that can be compared with others of its group, and was not picked."""
    by_text: dict[tuple[str, str], IndexRow] = {}
    for record, standing in find_standings(each for each in records if each.chosen != "picked"):
        if standing.size > 1:
            by_text.setdefault((record.group, record.text), (record, standing))
    return list(by_text.values())


def find_testable(records: Sequence[Record]) -> FoundPairs:
    """The pairs on which anything can be tested: enough is known before them, and no copy of either text is."""
    found = find_pairs(records)
    rows = [record for record, _ in comparable_rows(records)]
    known = KnownBefore(rows)
    copies = CopyFinder([record.text for record in rows])

    def is_testable(pair: Pair) -> bool:
        return known.is_enough(pair.group, pair.when) and not any(
            rows[at].group != pair.group and (not pair.when or is_earlier(rows[at].when, pair.when))
            for text in (pair.better.text, pair.worse.text)
            for at in copies.find(text)
        )

    pairs = list(filter(is_testable, found.pairs))
    return found._replace(pairs=pairs, untested=len(found.pairs) - len(pairs))


Predictor = Callable[[SearchQuery], float]
"""How well a text may do, from records that a query allows: higher is better, 0 where nothing is known."""


class CopyFinder:
    """Finds texts that are too similar to another one."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = [frozenset(split_words(text)) for text in texts]
        self._found: dict[str, list[int]] = {}
        self._having: dict[str, list[int]] = {}
        self._by_rarest: dict[str, list[int]] = {}
        for at, words in enumerate(self._words):
            for word in words:
                self._having.setdefault(word, []).append(at)
        for at, words in enumerate(self._words):
            for word in self._rarest(words):
                self._by_rarest.setdefault(word, []).append(at)

    def find(self, text: str) -> list[int]:
        if text not in self._found:
            words = frozenset(split_words(text))
            near = {at for word in self._rarest(words) for at in self._having.get(word, ())}
            near |= {at for word in words for at in self._by_rarest.get(word, ())}
            copies = (at for at in sorted(near) if share(words, self._words[at]) > MAX_SIMILARITY)
            self._found[text] = list(copies)
        return self._found[text]

    def _rarest(self, words: Collection[str]) -> list[str]:
        """So many words that a copy which is not shorter has at least one of them."""
        ordered = sorted(words, key=lambda word: len(self._having.get(word, ())))
        return ordered[: int(len(words) * (1 - MAX_SIMILARITY)) + 1]


class _Known(NamedTuple):
    ridge: Ridge | None = None
    records: int = 0
    number: int = 0


class FittedPredictor:
    """A ridge regression of outcomes, on earlier records or, without dates, on other groups."""

    def __init__(
        self, name: FittedName, rows: Sequence[IndexRow], scores_of: Callable[[int], TextScores]
    ) -> None:
        self._name, self._rows = name, rows
        self._scores_of = scores_of
        """What the first regression is fitted to, the second, and so on."""
        self._fits, self.fit = 0, 0
        """How many regressions there are, and which of them gave the last answer."""
        self._before = ""
        self._latest = _Known()
        groups = sorted({record.group for record, _ in rows})
        self._fold_of = {group: at % _FOLDS for at, group in enumerate(groups)}
        self._folds: dict[int | None, _Known] = {}

    def __call__(self, query: SearchQuery) -> float:
        known = self._from_earlier(query.before) if query.before else self._from_others(query)
        if known.ridge is None:
            return 0.0
        self.fit = known.number
        return known.ridge.predict(query.text)

    def _from_earlier(self, before: str) -> _Known:
        """From records before a date; queries come in the order of their dates."""
        if before < self._before:
            raise ValueError("queries must come in the order of their dates")
        if before > self._before:
            self._before = before
            rows = [row for row in self._rows if is_earlier(row[0].when, before)]
            if len(rows) > max(MIN_KNOWN, _GROWTH * self._latest.records):
                self._latest = self._fit(rows, self._latest.ridge)
        return self._latest

    def _from_others(self, query: SearchQuery) -> _Known:
        """From nine tenths of the groups, or all but one of a few, among which the query's is not."""
        fold = self._fold_of.get(query.group)
        if fold not in self._folds:
            rows = [row for row in self._rows if self._fold_of[row[0].group] != fold]
            self._folds[fold] = self._fit(rows)
        return self._folds[fold]

    def _fit(self, rows: Sequence[IndexRow], start: Ridge | None = None) -> _Known:
        if not rows:
            return _Known()
        self._fits += 1
        scores = self._scores_of(self._fits)
        outcomes = [scores[record.id] for record, _ in rows]
        texts = [record.text for record, _ in rows]
        return _Known(fit_ridge(self._name, texts, outcomes, start), len(rows), self._fits)


# ---- texts as vectors, by the optional weights of WordLlama: they come with its package ----------

_MODEL = "l2_supercat"
_NEEDED = ("safetensors", "tokenizers")
_VECTOR_PENALTY = 10.0


def fit_embeddings(texts: Sequence[str], outcomes: Sequence[float]) -> tuple[float, ...]:
    """What each dimension is worth, by ridge regression."""
    import numpy as np

    vectors = np.stack([embed(text) for text in texts]).astype(float)
    centred = np.array(outcomes) - np.mean(outcomes)
    normal = vectors.T @ vectors + _VECTOR_PENALTY * np.eye(vectors.shape[1])
    return tuple(np.linalg.solve(normal, vectors.T @ centred).tolist())


@lru_cache(100_000)
def embed(text: str) -> Vector:
    """The sum of a text's tokens, divided by the root of how many they are; of an empty text, zeros."""
    return _embedder()(text.encode(errors="replace").decode())


@cache
def _embedder() -> Callable[[str], Vector]:
    # Files alone: what the code of its package adds has to be compiled, and sets up logging for the whole process.
    package = find_spec("wordllama")
    if not (package and package.origin and all(map(find_spec, _NEEDED))):
        raise InvalidInput(
            "embeddings need more than is installed; run `pip install '.[embeddings]'` in the clone, or use words"
        )
    folder = Path(package.origin).parent
    import numpy as np
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    weights = load_file(folder / "weights" / f"{_MODEL}_256.safetensors")["embedding.weight"]
    names = folder / "tokenizers" / f"{_MODEL}_tokenizer_config.json"
    tokenizer = Tokenizer.from_file(str(names))
    tokens: Vector = weights.astype(np.float32)
    tokens /= np.linalg.norm(tokens, axis=1).mean()

    def embedder(text: str) -> Vector:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        found: Vector = tokens[ids].sum(axis=0) / np.float32(max(1, len(ids)) ** 0.5)
        return found

    return embedder
