"""Right is a route in the time given that sees as many showplaces as can be, and their number before it."""

from __future__ import annotations

from itertools import pairwise


def check(input: str, output: str, expected: str) -> bool | str:
    showplaces, _, time, *described = map(int, input.split())
    roads = {(start, end): t for start, end, t in zip(*[iter(described)] * 3, strict=True)}
    most, *route = map(int, output.split())
    if most != int(expected.split()[0]):
        return "not the largest number of showplaces"
    if not len(route) == len(set(route)) == most:
        return f"not {most} different showplaces"
    if route[0] != 1 or route[-1] != showplaces:
        return "not from the first showplace to the last"
    if not all(road in roads for road in pairwise(route)):
        return "a road that is not there"
    return sum(roads[road] for road in pairwise(route)) <= time or "too long"
