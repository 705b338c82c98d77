"""In which order, and under which names, each judge sees the candidates."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice, permutations

Order = tuple[str, ...]


def balanced_orders(candidates: Sequence[str], judges: int, seed: int) -> tuple[Order, ...]:
    """One order per judge, so that no candidate gains by its position.

    Every n judges in turn see each of the n candidates once in each position. Neighbours are
    balanced as well: over n judges where n is even, over 2n where it is odd. The orders of
    a smaller panel are the first of a larger one's.
    """
    _check(candidates)
    return tuple(islice(_schedule(candidates, random.Random(seed)), judges))


def random_orders(candidates: Sequence[str], judges: int, seed: int) -> tuple[Order, ...]:
    """One order per judge, each drawn on its own."""
    _check(candidates)
    rng = random.Random(seed)
    return tuple(tuple(rng.sample(candidates, len(candidates))) for _ in range(judges))


def neutral_labels(count: int, rng: random.Random) -> tuple[str, ...]:
    """Different two-consonant codes that suggest neither a rank nor a meaning."""
    return tuple(rng.sample(_CODES, count))


def _schedule(candidates: Sequence[str], rng: random.Random) -> Iterator[Order]:
    """Williams designs, one after the other, each with the candidates dealt anew."""
    while True:
        dealt = rng.sample(candidates, len(candidates))
        squares = [_square(dealt)]
        if len(dealt) % 2:
            # An odd square is balanced only together with its mirror image.
            squares.append([order[::-1] for order in squares[0]])
        rng.shuffle(squares)
        for square in squares:
            rng.shuffle(square)
            yield from square


def _square(names: Sequence[str]) -> list[Order]:
    """A Latin square whose rows step outwards in zigzag: 0, 1, n-1, 2, n-2, ..."""
    n = len(names)
    zigzag = [(step + 1) // 2 if step % 2 else -(step // 2) for step in range(n)]
    return [tuple(names[(turn + offset) % n] for offset in zigzag) for turn in range(n)]


def _check(candidates: Sequence[str]) -> None:
    if not candidates or len(set(candidates)) < len(candidates):
        raise ValueError(f"candidates must be named once each, not {list(candidates)}")


_WELL_KNOWN = (
    "BC BK BR BS BT CD CF CL CM CN CP CR CT CV DB DC DJ DK DL DM DR FB FC FM FR FX GB GD GM GP GT"
    " HD HK HP HQ HR HT HZ JR JS KB KG KM KP KR KS KW LB LC LG LP LR LS LT MB MC MD MG MK ML MN MP"
    " MR MS MT MW NB NC ND NG NH NJ NL NM NR NT NV NZ PC PD PG PH PK PL PM PR PS PT QB QC QR RC RD"
    " RN RP RS SC SD SF SK SM SN SP SQ SR ST TB TD TN TS TV TX VC VM VP VR VS VT WC WP WS WV XL XS"
)
"""Pairs a reader takes for something: units, titles, places, brands, file types, "versus"."""

_CODES = [
    one + other
    for one, other in permutations("BCDFGHJKLMNPQRSTVWXZ", 2)
    if one + other not in _WELL_KNOWN
]
