"""Right is a connected graph of so many coprime pairs, or the word that there is none."""

from __future__ import annotations

from math import gcd


def check(input: str, output: str, expected: str) -> bool | str:
    vertices, size = map(int, input.split())
    word, *ends = output.split()
    if word != expected.split()[0]:
        return "wrong about whether there is such a graph"
    if word == "Impossible":
        return not ends
    edges = {(min(edge), max(edge)) for edge in zip(*[map(int, ends)] * 2, strict=True)}
    if len(ends) != 2 * size or len(edges) != size:
        return f"not {size} different edges"
    if not all(1 <= lower < upper <= vertices for lower, upper in edges):
        return "an edge that joins no two vertices of the graph"
    if any(gcd(lower, upper) > 1 for lower, upper in edges):
        return "the ends of an edge have a common divisor"
    return _connected(vertices, edges) or "the graph is not connected"


def _connected(vertices: int, edges: set[tuple[int, int]]) -> bool:
    near: list[list[int]] = [[] for _ in range(vertices + 1)]
    for lower, upper in edges:
        near[lower].append(upper)
        near[upper].append(lower)
    reached, ahead = {1}, [1]
    while ahead:
        new = [vertex for vertex in near[ahead.pop()] if vertex not in reached]
        reached.update(new)
        ahead.extend(new)
    return len(reached) == vertices
