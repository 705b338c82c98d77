"""One answer is right: the order in which the vertices go, for the smallest is always next."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    return output.split() == expected.split()
