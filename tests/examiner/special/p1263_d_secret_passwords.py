"""One answer is right: the smallest number of passwords."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    return output.split() == expected.split()
