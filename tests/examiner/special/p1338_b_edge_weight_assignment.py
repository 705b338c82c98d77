"""The fewest and the most distinct weights: one pair is right."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    """Both numbers are those recorded, in that order."""
    given, wanted = output.split(), expected.split()
    if len(given) != len(wanted):
        return f"{len(given)} words instead of {len(wanted)}"
    return given == wanted
