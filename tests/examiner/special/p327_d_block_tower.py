"""Right are operations that each can be done and that lead to the largest population."""

from __future__ import annotations

POPULATION = {"B": 100, "R": 200}


def check(input: str, output: str, expected: str) -> bool | str:
    rows = input.split()[2:]
    grid = {(x, y): cell for x, row in enumerate(rows, 1) for y, cell in enumerate(row, 1)}
    empty = {place for place, cell in grid.items() if cell == "."}
    reached = _population(empty, output.split())
    if reached is None:
        return "an operation that cannot be done"
    return reached == _population(empty, expected.split()) or "not the largest population"


def _population(empty: set[tuple[int, int]], words: list[str]) -> int | None:
    towers: dict[tuple[int, int], str] = {}
    kinds, rows, columns = words[1::3], words[2::3], words[3::3]
    if int(words[0]) != len(kinds) or len(kinds) > 10**6:
        return None
    for kind, row, column in zip(kinds, rows, columns, strict=True):
        x, y = place = int(row), int(column)
        if kind == "D":
            if towers.pop(place, None) is None:
                return None
            continue
        beside = [towers.get(near) for near in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1))]
        if kind not in POPULATION or place not in empty or place in towers:
            return None
        if kind == "R" and "B" not in beside:
            return None
        towers[place] = kind
    return sum(POPULATION[kind] for kind in towers.values())
