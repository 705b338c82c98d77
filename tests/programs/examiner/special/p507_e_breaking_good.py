"""Right are the fewest changed roads after which those that work are one shortest path."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    cities, _, *described = map(int, input.split())
    roads = {frozenset((x, y)): z for x, y, z in zip(*[iter(described)] * 3, strict=True)}
    fewest, *given = map(int, output.split())
    changes = {frozenset((x, y)): z for x, y, z in zip(*[iter(given)] * 3, strict=True)}
    if fewest != int(expected.split()[0]):
        return "not the fewest roads"
    if not 3 * len(changes) == len(given) == 3 * fewest:
        return f"not {fewest} different roads"
    if not all(roads.get(road) == 1 - state for road, state in changes.items()):
        return "a road that gets no other state"
    working = {road for road, state in (roads | changes).items() if state}
    shortest = _distance(set(roads), cities)
    return len(working) == shortest == _distance(working, cities) or "no shortest path is left"


def _distance(roads: set[frozenset[int]], last: int) -> int | None:
    """The number of roads from the first city to the last."""
    near: list[list[int]] = [[] for _ in range(last + 1)]
    for one, other in roads:
        near[one].append(other)
        near[other].append(one)
    distances, order = {1: 0}, [1]
    for city in order:
        new = [each for each in near[city] if each not in distances]
        distances |= dict.fromkeys(new, distances[city] + 1)
        order += new
    return distances.get(last)
