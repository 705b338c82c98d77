"""Right is any cheapest painting in which a vertex and its neighbours all differ, or -1 where there is none."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    asked = list(map(int, input.split()))
    given = list(map(int, output.split()))
    size, least = asked[0], int(expected.split()[0])
    if least == -1:
        return given == [-1]
    cost, *colours = given
    if cost != least:
        return f"the least cost is not {cost}"
    if len(colours) != size or not set(colours) <= {1, 2, 3}:
        return f"not {size} colours"
    prices = [asked[1 + size * row : 1 + size * (row + 1)] for row in range(3)]
    if sum(prices[colour - 1][vertex] for vertex, colour in enumerate(colours)) != cost:
        return "the painting does not cost what is said"
    seen = [{colour} for colour in colours]
    edges = asked[1 + 3 * size :]
    for one, other in zip(edges[::2], edges[1::2], strict=True):
        for vertex, neighbour in ((one - 1, other - 1), (other - 1, one - 1)):
            if colours[neighbour] in seen[vertex]:
                return "three vertices of a path have not three colours"
            seen[vertex].add(colours[neighbour])
    return True
