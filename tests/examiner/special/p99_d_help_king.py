"""One answer is right: the expected number of tosses, as a fraction in lowest terms."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    return output.split() == expected.split()
