"""Eight points split into the corners of a square and those of a rectangle."""

from __future__ import annotations

Point = tuple[int, int]


def apart(one: Point, other: Point) -> int:
    """The square of their distance."""
    return (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2


def sides(corners: list[Point]) -> set[int]:
    """The squares of a rectangle's sides; none if these are not the corners of one."""
    first, *others = corners
    for opposite in others:
        near, far = (corner for corner in others if corner != opposite)
        middles = [
            (one[0] + two[0], one[1] + two[1]) for one, two in ((first, opposite), (near, far))
        ]
        if middles[0] == middles[1] and apart(first, opposite) == apart(near, far):
            return {apart(first, near), apart(first, far)}
    return set()


def check(input: str, output: str, expected: str) -> bool | str:
    """The word is the one recorded, and after YES come all points: first a square, then a rectangle."""
    word, *indexes = output.split() or [""]
    if word != expected.split()[0]:
        return f"not {word or 'nothing'}"
    if word == "NO":
        return not indexes
    chosen = [int(index) - 1 for index in indexes]
    if sorted(chosen) != list(range(8)):
        return "each of the eight points is wanted once"
    numbers = list(map(int, input.split()))
    points = [(numbers[2 * index], numbers[2 * index + 1]) for index in chosen]
    if len(sides(points[:4])) != 1:
        return "the first four are not a square"
    return len(sides(points[4:])) > 0 or "the last four are not a rectangle"
