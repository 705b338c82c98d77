"""Right is a list on which everybody's first ancestor is the one he wishes, or -1 where there is none."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    men, relations, *numbers = map(int, input.split())
    wishes = [0, *numbers[2 * relations :]]
    length, *listed = map(int, output.split())
    if (length == -1) != (expected.split() == ["-1"]):
        return "wrong about whether there is such a list"
    if length == -1:
        return not listed
    places = {man: place for place, man in enumerate(listed)}
    if not len(listed) == len(places) == length or not set(places) <= set(range(1, men + 1)):
        return "not a list of different men"
    sons: list[list[int]] = [[] for _ in range(men + 1)]
    for father, son in zip(
        numbers[: 2 * relations : 2], numbers[1 : 2 * relations : 2], strict=True
    ):
        sons[father].append(son)
    eldest = set(range(1, men + 1)).difference(*sons)
    ahead = [(man, 0) for man in eldest]
    while ahead:
        man, chosen = ahead.pop()
        if places.get(man, men) < places.get(chosen, men):
            chosen = man
        if chosen != wishes[man]:
            return "somebody gives his gift to another than he wishes"
        ahead += [(son, chosen) for son in sons[man]]
    return True
