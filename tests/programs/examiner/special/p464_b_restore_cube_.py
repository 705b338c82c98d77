"""Right is each line's numbers in an order that makes the lines a cube, or the word that there is none."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    lines = _points(list(map(int, input.split())))
    word, *given = output.split()
    if word != expected.split()[0]:
        return "wrong about whether there is such a cube"
    if word == "NO":
        return not given
    points = _points(list(map(int, given)))
    if list(map(sorted, points)) != list(map(sorted, lines)):
        return "a line's numbers are not those of the input"
    side = _distances(points[0], points)[1]
    cube = [0, side, side, side, 2 * side, 2 * side, 2 * side, 3 * side]
    if side == 0 or any(_distances(point, points) != cube for point in points):
        return "the points are no cube's"
    return True


def _points(numbers: list[int]) -> list[tuple[int, int, int]]:
    return list(zip(*[iter(numbers)] * 3, strict=True))


def _distances(start: tuple[int, int, int], points: list[tuple[int, int, int]]) -> list[int]:
    """The squares of the distances to all points, sorted."""
    return sorted(sum((a - b) ** 2 for a, b in zip(start, end, strict=True)) for end in points)
