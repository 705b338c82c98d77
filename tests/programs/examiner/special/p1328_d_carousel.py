"""Right are the fewest colours, so spread that neighbours of different types never share one."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    asked, given, wanted = iter(input.split()), iter(output.split()), iter(expected.split())
    for _ in range(int(next(asked))):
        size = int(next(asked))
        types = [next(asked) for _ in range(size)]
        most, *colours = [int(next(given)) for _ in range(size + 1)]
        least, *_ = [int(next(wanted)) for _ in range(size + 1)]
        if most != least:
            return f"{most} colours where the fewest are {least}"
        if not all(1 <= colour <= most for colour in colours):
            return "a colour that is none"
        for at in range(size):
            if types[at] != types[at - 1] and colours[at] == colours[at - 1]:
                return "two neighbours of different types have one colour"
    return next(given, None) is None
