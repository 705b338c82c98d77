"""Parents that make a tree and differ from those given in as few places as can be."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    """As many changes as recorded, and all vertices hang on a single root."""
    size, *before = map(int, input.split())
    changes, *parents = map(int, output.split())
    if changes != int(expected.split()[0]):
        return "not the fewest changes"
    if len(parents) != size or not all(1 <= parent <= size for parent in parents):
        return f"{size} vertices are wanted"
    if changes != sum(old != new for old, new in zip(before, parents, strict=True)):
        return f"not {changes} changes"
    children: list[list[int]] = [[] for _ in range(size + 1)]
    reached: list[int] = []
    for vertex, parent in enumerate(parents, 1):
        (reached if vertex == parent else children[parent]).append(vertex)
    if len(reached) != 1:
        return f"{len(reached)} roots"
    for vertex in reached:
        reached.extend(children[vertex])
    return len(reached) == size or "a cycle"
