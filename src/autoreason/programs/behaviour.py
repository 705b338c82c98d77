"""Which of several programs to deliver, by what they do on inputs whose answers nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from autoreason.assignment import Observation, Observed

LEAD: Final = 3
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
    """Programs that did the same on every input that says something, the largest group first, then the earliest.

    Where no input says anything, nobody knows that two programs do the same unless they are the same.
    """
    behaviours = _behaviours(programs, observed)
    telling = _telling(behaviours)
    found: dict[Behaviour | str, list[int]] = {}
    for place, behaviour in enumerate(behaviours):
        did = tuple(behaviour[each] for each in telling)
        found.setdefault(did or programs[place], []).append(place)
    groups = (Group(tuple(each)) for each in found.values())
    return tuple(sorted(groups, key=lambda each: -each.size))


def choose(
    programs: Sequence[str],
    observed: Sequence[Observed],
    others: Sequence[Observed] = (),
    *,
    left: int = 0,
) -> Choice:
    """The program with which all attempts agree most, input by input; the earliest among equals.

    `others` cannot be chosen, because they fail public tests, but they agree with a program or do not, like the rest.
    `left` is how many more attempts there could be.
    """
    candidates = _behaviours(programs, observed)
    telling = _telling(candidates)
    voters = [*candidates, *(each.observations for each in others)]
    support = [sum(_agreeing(each, voter, telling) for voter in voters) for each in candidates]
    index = support.index(max(support))
    groups = sorted(group(programs, observed), key=lambda each: index not in each.members)
    ahead = groups[0].size - max((each.size for each in groups[1:]), default=0)
    return Choice(index, tuple(groups), clear=ahead >= min(LEAD, left + 1))


def _behaviours(programs: Sequence[str], observed: Sequence[Observed]) -> list[Behaviour]:
    """What each program did; the same program the same, although it may have run out of time only once."""
    first: dict[str, Behaviour] = {}
    pairs = zip(programs, observed, strict=True)
    return [first.setdefault(program, each.observations) for program, each in pairs]


def _telling(behaviours: Sequence[Behaviour]) -> list[int]:
    """Inputs that say something: where most programs fail, the input is more likely at fault than they are.

    A program that fails on all of them is at fault itself, and says nothing of any input.
    """
    every = range(len(behaviours[0]))
    working = [each for each in behaviours if not all(did.failure for did in each)]
    failed = [sum(bool(each[place].failure) for each in working) for place in every]
    return [place for place in every if working and 2 * failed[place] <= len(working)]


def _agreeing(one: Behaviour, other: Behaviour, inputs: Sequence[int]) -> int:
    """On how many inputs both give the same answer; a failure is none."""
    return sum(one[each] == other[each] and not one[each].failure for each in inputs)
