"""Right is the one smallest number of passwords."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:  # noqa: ARG001
    return output.split() == expected.split()
