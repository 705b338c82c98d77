"""The sum of the radii of circles in the unit square, which are checked with exact fractions."""

from fractions import Fraction
from itertools import combinations


def score(artifact, _seed, items):
    """The mean over the items, which say how many circles there are to be."""
    sums = [sum_of_radii(artifact.pack(item["n"]), item["n"]) for item in items]
    return {"sum": float(sum(sums) / len(sums)), "items": [float(each) for each in sums]}


def sum_of_radii(circles, n):
    """The sum, exactly; what is not a packing is an error, never a number. Nothing is tolerated."""
    if type(circles) is not list or len(circles) != n:
        raise ValueError(f"{n} circles are needed")
    exact = [circle_of(each) for each in circles]
    for x, y, r in exact:
        if not (r > 0 and r <= x <= 1 - r and r <= y <= 1 - r):
            raise ValueError("a circle is not within the square")
    for (x, y, r), (u, v, s) in combinations(exact, 2):
        if (x - u) ** 2 + (y - v) ** 2 < (r + s) ** 2:
            raise ValueError("two circles overlap")
    return sum(r for _, _, r in exact)


def circle_of(numbers):
    """A circle as fractions: a float is one already."""
    if type(numbers) not in (list, tuple) or [type(each) for each in numbers] != [float] * 3:
        raise ValueError("a circle is three floats: x, y, r")
    return [Fraction(each) for each in numbers]
