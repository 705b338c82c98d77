"""Right is an order of all vertices in which each has an even degree when its turn comes, or the word that none is."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    size, *parents = map(int, input.split())
    word, *given = output.split()
    if word != expected.split()[0]:
        return "wrong about whether the tree can be destroyed"
    if word == "NO":
        return not given
    order = list(map(int, given))
    if sorted(order) != list(range(1, size + 1)):
        return "not every vertex once"
    turns = {vertex: turn for turn, vertex in enumerate(order)}
    degrees = [0] * (size + 1)
    for vertex, parent in enumerate(parents, 1):
        if parent:
            # An edge goes with the end that is destroyed first and is still there for that one alone.
            degrees[min(vertex, parent, key=turns.__getitem__)] += 1
    return not any(degree % 2 for degree in degrees) or "a vertex of odd degree was destroyed"
