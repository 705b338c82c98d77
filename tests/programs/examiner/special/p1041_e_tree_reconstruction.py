"""Right is a tree whose edges give the listed pairs in any order, or the word that there is none."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    size, *numbers = map(int, input.split())
    word, *ends = output.split()
    if word != expected.split()[0]:
        return "wrong about whether there is such a tree"
    if word == "NO":
        return not ends
    edges = list(zip(*[map(int, ends)] * 2, strict=True))
    if len(edges) != size - 1 or not all(1 <= int(end) <= size for end in ends):
        return f"not {size - 1} edges between these vertices"
    pairs = sorted(map(sorted, zip(numbers[::2], numbers[1::2], strict=True)))
    return pairs == sorted([largest, size] for largest in _largest_beyond(size, edges))


def _largest_beyond(root: int, edges: list[tuple[int, int]]) -> list[int]:
    """The largest vertex of each branch; the root is the largest of all, so on the other side it is the largest."""
    near: list[set[int]] = [set() for _ in range(root + 1)]
    for one, other in edges:
        near[one].add(other)
        near[other].add(one)
    parents, order = {root: 0}, [root]
    for vertex in order:
        new = [each for each in near[vertex] if each not in parents]
        parents |= dict.fromkeys(new, vertex)
        order += new
    largest = list(range(root + 1))
    for vertex in reversed(order):
        parent = parents[vertex]
        largest[parent] = max(largest[parent], largest[vertex])
    return [largest[vertex] for vertex in order[1:]]
