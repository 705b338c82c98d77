"""Sums and xors of numbers on the blackboard that lead to 1."""

from __future__ import annotations

MOST = 100_000
LARGEST = 5 * 10**18


def check(input: str, output: str, _expected: str) -> bool | str:
    """Every operation takes numbers that stand on the blackboard, and in the end 1 is one of them."""
    announced, *steps = output.split() or ["none"]
    if int(announced) > MOST or len(steps) != 3 * int(announced):
        return f"{announced} operations cannot be {len(steps)} words"
    blackboard = {int(input)}
    for left, sign, right in zip(steps[::3], steps[1::3], steps[2::3], strict=True):
        one, other = int(left), int(right)
        if sign not in ("+", "^"):
            return f"{sign} is not an operation"
        if not {one, other} <= blackboard:
            return f"{left} {sign} {right} takes a number that was not written"
        written = one + other if sign == "+" else one ^ other
        if written > LARGEST:
            return f"{written} is too large"
        blackboard.add(written)
    return 1 in blackboard
