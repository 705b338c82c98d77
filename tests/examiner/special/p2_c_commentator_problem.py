"""The point that sees three stadiums best, to five digits; nothing where there is none."""

from __future__ import annotations

from decimal import Decimal

ERROR = Decimal("0.00001")


def check(_input: str, output: str, expected: str) -> bool | str:
    """Each coordinate is the recorded one but for its fifth digit, and nothing is printed for no point."""
    point, best = output.split(), expected.split()
    if len(point) != len(best):
        return f"{len(point)} coordinates instead of {len(best)}"
    for given, wanted in zip(point, best, strict=True):
        if abs(Decimal(given) - Decimal(wanted)) > ERROR:
            return "not the best point"
    return True
