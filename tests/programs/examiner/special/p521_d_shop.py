"""Improvements, in the order of their use, that make the product of all skills as large as can be."""

from __future__ import annotations

# The product may have millions of digits; equal remainders by a prime as large as this mean equal products.
PRIME = 2**521 - 1


def product(skills: list[int], uses: list[tuple[int, int, int]]) -> int:
    """What the skills multiply to after these improvements, up to a multiple of the prime."""
    raised = list(skills)
    for kind, skill, value in uses:
        before = raised[skill - 1]
        raised[skill - 1] = (value, before + value, before * value % PRIME)[kind - 1]
    result = 1
    for skill in raised:
        result = result * skill % PRIME
    return result


def check(input: str, output: str, expected: str) -> bool | str:
    """No more than can be paid for, none twice, and the product is the one the recorded choice reaches."""
    count, offered, most, *numbers = map(int, input.split())
    skills, rest = numbers[:count], numbers[count:]
    offers = list(zip(rest[::3], rest[1::3], rest[2::3], strict=True))
    announced, *chosen = map(int, output.split())
    if announced != len(chosen) or announced > most:
        return f"{len(chosen)} improvements where {announced} are announced and {most} allowed"
    if len(set(chosen)) != len(chosen) or not all(1 <= each <= offered for each in chosen):
        return "an improvement that is used twice or not on sale"
    best = map(int, expected.split()[1:])
    reached = product(skills, [offers[each - 1] for each in chosen])
    return reached == product(skills, [offers[each - 1] for each in best])
