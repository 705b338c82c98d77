"""Right is the one order in which the vertices go: it is always the smallest that is next."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:  # noqa: ARG001
    return output.split() == expected.split()
