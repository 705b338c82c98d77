"""Right is any simple cycle of more than k nodes."""

from __future__ import annotations


def check(input: str, output: str, _expected: str) -> bool | str:
    size, _, least, *ends = map(int, input.split())
    length, *cycle = map(int, output.split())
    if length <= least or len(cycle) != length:
        return f"not a cycle of more than {least} nodes"
    if len(set(cycle)) != length:
        return "a node that comes twice"
    if min(cycle) < 1 or max(cycle) > size:
        return "a node that is none"
    edges = {frozenset(edge) for edge in zip(ends[::2], ends[1::2], strict=True)}
    for at, node in enumerate(cycle):
        if frozenset((node, cycle[at - 1])) not in edges:
            return f"{cycle[at - 1]} and {node} are not connected"
    return True
