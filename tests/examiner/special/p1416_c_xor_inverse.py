"""One answer is right: the fewest inversions, and the smallest number that leaves so few."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    return output.split() == expected.split()
