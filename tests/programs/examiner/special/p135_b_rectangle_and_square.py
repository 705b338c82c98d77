"""Right is a square of four of the points and a rectangle of the others, or the word that there are none."""

from __future__ import annotations

Point = tuple[int, int]


def check(input: str, output: str, expected: str) -> bool | str:
    numbers = list(map(int, input.split()))
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    word, *given = output.split()
    if word != expected.split()[0]:
        return "wrong about whether the points can be split"
    if word == "NO":
        return not given
    order = list(map(int, given))
    if sorted(order) != list(range(1, 9)):
        return "not every point once"
    corners = [points[number - 1] for number in order]
    square, rectangle = _sides(corners[:4]), _sides(corners[4:])
    if square is None or square[0] != square[1]:
        return "the first four are no square"
    return rectangle is not None or "the last four are no rectangle"


def _sides(corners: list[Point]) -> tuple[int, int] | None:
    """The squares of a rectangle's two sides; sorted, its first corner lies opposite the last."""
    (x, y), one, other, last = sorted(corners)
    (a, b), (c, d) = (one[0] - x, one[1] - y), (other[0] - x, other[1] - y)
    if last != (x + a + c, y + b + d) or a * c + b * d != 0:
        return None
    return a * a + b * b, c * c + d * d
