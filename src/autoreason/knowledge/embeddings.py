"""Texts as vectors, by the optional weights of WordLlama: they come with its package, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
