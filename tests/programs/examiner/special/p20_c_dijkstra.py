"""A path from the first vertex to the last that is as short as can be, or -1."""

from __future__ import annotations

from itertools import pairwise


def check(input: str, output: str, expected: str) -> bool | str:
    """The path follows edges from 1 to n and is no longer than the recorded one."""
    last, _, *numbers = map(int, input.split())
    edges: dict[tuple[int, int], int] = {}
    for one, other, length in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        for step in ((one, other), (other, one)):
            edges[step] = min(length, edges.get(step, length))
    path, shortest = list(map(int, output.split())), list(map(int, expected.split()))
    if path == [-1] or shortest == [-1]:
        return path == shortest
    if not path or (path[0], path[-1]) != (1, last):
        return f"it does not lead from 1 to {last}"
    steps = list(pairwise(path))
    if not all(step in edges for step in steps):
        return "a step without an edge"
    return sum(edges[step] for step in steps) == sum(edges[step] for step in pairwise(shortest))
