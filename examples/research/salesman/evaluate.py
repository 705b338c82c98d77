"""The length of round trips found in two seconds, over what is expected of the best one."""

from math import dist, sqrt
from random import Random
from time import perf_counter

SECONDS = 2.0
SLACK = 0.5
"""A program that evaluations of its clock now and then may be late by so much."""


def score(artifact, _seed, items):
    """The mean over instances of length / (0.7124 sqrt(n A)), where A = 1."""
    ratios = []
    for item in items:
        points = points_of(item)
        begin = perf_counter()
        order = artifact.tour(points, SECONDS)
        if perf_counter() - begin > SECONDS + SLACK:
            raise ValueError(f"it took more than {SECONDS} seconds")
        ratios.append(length_of(order, points) / (0.7124 * sqrt(len(points))))
    return {"ratio": sum(ratios) / len(ratios), "items": ratios}


def points_of(item):
    """Points in the unit square: uniform, or in so many clusters."""
    draw = Random(f"{item['n']}/{item['seed']}")
    centres = [(draw.random(), draw.random()) for _ in range(item.get("clusters", 0))]
    if not centres:
        return [[draw.random(), draw.random()] for _ in range(item["n"])]
    chosen = (draw.choice(centres) for _ in range(item["n"]))
    return [[draw.gauss(x, 0.05) % 1, draw.gauss(y, 0.05) % 1] for x, y in chosen]


def length_of(order, points):
    """The length; what does not visit every point once is an error."""
    if type(order) is not list or any(type(each) is not int for each in order):
        raise ValueError("a tour is a list of whole numbers")
    if sorted(order) != list(range(len(points))):
        raise ValueError("a tour visits every point once")
    return sum(
        dist(points[a], points[b]) for a, b in zip(order, [*order[1:], order[0]], strict=True)
    )
