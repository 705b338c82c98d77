"""One answer is right: the fewest and the most diamonds of every monster."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    return output.split() == expected.split()
