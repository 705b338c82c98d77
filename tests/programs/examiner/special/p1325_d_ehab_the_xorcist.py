"""Right is any shortest array of positive integers with the xor and the sum asked for, or -1 where there is none."""

from __future__ import annotations

from functools import reduce
from operator import xor


def check(input: str, output: str, expected: str) -> bool | str:
    wanted_xor, wanted_sum = map(int, input.split())
    length, *array = map(int, output.split())
    shortest = int(expected.split()[0])
    if length != shortest:
        return f"the shortest length is not {length}"
    if length == -1:
        return not array
    if len(array) != length or any(element < 1 for element in array):
        return f"not {length} positive integers"
    return reduce(xor, array, 0) == wanted_xor and sum(array) == wanted_sum
