"""Right is any row of weights, no two in sequence equal, each of which makes its pan outweigh the other, or NO."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    kinds, count = input.split()
    available = {kilos for kilos, has in enumerate(kinds, 1) if has == "1"}
    if expected.split() == ["NO"]:
        return output.split() == ["NO"]
    word, *rest = output.split()
    weights = list(map(int, rest))
    if word != "YES" or len(weights) != int(count):
        return f"not YES and {count} weights"
    if not set(weights) <= available:
        return "a weight that Xenia has not"
    lead = last = 0
    for weight in weights:
        if weight == last:
            return "two weights in sequence are equal"
        lead, last = weight - lead, weight
        if lead <= 0:
            return "a pan that does not outweigh the other"
    return True
