"""Right is the winner, with any first move to a product of two primes, or 0 where the first player cannot move."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    number = int(input)
    given, wanted = list(map(int, output.split())), list(map(int, expected.split()))
    if len(given) != len(wanted) or given[0] != wanted[0]:
        return "not this winner, or not one move for the first player and none for the second"
    if given == wanted:
        return True
    move = given[1]
    if wanted[1] == 0 or not 1 < move < number or number % move:
        return f"{move} is not a move"
    prime = _smallest_divisor(move)
    rest = move // prime
    if rest == 1 or _smallest_divisor(rest) != rest:
        return f"after {move} the second player wins"
    return True


def _smallest_divisor(number: int) -> int:
    """The smallest divisor over 1, which is a prime."""
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            return divisor
        divisor += 1
    return number
