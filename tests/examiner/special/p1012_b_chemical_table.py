"""How many elements must be bought: one number is right."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    """The number is the one recorded."""
    given, wanted = output.split(), expected.split()
    if len(given) != len(wanted):
        return f"{len(given)} words instead of {len(wanted)}"
    return given == wanted
