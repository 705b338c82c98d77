"""Checkers of our own for problems that have several right answers, by a part of the problem's id."""

from __future__ import annotations

CAROUSEL = """
def check(input, output, expected):
    asked, given, wanted = iter(input.split()), iter(output.split()), iter(expected.split())
    for _ in range(int(next(asked))):
        size = int(next(asked))
        figures = [next(asked) for _ in range(size)]
        most, least = int(next(given)), int(next(wanted))
        colours = [int(next(given)) for _ in range(size)]
        [next(wanted) for _ in range(size)]
        if most != least:
            return f"{most} colours where {least} are enough"
        if not all(1 <= colour <= most for colour in colours):
            return "a colour that is none"
        for at in range(size):
            if figures[at] != figures[at - 1] and colours[at] == colours[at - 1]:
                return f"figures {at} and {at + 1} differ and have one colour"
    return next(given, None) is None
"""
SEQUENCE = """
from math import prod

def check(input, output, expected):
    asked = input.split()[1:]
    given, wanted = output.strip().splitlines(), expected.strip().splitlines()
    if len(given) != len(wanted):
        return f"{len(given)} lines instead of {len(wanted)}"
    for at, number in enumerate(map(int, asked)):
        if int(given[2 * at]) != int(wanted[2 * at]):
            return "not the longest"
        sequence = list(map(int, given[2 * at + 1].split()))
        if len(sequence) != int(given[2 * at]) or prod(sequence) != number or min(sequence) < 2:
            return "not a product of that length"
        if any(after % before for before, after in zip(sequence, sequence[1:])):
            return "one does not divide the next"
    return True
"""
PERMUTATION = """
def check(input, output, expected):
    last = int(input)
    beauty, *given = map(int, output.split())
    if sorted(given) != list(range(last + 1)):
        return "not a permutation"
    reached = sum(at ^ each for at, each in enumerate(given))
    return beauty == reached == int(expected.split()[0])
"""
DIVIDING = """
def check(input, output, expected):
    last = int(input)
    difference, size, *group = map(int, output.split())
    if difference != int(expected.split()[0]):
        return "not the smallest difference"
    if size != len(group) or len(set(group)) != size or not set(group) <= set(range(1, last + 1)):
        return "not a group of these numbers"
    return 0 < size < last and abs(last * (last + 1) // 2 - 2 * sum(group)) == difference
"""
CHECKERS = {
    "1328_d_carousel": CAROUSEL,
    "1454_d_number_into_sequence": SEQUENCE,
    "288_c_polo": PERMUTATION,
    "899_c_dividing": DIVIDING,
}
