"""Which of several programs to deliver, by what they do on inputs whose answers nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from autoreason.assignment import Observation, Observed

LEAD: Final = 2
"""By how many attempts a group must lead before further ones are hardly worth their calls."""

Behaviour = tuple[Observation, ...]


class Group(Struct, frozen=True):
    """Programs that behave alike."""

    members: tuple[int, ...]
    """Their places among all, the earliest first."""

    @property
    def size(self) -> int:
        """How many attempts ended here; the same program written twice counts twice."""
        return len(self.members)


class Choice(Struct, frozen=True):
    """The program to deliver, and how well founded that is."""

    index: int
    groups: tuple[Group, ...]
    """The one that the program is of first, then the largest."""
    clear: bool
    """Whether the attempts that are left are unlikely to change it."""


def group(programs: Sequence[str], observed: Sequence[Observed]) -> tuple[Group, ...]:
    """Programs that did the same on every input that says something, the largest group first, then the earliest."""
    behaviours = _telling(_steady(programs, observed))
    found: dict[Behaviour, list[int]] = {}
    for place, behaviour in enumerate(behaviours):
        found.setdefault(behaviour, []).append(place)
    return tuple(
        sorted((Group(tuple(each)) for each in found.values()), key=lambda each: -each.size)
    )


def choose(
    programs: Sequence[str],
    observed: Sequence[Observed],
    others: Sequence[Observed] = (),
    *,
    left: int = 0,
) -> Choice:
    """The program with which attempts agree most, input by input; the earliest among equals.

    `others` cannot be chosen, because they fail public tests, but they agree or not like the rest. `left` is how many
    more attempts there could be.
    """
    candidates = _steady(programs, observed)
    voters = [*candidates, *(each.observations for each in others)]
    telling = _telling_inputs(candidates)
    support = [sum(_agreement(each, voter, telling) for voter in voters) for each in candidates]
    index = max(range(len(support)), key=lambda place: (round(support[place], 6), -place))
    groups = sorted(group(programs, observed), key=lambda each: index not in each.members)
    ahead = groups[0].size - max((each.size for each in groups[1:]), default=0)
    return Choice(index, tuple(groups), clear=ahead >= min(LEAD, left + 1))


def _steady(programs: Sequence[str], observed: Sequence[Observed]) -> list[Behaviour]:
    """What each program did; the same program the same, although it may have been out of time only once."""
    first: dict[str, Behaviour] = {}
    pairs = zip(programs, observed, strict=True)
    return [first.setdefault(program, each.observations) for program, each in pairs]


def _telling_inputs(behaviours: Sequence[Behaviour]) -> list[int]:
    """Inputs that say something: where most programs fail, the input is at fault more likely than they are."""
    every = range(len(behaviours[0]))
    told = [
        place
        for place in every
        if 2 * sum(bool(each[place].failure) for each in behaviours) <= len(behaviours)
    ]
    return told or list(every)


def _telling(behaviours: Sequence[Behaviour]) -> list[Behaviour]:
    told = _telling_inputs(behaviours) if behaviours else []
    return [tuple(each[place] for place in told) for each in behaviours]


def _agreement(one: Behaviour, other: Behaviour, inputs: Sequence[int]) -> float:
    """The share of inputs on which both give the same answer; a failure is none."""
    if not inputs:
        return 1.0
    same = sum(one[place] == other[place] and not one[place].failure for place in inputs)
    return same / len(inputs)
