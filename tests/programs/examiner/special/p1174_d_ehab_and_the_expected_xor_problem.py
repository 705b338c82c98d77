"""An array as long as can be in which no segment has the xor 0 or x."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    """It is as long as the recorded one, and no two xors of its beginnings are equal or x apart."""
    bits, forbidden = map(int, input.split())
    length, *array = map(int, output.split())
    if length != len(array):
        return f"{len(array)} elements where {length} were announced"
    if length != int(expected.split()[0]):
        return "not the longest"
    reached, seen = 0, {0}
    for element in array:
        if not 1 <= element < 1 << bits:
            return f"{element} is out of range"
        reached ^= element
        if reached in seen or reached ^ forbidden in seen:
            return f"a segment has the xor 0 or {forbidden}"
        seen.add(reached)
    return True
