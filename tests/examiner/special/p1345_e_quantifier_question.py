"""One answer is right: universal is just every variable whose order to each earlier one is left open."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    return output.split() == expected.split()
