"""Right are any operations, at most as many as elements, after which all are equal, or NO where there are none."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    size, *array = map(int, input.split())
    if expected.split() == ["NO"]:
        return output.split() == ["NO"]
    word, *rest = output.split()
    count, *chosen = map(int, rest)
    if word != "YES" or not 0 <= count <= size or len(chosen) != 3 * count:
        return f"not YES and at most {size} operations"
    if any(not 1 <= index <= size for index in chosen):
        return "an index that is none"
    for one, two, three in zip(chosen[::3], chosen[1::3], chosen[2::3], strict=True):
        if one in (two, three) or two == three:
            return "indices of an operation that are not distinct"
        changed = array[one - 1] ^ array[two - 1] ^ array[three - 1]
        array[one - 1] = array[two - 1] = array[three - 1] = changed
    return len(set(array)) == 1 or "not all elements become equal"
