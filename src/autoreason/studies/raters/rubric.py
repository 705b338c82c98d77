"""What people are asked about each text."""

from __future__ import annotations

from typing import NamedTuple

LOWEST, HIGHEST = 1, 5
SCORES = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"}


class RubricLine(NamedTuple):
    """One thing to rate."""

    name: str
    question: str


RUBRIC = (
    RubricLine("clarity", "Can you follow it at first reading?"),
    RubricLine("usefulness", "Does it do what the task asks, for the person who asked?"),
    RubricLine("correctness", "Is what it says right, as far as you can tell?"),
    RubricLine("concision", "Does it say what it has to say without waste?"),
    RubricLine("overall", "All in all, how good is this text?"),
)
LINES = tuple(line.name for line in RUBRIC)
