"""Right is any matrix whose rows and columns have the xors asked for, or NO where there is none."""

from __future__ import annotations

from functools import reduce
from operator import xor

LARGEST = 2 * 10**9


def check(input: str, output: str, expected: str) -> bool | str:
    height, width, *xors = map(int, input.split())
    if expected.split() == ["NO"]:
        return output.split() == ["NO"]
    word, *rest = output.split()
    elements = list(map(int, rest))
    if word != "YES" or len(elements) != height * width:
        return f"not YES and {height} rows of {width} numbers"
    if min(elements) < 0 or max(elements) > LARGEST:
        return "a number out of range"
    rows = [elements[start : start + width] for start in range(0, len(elements), width)]
    columns = [elements[start::width] for start in range(width)]
    for line, wanted in zip(rows + columns, xors, strict=True):
        if reduce(xor, line) != wanted:
            return f"a row or column whose xor is not {wanted}"
    return True
