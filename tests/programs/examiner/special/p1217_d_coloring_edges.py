"""Edges in as few colours as can be, so that no cycle has one colour."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter


def check(input: str, output: str, expected: str) -> bool | str:
    """There are as many colours as recorded, and the edges of each can be put in order."""
    _, size, *ends = map(int, input.split())
    most, *colours = map(int, output.split())
    if most != int(expected.split()[0]):
        return "not the fewest colours"
    if len(colours) != size:
        return f"{len(colours)} colours for {size} edges"
    sorters = {colour: TopologicalSorter[int]() for colour in range(1, most + 1)}
    for source, target, colour in zip(ends[::2], ends[1::2], colours, strict=True):
        if colour not in sorters:
            return f"{colour} is not a colour"
        sorters[colour].add(target, source)
    try:
        for sorter in sorters.values():
            sorter.prepare()
    except CycleError:
        return "a cycle has one colour"
    return True
