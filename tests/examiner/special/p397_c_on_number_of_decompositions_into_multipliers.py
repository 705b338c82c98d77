"""One answer is right: the number of decompositions, as a remainder."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    return output.split() == expected.split()
