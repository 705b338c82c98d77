"""Right is any list of at most n cities that leaves every road asphalted, or Impossible where there is none."""

from __future__ import annotations

from collections import Counter


def check(input: str, output: str, expected: str) -> bool | str:
    size, _, *roads = map(int, input.split())
    if expected.split() == ["Impossible"]:
        return output.split() == ["Impossible"]
    days, *cities = map(int, output.split())
    if not 0 <= days <= size or len(cities) != days:
        return f"not at most {size} days and a city for each"
    if any(not 1 <= city <= size for city in cities):
        return "a city that is none"
    visits = Counter(cities)
    for one, other, asphalted in zip(roads[::3], roads[1::3], roads[2::3], strict=True):
        if (asphalted + visits[one] + visits[other]) % 2 == 0:
            return f"the road from {one} to {other} ends without asphalt"
    return True
