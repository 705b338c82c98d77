"""Which of several programs to deliver, by what they do on inputs whose answers nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autoreason.assignment import Observation, Observed


class Group(NamedTuple):
    """Programs that behave alike."""

    members: tuple[int, ...]
    """Their places among all, the earliest first."""

    @property
    def size(self) -> int:
        """How many attempts ended here; the same program written twice counts twice."""
        return len(self.members)


class Choice(NamedTuple):
    """The program to deliver, and how well founded that is."""

    index: int
    groups: tuple[Group, ...]
    """The leading one first."""
    clear: bool
    """Whether the attempts that are left are unlikely to change it."""


def group(programs: Sequence[str], observed: Sequence[Observed]) -> tuple[Group, ...]:
    """Programs that did the same on every input, the largest group first, the earliest among equals."""
    found: dict[tuple[Observation, ...], list[int]] = {}
    for index, each in enumerate(observed):
        found.setdefault(each.observations, []).append(index)
    return tuple(sorted((Group(tuple(each)) for each in found.values()), key=lambda g: -g.size))


def choose(programs: Sequence[str], observed: Sequence[Observed], *, left: int = 0) -> Choice:
    """The program to deliver of those that pass; `left` is how many more attempts there could be."""
    groups = group(programs, observed)
    first = groups[0].size
    second = groups[1].size if len(groups) > 1 else 0
    leading = [each for each in groups if each.size == first]
    best = min(leading, key=lambda each: min(len(programs[n]) for n in each.members))
    index = min(best.members, key=lambda n: (len(programs[n]), n))
    return Choice(index, groups, clear=first > second + left)
