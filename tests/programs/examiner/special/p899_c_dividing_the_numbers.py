"""A group of the numbers whose sum is as near to that of the others as can be."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    """The difference is the recorded one, and the group and its rest differ by it."""
    last = int(input)
    difference, size, *group = map(int, output.split())
    if difference != int(expected.split()[0]):
        return "not the smallest difference"
    if size != len(group) or len(set(group)) != size or not set(group) <= set(range(1, last + 1)):
        return "not a group of these numbers"
    return 0 < size < last and abs(last * (last + 1) // 2 - 2 * sum(group)) == difference
