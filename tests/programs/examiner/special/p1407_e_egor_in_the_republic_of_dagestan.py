"""Right is any schedule under which the shortest safe path is as long as it can be made, or there is none at all."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    cities, count, *rest = map(int, input.split())
    roads = rest[: 3 * count]
    length, schedule = output.split()
    longest = int(expected.split()[0])
    if int(length) != longest:
        return f"the greatest length is not {length}"
    if len(schedule) != cities or not set(schedule) <= {"0", "1"}:
        return f"not a schedule of {cities} cities"
    safe: list[list[int]] = [[] for _ in range(cities + 1)]
    for start, end, time in zip(roads[::3], roads[1::3], roads[2::3], strict=True):
        if int(schedule[start - 1]) == time:
            safe[start].append(end)
    distances = {1: 0}
    queue = [1]
    for city in queue:
        for following in safe[city]:
            if following not in distances:
                distances[following] = distances[city] + 1
                queue.append(following)
    reached = distances.get(cities, -1)
    return reached == longest or f"with this schedule the length is {reached}"
