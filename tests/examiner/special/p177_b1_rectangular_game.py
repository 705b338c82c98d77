"""Right is the one largest result of the game."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:  # noqa: ARG001
    return output.split() == expected.split()
