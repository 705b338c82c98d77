"""Circles in the unit square: a grid, and small circles in its gaps."""

from math import isqrt, sqrt

SHRINK = 1 - 1e-12
"""Circles that touch must not overlap by a rounding error."""


def pack(n):
    """Centres and radii of n circles, as [x, y, r]."""
    side = isqrt(n)
    radius = 0.5 / side
    grid = [
        [(2 * i + 1) * radius, (2 * j + 1) * radius, radius * SHRINK]
        for i in range(side)
        for j in range(side)
    ]
    gaps = [
        [2 * i * radius, 2 * j * radius, radius * (sqrt(2) - 1) * SHRINK]
        for i in range(1, side)
        for j in range(1, side)
    ]
    return (grid + gaps)[:n]
