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
    drawn = (blake2b(f"{seed}/{purpose}/{attempt}".encode(), digest_size=8) for attempt in count())
    marks = (one.hexdigest() for one in drawn)
    return next(mark for mark in marks if not any(mark in text for text in texts))
