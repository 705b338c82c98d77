"""Right is for each graph a matching or an independent set of the size asked for; one of them is always there."""

from __future__ import annotations


def check(input: str, output: str, _expected: str) -> bool | str:
    asked, given = map(int, input.split()), iter(output.split())
    for _ in range(next(asked)):
        size, many = next(asked), next(asked)
        edges = [(next(asked), next(asked)) for _ in range(many)]
        kind = next(given)
        chosen = [int(next(given)) for _ in range(size)]
        if kind not in ("Matching", "IndSet"):
            return "neither a matching nor an independent set"
        if not all(1 <= each <= (many if kind == "Matching" else 3 * size) for each in chosen):
            return "an edge or a vertex that the graph does not have"
        if kind == "Matching":
            ends = {end for each in chosen for end in edges[each - 1]}
            if len(ends) != 2 * size:
                return "two edges of a matching meet"
        elif len(set(chosen)) != size or _joined(set(chosen), edges):
            return "not an independent set"
    return next(given, None) is None


def _joined(vertices: set[int], edges: list[tuple[int, int]]) -> bool:
    return any(one in vertices and other in vertices for one, other in edges)
