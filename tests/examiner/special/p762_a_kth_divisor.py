"""One answer is right: the divisor, or -1 where there are not so many."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    return output.split() == expected.split()
