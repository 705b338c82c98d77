"""A graph with these distances from one vertex and few edges at each, or -1."""

from __future__ import annotations

MOST = 10**6


def check(input: str, output: str, expected: str) -> bool | str:
    """No edge spans more than one level, and each vertex but the chosen one has a neighbour one level nearer."""
    _, most, *levels = map(int, input.split())
    announced, *ends = map(int, output.split())
    if announced == -1 or expected.split() == ["-1"]:
        return output.split() == expected.split()
    if announced > MOST or len(ends) != 2 * announced:
        return f"{announced} edges cannot be {len(ends)} numbers"
    if not all(1 <= end <= len(levels) for end in ends):
        return "a vertex that is none"
    edges = {(min(edge), max(edge)) for edge in zip(ends[::2], ends[1::2], strict=True)}
    if len(edges) != announced or any(one == other for one, other in edges):
        return "a loop, or an edge given twice"
    degrees, reached = [0] * len(levels), [level == 0 for level in levels]
    for one, other in edges:
        near, far = sorted((one - 1, other - 1), key=levels.__getitem__)
        if levels[far] - levels[near] > 1:
            return f"the edge {one} {other} makes a distance shorter"
        degrees[near] += 1
        degrees[far] += 1
        reached[far] |= levels[far] > levels[near]
    if max(degrees) > most:
        return f"more than {most} edges at one vertex"
    return all(reached) or "a vertex is farther away than it should be"
