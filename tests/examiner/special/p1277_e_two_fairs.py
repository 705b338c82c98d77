"""How many pairs of cities lie behind both fairs: one number for each map is right."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    """Every number is the one recorded."""
    given, wanted = output.split(), expected.split()
    if len(given) != len(wanted):
        return f"{len(given)} answers instead of {len(wanted)}"
    for number, (said, right) in enumerate(zip(given, wanted, strict=True), 1):
        if said != right:
            return f"wrong for map {number}"
    return True
