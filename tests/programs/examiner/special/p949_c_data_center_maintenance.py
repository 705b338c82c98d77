"""Right are any fewest data centers whose shift leaves no client with both copies in maintenance at one hour."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    centers, _, day, *rest = map(int, input.split())
    hours, clients = rest[:centers], rest[centers:]
    count, *shifted = map(int, output.split())
    if count != int(expected.split()[0]):
        return f"the fewest data centers are not {count}"
    if len(shifted) != count or len(set(shifted)) != count:
        return f"not {count} different data centers"
    for center in shifted:
        if not 1 <= center <= centers:
            return f"{center} is not a data center"
        hours[center - 1] = (hours[center - 1] + 1) % day
    for one, other in zip(clients[::2], clients[1::2], strict=True):
        if hours[one - 1] == hours[other - 1]:
            return f"data centers {one} and {other} hold the data of a client and share an hour"
    return True
