"""All randomness of a run, drawn from its seed and a purpose, so that it does not depend on earlier draws."""

from __future__ import annotations

import random
from hashlib import blake2b

BOUNDARY = r"(?<!\w)[0-9a-f]{16}(?!\w)"
"""Matches every boundary, so that a copy of one is recognised in a model's text."""


def draw(seed: int, purpose: str) -> random.Random:
    """A fresh source of randomness for one purpose."""
    return random.Random(f"{seed}/{purpose}")


def boundary(seed: int, purpose: str, *texts: str, attempt: int = 0) -> str:
    """A mark that none of the texts contains and no author could have guessed."""
    mark = blake2b(f"{seed}/{purpose}/{attempt}".encode(), digest_size=8).hexdigest()
    if any(mark in text for text in texts):
        return boundary(seed, purpose, *texts, attempt=attempt + 1)
    return mark
