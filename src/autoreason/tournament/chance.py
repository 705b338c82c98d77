"""All randomness of a run, drawn from its seed and a purpose, so that nothing depends on what happened before."""

from __future__ import annotations

import random
from hashlib import blake2b
from itertools import count


def draw(seed: int, purpose: str) -> random.Random:
    """A fresh source of randomness for one purpose."""
    return random.Random(f"{seed}/{purpose}")


def boundary(seed: int, purpose: str, *texts: str) -> str:
    """A mark that no text between its lines contains and no author could have foreseen."""
    for attempt in count():
        drawn = blake2b(f"{seed}/{purpose}/boundary/{attempt}".encode(), digest_size=8)
        mark = drawn.hexdigest()
        if not any(mark in text for text in texts):
            return mark
    raise AssertionError("unreachable")
