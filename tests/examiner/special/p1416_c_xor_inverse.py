"""Right are the fewest inversions and the smallest number that leaves so few."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:  # noqa: ARG001
    return output.split() == expected.split()
