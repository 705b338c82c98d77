"""One answer is right: the largest result of the game."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    return output.split() == expected.split()
