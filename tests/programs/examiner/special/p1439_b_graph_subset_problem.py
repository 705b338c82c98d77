"""Right is a clique of the size asked for, or vertices with so many neighbours among them, or -1 where neither is."""

from __future__ import annotations

from collections.abc import Iterator


def check(input: str, output: str, expected: str) -> bool | str:
    asked, given, wanted = (map(int, text.split()) for text in (input, output, expected))
    for _ in range(next(asked)):
        vertices, many, degree = next(asked), next(asked), next(asked)
        edges = {frozenset((next(asked), next(asked))) for _ in range(many)}
        (kind, chosen), (known, _) = _answer(given, degree), _answer(wanted, degree)
        if kind not in (-1, 1, 2) or (kind == -1) != (known == -1):
            return "wrong about whether there is such a set"
        if kind == -1:
            continue
        members = set(chosen)
        if not members or len(members) != len(chosen) or not members <= set(range(1, vertices + 1)):
            return "not a set of vertices"
        neighbours = dict.fromkeys(members, 0)
        for edge in edges:
            if len(edge) == 2 and edge <= members:
                for end in edge:
                    neighbours[end] += 1
        if min(neighbours.values()) < (degree if kind == 1 else degree - 1):
            return "a vertex has too few neighbours in the set"
    return next(given, None) is None


def _answer(numbers: Iterator[int], size: int) -> tuple[int, list[int]]:
    """Of what kind a set is, and its vertices; a clique's size is known, any other's is told."""
    kind = next(numbers)
    told = {-1: 0, 2: size}
    return kind, [next(numbers) for _ in range(told[kind] if kind in told else next(numbers))]
