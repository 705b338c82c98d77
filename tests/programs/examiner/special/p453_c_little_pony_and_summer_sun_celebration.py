"""Right is any walk of at most 4n places that visits each an odd or even number of times as asked, or -1."""

from __future__ import annotations

from itertools import pairwise


def check(input: str, output: str, expected: str) -> bool | str:
    asked = list(map(int, input.split()))
    places, roads = asked[:2]
    ends, parities = asked[2 : 2 + 2 * roads], asked[2 + 2 * roads :]
    length, *walk = map(int, output.split())
    if expected.split() == ["-1"] or length == -1:
        return output.split() == expected.split()
    if length != len(walk) or length > 4 * places:
        return f"not a walk of at most {4 * places} places"
    visits = [0] * places
    for place in walk:
        if not 1 <= place <= places:
            return f"{place} is not a place"
        visits[place - 1] ^= 1
    if visits != parities:
        return "a place visited an odd number of times and not an even one, or the reverse"
    joined = {frozenset(road) for road in zip(ends[::2], ends[1::2], strict=True)}
    for before, after in pairwise(walk):
        if frozenset((before, after)) not in joined:
            return f"there is no road between {before} and {after}"
    return True
