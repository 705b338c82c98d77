"""Right is a string of small letters that has so many substrings of one letter as given, for every length."""

from __future__ import annotations

from itertools import groupby
from string import ascii_lowercase


def check(input: str, output: str, _expected: str) -> bool | str:
    size, *wanted = map(int, input.split())
    [string] = output.split()
    if len(string) != size or not set(string) <= set(ascii_lowercase):
        return f"not {size} small letters"
    counts = [0] * size
    for _, run in groupby(string):
        length = len(list(run))
        for shorter in range(length):
            counts[shorter] += length - shorter
    return counts == wanted
