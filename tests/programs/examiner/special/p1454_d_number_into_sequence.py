"""Right is any longest sequence over 1 with the product asked for in which each element divides the next."""

from __future__ import annotations

from itertools import pairwise
from math import prod


def check(input: str, output: str, expected: str) -> bool | str:
    given, wanted = list(map(int, output.split())), list(map(int, expected.split()))
    at = at_wanted = 0
    for number in map(int, input.split()[1:]):
        length, longest = given[at], wanted[at_wanted]
        sequence = given[at + 1 : at + 1 + length]
        at += 1 + length
        at_wanted += 1 + longest
        if length != longest:
            return f"the longest sequence of {number} has not {length} elements"
        if len(sequence) != length or min(sequence) < 2 or prod(sequence) != number:
            return f"not {length} elements over 1 whose product is {number}"
        if any(after % before for before, after in pairwise(sequence)):
            return "one element does not divide the next"
    return at == len(given)
