"""Chooses among programs by what they do on inputs without known answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from autoreason.programs.assignment import Observation, Observed

LEAD: Final = 3
"""The lead, in attempts, beyond which further attempts are hardly worth their calls."""

Behaviour = tuple[Observation, ...]


class Group(Struct, frozen=True):
    """Programs that behave alike."""

    members: tuple[int, ...]
    """Their places among all, the earliest first."""

    @property
    def size(self) -> int:
        """How many attempts behave so; the same program written twice counts twice."""
        return len(self.members)


class Choice(Struct, frozen=True):
    """The program to deliver, and how clear the choice is."""

    index: int
    groups: tuple[Group, ...]
    """The group of the program first, then the largest."""
    clear: bool
    """Whether the attempts that are left are unlikely to change it."""


def group(programs: Sequence[str], observed: Sequence[Observed]) -> tuple[Group, ...]:
    """Group programs that did the same on every informative input, the largest group first, then the earliest.

    Where no input is informative, only identical programs are known to do the same.
    """
    behaviours = _behaviours(programs, observed)
    informative = _informative_inputs(behaviours)
    members: dict[Behaviour | str, list[int]] = {}
    for place, behaviour in enumerate(behaviours):
        results = tuple(behaviour[each] for each in informative)
        members.setdefault(results or programs[place], []).append(place)
    groups = (Group(tuple(each)) for each in members.values())
    return tuple(sorted(groups, key=lambda each: -each.size))


def choose(
    programs: Sequence[str],
    observed: Sequence[Observed],
    others: Sequence[Observed] = (),
    *,
    left: int = 0,
) -> Choice:
    """Choose the program with which all attempts agree most, input by input; the earliest among equals.

    `others` cannot be chosen, because they fail public tests, but their agreement counts like that of the rest.
    `left` is how many more attempts there could be.
    """
    candidates = _behaviours(programs, observed)
    informative = _informative_inputs(candidates)
    voters = [*candidates, *(each.observations for each in others)]
    support = [
        sum(_count_agreements(each, voter, informative) for voter in voters) for each in candidates
    ]
    index = support.index(max(support))
    groups = sorted(group(programs, observed), key=lambda each: index not in each.members)
    lead = groups[0].size - max((each.size for each in groups[1:]), default=0)
    return Choice(index, tuple(groups), clear=lead >= min(LEAD, left + 1))


def _behaviours(programs: Sequence[str], observed: Sequence[Observed]) -> list[Behaviour]:
    """What each program did; the same for identical programs, although one may have run out of time only once."""
    first: dict[str, Behaviour] = {}
    pairs = zip(programs, observed, strict=True)
    return [first.setdefault(program, each.observations) for program, each in pairs]


def _informative_inputs(behaviours: Sequence[Behaviour]) -> list[int]:
    """Informative inputs: where most programs fail, the input is more likely wrong than they are.

    A program that fails on all of them is wrong itself, and says nothing about any input.
    """
    every = range(len(behaviours[0]))
    working = [each for each in behaviours if not all(results.failure for results in each)]
    failed = [sum(bool(each[place].failure) for each in working) for place in every]
    return [place for place in every if working and 2 * failed[place] <= len(working)]


def _count_agreements(one: Behaviour, other: Behaviour, inputs: Sequence[int]) -> int:
    """On how many inputs both give the same answer; a failure is none."""
    return sum(one[each] == other[each] and not one[each].failure for each in inputs)
