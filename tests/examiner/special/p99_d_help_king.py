"""Right is the expected number of tosses as a fraction in lowest terms, which is written in one way."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:  # noqa: ARG001
    return output.split() == expected.split()
