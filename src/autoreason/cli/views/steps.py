"""What is under way in a run, as views show it: calls, and the steps they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from autoreason.keys import PASS, Key, pass_key

State = Literal["waiting", "working", "done", "failed"]
_CHARACTERS_PER_TOKEN = 4
"""Good enough to show that something moves; what counts is what the provider reports."""


@dataclass
class Call:
    """One request under way, or one query that takes a while."""

    key: str
    role: str
    """What a model is asked to be, or the kind of the query."""
    model: str
    """Empty where no model is asked."""
    since: float
    characters: int = 0
    tail: str = ""
    trouble: str = ""

    @property
    def stage(self) -> str:
        """`draft`, `pass/3` or `playoff`."""
        key = Key.parse(self.key)
        number = key.number(PASS) if key.head == PASS else None
        return key.head if number is None else pass_key(number)

    @property
    def within(self) -> str:
        """What is done within a part: `pass 3 critic`, `judge`."""
        number = Key.parse(self.key).number("pass")
        return self.role if number is None else f"pass {number} {self.role}"

    @property
    def seat(self) -> int | None:
        """The judge's seat."""
        return Key.parse(self.key).number("judge")

    @property
    def slot(self) -> str | None:
        """The revision it is for, where several models revise."""
        number = Key.parse(self.key).number("reviser")
        return None if number is None else f"B{number}"

    @property
    def tokens(self) -> int:
        """About how many tokens have arrived."""
        return self.characters // _CHARACTERS_PER_TOKEN


@dataclass
class Step:
    """What one role, one judge or one part does in the present stage."""

    name: str
    state: State
    text: str = ""
    calls: list[Call] = field(default_factory=list)
