"""All randomness of a run, drawn from its seed and a purpose, so that nothing depends on what happened before."""

from __future__ import annotations

import random


def draw(seed: int, purpose: str) -> random.Random:
    """A fresh source of randomness for one purpose."""
    return random.Random(f"{seed}/{purpose}")


def boundary(seed: int, purpose: str, *texts: str) -> str:
    """A mark that no text between its lines contains and no author could have foreseen."""
    source = draw(seed, f"{purpose}/boundary")
    while True:
        mark = f"{source.getrandbits(64):016x}"
        if not any(mark in text for text in texts):
            return mark
