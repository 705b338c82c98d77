"""Right are operations that each can be done and that lead to the largest population."""

from __future__ import annotations

POPULATION = {"B": 100, "R": 200, "D": 0}


def check(input: str, output: str, expected: str) -> bool | str:
    rows = enumerate(input.split()[2:], 1)
    empty = {(x, y) for x, row in rows for y, cell in enumerate(row, 1) if cell == "."}
    towers = dict.fromkeys(empty, "D")
    operations = _operations(output)
    if len(operations) > 10**6:
        return "too many operations"
    for kind, x, y in operations:
        # A cell is built on when it is empty, and destroyed when it is not.
        if (x, y) not in empty or (kind == "D") == (towers[x, y] == "D"):
            return "an operation that cannot be done"
        if kind == "R" and "B" not in (
            towers.get(near) for near in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1))
        ):
            return "a red tower without a blue one beside it"
        towers[x, y] = kind
    largest = {(x, y): POPULATION[kind] for kind, x, y in _operations(expected)}
    reached = sum(POPULATION[kind] for kind in towers.values())
    return reached == sum(largest.values()) or "not the largest population"


def _operations(text: str) -> list[tuple[str, int, int]]:
    size, *words = text.split()
    operations = list(zip(words[::3], map(int, words[1::3]), map(int, words[2::3]), strict=True))
    if len(operations) != int(size) or not {kind for kind, _, _ in operations} <= set(POPULATION):
        raise ValueError("not so many operations as told, or one of no kind")
    return operations
