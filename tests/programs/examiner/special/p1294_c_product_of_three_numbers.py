"""Three distinct factors of each number, all over 1, or NO where there are none."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    """The words are those recorded, and after each YES three distinct numbers have the right product."""
    given, wanted = iter(output.split()), iter(expected.split())
    for number in map(int, input.split()[1:]):
        word, right = next(given, ""), next(wanted)
        if word != right:
            return f"{word or 'nothing'} for {number}"
        if word == "NO":
            continue
        factors = [int(next(given, 0)) for _ in range(3)]
        for _ in range(3):
            next(wanted)
        first, second, third = factors
        if min(factors) < 2 or len(set(factors)) < 3 or first * second * third != number:
            return f"{number} is not the product of {factors}"
    return next(given, None) is None
