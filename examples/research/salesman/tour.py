"""A round trip by the nearest neighbour."""

from math import dist


def tour(points, seconds):
    """The order in which to visit all points, as a list of their numbers, within so many seconds."""
    left = set(range(1, len(points)))
    order = [0]
    while left:
        here = points[order[-1]]
        order.append(min(left, key=lambda each: (dist(here, points[each]), each)))
        left.remove(order[-1])
    return order
