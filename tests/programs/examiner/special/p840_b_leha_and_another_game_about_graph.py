"""Right is any set of edges that gives every vertex a degree of the parity asked for, or -1 where there is none."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    asked = list(map(int, input.split()))
    size, edges = asked[:2]
    parities, ends = asked[2 : 2 + size], asked[2 + size :]
    count, *chosen = map(int, output.split())
    if expected.split() == ["-1"] or count == -1:
        return output.split() == expected.split()
    if len(chosen) != count or len(set(chosen)) != count:
        return f"not {count} different edges"
    degrees = [0] * size
    for edge in chosen:
        if not 1 <= edge <= edges:
            return f"{edge} is not an edge"
        for vertex in ends[2 * edge - 2 : 2 * edge]:
            degrees[vertex - 1] ^= 1
    for vertex, (degree, parity) in enumerate(zip(degrees, parities, strict=True), 1):
        if parity not in (-1, degree):
            return f"vertex {vertex} has a degree of the wrong parity"
    return True
