"""Inputs made from a problem's own examples, to see what programs do where nobody knows the right answer."""

from __future__ import annotations

from autoreason.assignment import Assignment, Input


def make_inputs(assignment: Assignment, seed: int, count: int = 40) -> tuple[Input, ...]:
    """Inputs like those of the public tests; none where nothing is known of what goes in."""
    return ()
