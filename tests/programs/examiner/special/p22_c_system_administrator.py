"""Right are so many connections that join all servers, but not without the one that fails; or -1."""

from __future__ import annotations

_HOLDS = "the others stay connected when that server fails"


def check(input: str, output: str, expected: str) -> bool | str:
    servers, size, failing = map(int, input.split())
    ends = list(map(int, output.split()))
    if (ends == [-1]) != (expected.split() == ["-1"]):
        return "wrong about whether it is possible"
    if ends == [-1]:
        return True
    links = {(min(link), max(link)) for link in zip(*[iter(ends)] * 2, strict=True)}
    if len(ends) != 2 * size or len(links) != size:
        return f"not {size} different connections"
    if not all(1 <= lower < upper <= servers for lower, upper in links):
        return "a connection that joins no two servers"
    if _reached(servers, links) != servers:
        return "not all servers are connected"
    left = {link for link in links if failing not in link}
    return _reached(servers, left, failing % servers + 1) < servers - 1 or _HOLDS


def _reached(servers: int, links: set[tuple[int, int]], start: int = 1) -> int:
    near: list[list[int]] = [[] for _ in range(servers + 1)]
    for lower, upper in links:
        near[lower].append(upper)
        near[upper].append(lower)
    reached, ahead = {start}, [start]
    while ahead:
        new = [server for server in near[ahead.pop()] if server not in reached]
        reached.update(new)
        ahead.extend(new)
    return len(reached)
