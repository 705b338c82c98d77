"""Texts as vectors, by the optional weights of WordLlama: they come with its package, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autoreason.errors import InvalidInput

Vector = NDArray[np.float32]

_MODEL = "l2_supercat"
_NEEDED = ("safetensors", "tokenizers")
_PENALTY = 10.0


def fit_embeddings(texts: Sequence[str], outcomes: Sequence[float]) -> tuple[float, ...]:
    """What each dimension is worth, by ridge regression."""
    vectors = np.stack([embed(text) for text in texts]).astype(float)
    centred = np.array(outcomes) - np.mean(outcomes)
    normal = vectors.T @ vectors + _PENALTY * np.eye(vectors.shape[1])
    return tuple(np.linalg.solve(normal, vectors.T @ centred).tolist())


@lru_cache(100_000)
def embed(text: str) -> Vector:
    """The sum of a text's tokens, divided by the root of how many they are; of an empty text, zeros."""
    return _embed(text)


def _embed(text: str) -> Vector:
    return _embedder()(text.encode(errors="replace").decode())


def stored_direction(text: str) -> bytes:
    """Where a text points, as an index keeps it."""
    return _direction(text).astype(np.float16).tobytes()


class Directions:
    """Where the texts of an index point, read once for many searches."""

    def __init__(self, stored: Sequence[tuple[str, bytes]]) -> None:
        self._kinds = np.array([kind for kind, _ in stored])
        kept = np.frombuffer(b"".join(vector for _, vector in stored), np.float16)
        self._matrix = kept.reshape(len(stored), -1).astype(np.float32)

    def near(self, text: str, kinds: Sequence[str], last: int) -> Iterator[int]:
        """Numbers of texts from 1, those first that point where this one does."""
        wanted = np.isin(self._kinds[:last], kinds) if kinds else np.full(last, fill_value=True)
        alike = self._matrix[:last] @ _direction(text)
        order = np.argsort(-alike, kind="stable")
        return (int(at) + 1 for at in order[wanted[order]])


def _direction(text: str) -> Vector:
    # Not remembered: a folder has every text once.
    vector = _embed(text)
    direction: Vector = vector / np.float32(np.linalg.norm(vector) or 1.0)
    return direction


def find_weights() -> Path:
    """The folder of the weights; refused where what embeddings need is not installed."""
    package = find_spec("wordllama")
    if not (package and package.origin and all(map(find_spec, _NEEDED))):
        raise InvalidInput(
            "embeddings need more than is installed; run `pip install '.[embeddings]'` in the clone, or use words"
        )
    return Path(package.origin).parent


@cache
def _embedder() -> Callable[[str], Vector]:
    # Files alone: what the code of its package adds has to be compiled, and sets up logging for the whole process.
    folder = find_weights()
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
