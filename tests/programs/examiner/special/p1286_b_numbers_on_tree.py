"""Right are any integers that give each vertex as many smaller ones below it as asked, or NO where there are none."""

from __future__ import annotations

LARGEST = 10**9


def check(input: str, output: str, expected: str) -> bool | str:
    size, *described = map(int, input.split())
    parents, smaller = described[::2], described[1::2]
    if expected.split() == ["NO"]:
        return output.split() == ["NO"]
    word, *rest = output.split()
    numbers = list(map(int, rest))
    if word != "YES" or len(numbers) != size:
        return f"not YES and {size} integers"
    if min(numbers) < 1 or max(numbers) > LARGEST:
        return "an integer out of range"
    counted = [0] * size
    for vertex, number in enumerate(numbers):
        above = parents[vertex]
        while above:
            counted[above - 1] += number < numbers[above - 1]
            above = parents[above - 1]
    return counted == smaller or "a vertex has more or fewer smaller ones below it than asked"
