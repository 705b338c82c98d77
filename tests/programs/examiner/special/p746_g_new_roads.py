"""A tree with so many cities at each distance from the capital and so many dead ends, or -1."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    """The roads reach every city, level by level in the numbers planned, and the dead ends are counted."""
    size, _, wanted, *plan = map(int, input.split())
    announced, *ends = map(int, output.split())
    if announced == -1 or expected.split() == ["-1"]:
        return output.split() == expected.split()
    if announced != size or len(ends) != 2 * (size - 1):
        return f"{size} cities and {size - 1} roads are wanted"
    if not all(1 <= end <= size for end in ends):
        return "a city that is none"
    neighbours: list[list[int]] = [[] for _ in range(size + 1)]
    for one, other in zip(ends[::2], ends[1::2], strict=True):
        neighbours[one].append(other)
        neighbours[other].append(one)
    level, seen = [1], {1}
    for number in plan:
        level = list({city for near in level for city in neighbours[near]} - seen)
        if len(level) != number:
            return f"{len(level)} cities at a distance where {number} are planned"
        seen.update(level)
    dead_ends = sum(len(neighbours[city]) == 1 for city in range(2, size + 1))
    return dead_ends == wanted or f"{dead_ends} dead ends instead of {wanted}"
