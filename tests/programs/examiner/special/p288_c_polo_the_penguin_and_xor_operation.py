"""Right is a permutation of the greatest beauty, and that beauty before it."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    last = int(input)
    beauty, *permutation = map(int, output.split())
    if sorted(permutation) != list(range(last + 1)):
        return "not a permutation"
    reached = sum(at ^ each for at, each in enumerate(permutation))
    return beauty == reached == int(expected.split()[0])
