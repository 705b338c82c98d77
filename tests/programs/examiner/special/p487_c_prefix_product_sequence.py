"""A permutation whose products of beginnings leave every remainder once, or NO."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    """The word is the one recorded; after YES no number and no remainder is missing."""
    size = int(input)
    word, *sequence = output.split() or [""]
    if word != expected.split()[0]:
        return f"not {word or 'nothing'}"
    if word == "NO":
        return not sequence
    numbers = list(map(int, sequence))
    if sorted(numbers) != list(range(1, size + 1)):
        return "not a permutation"
    product, remainders = 1, set()
    for number in numbers:
        product = product * number % size
        remainders.add(product)
    return len(remainders) == size or "a remainder comes twice"
