"""The expected number of tosses as an irreducible fraction: one is right."""

from __future__ import annotations


def check(_input: str, output: str, expected: str) -> bool | str:
    """The fraction is the one recorded, in lowest terms."""
    given, wanted = output.split(), expected.split()
    if len(given) != len(wanted):
        return f"{len(given)} words instead of {len(wanted)}"
    return given == wanted
