"""Right is any tree of the size and the diameter asked whose vertices keep to the degree, or NO where there is none."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    size, diameter, degree = map(int, input.split())
    if expected.split() == ["NO"]:
        return output.split() == ["NO"]
    word, *rest = output.split()
    ends = list(map(int, rest))
    if word != "YES" or len(ends) != 2 * (size - 1):
        return f"not YES and {size - 1} edges"
    if min(ends) < 1 or max(ends) > size:
        return "a vertex that is none"
    neighbours: list[list[int]] = [[] for _ in range(size + 1)]
    for one, other in zip(ends[::2], ends[1::2], strict=True):
        neighbours[one].append(other)
        neighbours[other].append(one)
    if max(map(len, neighbours)) > degree:
        return "a vertex of too high a degree"
    distances = _distances(neighbours, 1)
    if len(distances) != size:
        return "not connected"
    *_, farthest = distances
    longest = max(_distances(neighbours, farthest).values())
    return longest == diameter or f"the diameter is {longest}"


def _distances(neighbours: list[list[int]], start: int) -> dict[int, int]:
    """How far each vertex is from one of them, the nearest first."""
    distances = {start: 0}
    queue = [start]
    for vertex in queue:
        for other in neighbours[vertex]:
            if other not in distances:
                distances[other] = distances[vertex] + 1
                queue.append(other)
    return distances
