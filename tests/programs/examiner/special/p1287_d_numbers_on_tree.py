"""Right are numbers of which each is above so many in its subtree as given, or the word that there are none."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    size, *rows = map(int, input.split())
    parents, wanted = [0, *rows[::2]], [0, *rows[1::2]]
    word, *given = output.split()
    if word != expected.split()[0]:
        return "wrong about whether there is a solution"
    if word == "NO":
        return not given
    numbers = [0, *map(int, given)]
    if len(given) != size or not all(1 <= number <= 10**9 for number in numbers[1:]):
        return f"not {size} numbers from 1 to 10^9"
    lesser = [0] * (size + 1)
    for vertex in range(1, size + 1):
        above = parents[vertex]
        while above:
            lesser[above] += numbers[vertex] < numbers[above]
            above = parents[above]
    return lesser == wanted or "a vertex is above too few or too many of its subtree"
