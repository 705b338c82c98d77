"""Right is a set of so many numbers whose xor is the favourite one, or the word that there is none."""

from __future__ import annotations

from functools import reduce
from operator import xor


def check(input: str, output: str, expected: str) -> bool | str:
    size, favourite = map(int, input.split())
    word, *given = output.split()
    if word != expected.split()[0]:
        return "wrong about whether there is such a set"
    if word == "NO":
        return not given
    numbers = list(map(int, given))
    if not len(numbers) == len(set(numbers)) == size:
        return f"not {size} different numbers"
    if not all(0 <= number <= 10**6 for number in numbers):
        return "a number that is negative or over 10^6"
    return reduce(xor, numbers) == favourite or "their xor is another number"
