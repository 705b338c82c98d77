"""Rankings as choices, one after another, from what is left: the likelihood behind every rating.

The model is that of Davidson and Luce (Firth, Kosmidis and Turner 2019): from what is left, a group S
comes next with weight d(|S|) times the geometric mean of its members' strengths, d(1) = 1. Without
ties it is the model of Plackett (1975) and Luce (1959), on pairs that of Bradley and Terry (1952),
on pairs with ties that of Davidson (1970).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[Any]
Group = tuple[int, ...]

_COUNTABLE = 200_000


class NoFit(Exception):
    """The data do not fix the ratings; the message says why."""


@dataclass(frozen=True)
class Choices:
    """Every choice made: per set of what was left, all groups that could have come next.

    A row of `options` says what a group's log weight is made of: a share of each member's log
    strength, then the log of d for its size. Rows of one set stand together, from `starts` on.
    """

    things: int
    sizes: tuple[int, ...]
    """Sizes of ties that occur, 2 or more."""
    options: Array
    starts: NDArray[np.intp]
    times: Array
    """How often each set was chosen from."""
    taken: Array
    """How often each option was chosen."""

    def log_likelihood(self, values: Array) -> float:
        """Of these log strengths and log weights of ties."""
        weights = self.options @ values
        return float(self.taken @ weights - self.times @ self._log_totals(weights))

    def slope(self, values: Array) -> tuple[Array, Array]:
        """The gradient of the log-likelihood, and the information: its curvature with the sign turned."""
        weights = self.options @ values
        each = self._of_set()
        chances = np.exp(weights - self._log_totals(weights)[each])
        expected = np.add.reduceat(chances[:, None] * self.options, self.starts)
        gradient = self.taken @ self.options - self.times @ expected
        inner = (self.options * (chances * self.times[each])[:, None]).T @ self.options
        return gradient, inner - (expected * self.times[:, None]).T @ expected

    def margins(self) -> Array:
        """What was chosen less what could have been, for every choice that occurs."""
        each = self._of_set()
        chosen = np.flatnonzero(self.taken)
        rows = [self.options[at] - self.options[each == each[at]] for at in chosen]
        return np.concatenate(rows)

    def _of_set(self) -> NDArray[np.intp]:
        sizes = np.diff([*self.starts, len(self.options)])
        return np.repeat(np.arange(len(self.starts)), sizes)

    def _log_totals(self, weights: Array) -> Array:
        highest = np.maximum.reduceat(weights, self.starts)
        shifted = np.exp(weights - highest[self._of_set()])
        return np.asarray(highest + np.log(np.add.reduceat(shifted, self.starts)), dtype=float)


def choices_in(rankings: Sequence[Sequence[Group]], things: int) -> Choices:
    """The choices that rankings consist of; a choice from one thing left is none."""
    chosen: defaultdict[Group, Counter[Group]] = defaultdict(Counter)
    for ranking in rankings:
        left = tuple(sorted(thing for group in ranking for thing in group))
        for group in ranking:
            if len(left) > 1:
                chosen[left][tuple(sorted(group))] += 1
            left = tuple(thing for thing in left if thing not in group)
    sizes = tuple(sorted({len(group) for groups in chosen.values() for group in groups} - {1}))
    if sum(comb(len(left), size) for left in chosen for size in (1, *sizes)) > _COUNTABLE:
        raise NoFit("ties among so many things make too many possible groups to count")
    return _as_matrix(chosen, things, sizes)


def fit(choices: Choices, ridge: float) -> tuple[Array, Array]:
    """The likeliest values, log strengths adding up to 0, and their covariance (observed information).

    `ridge` / 2 times the squares of the log strengths are taken off the log-likelihood.
    """
    penalty = np.zeros(choices.options.shape[1])
    penalty[: choices.things] = ridge
    values = np.zeros(len(penalty))

    def height(at: Array) -> float:
        return choices.log_likelihood(at) - float(penalty @ at**2) / 2

    for _ in range(200):
        gradient, information = choices.slope(values)
        gradient = gradient - penalty * values
        # All strengths moved together leave the likelihood as it is; the pseudo-inverse stays put.
        step = np.linalg.pinv(information + np.diag(penalty), hermitian=True) @ gradient
        if np.abs(step).max() < 1e-9:
            break
        # At the top rounding alone makes the likelihood fall.
        length, here = 1.0, height(values)
        while height(values + length * step) < here - 1e-12 * abs(here) and length > 1e-9:
            length /= 2
        values = values + length * step
    values[: choices.things] -= values[: choices.things].mean()
    _, information = choices.slope(values)
    return values, np.linalg.pinv(information + np.diag(penalty), hermitian=True)


def runaway(choices: Choices, *, ridge: bool) -> Array | None:
    """A direction in which the likelihood never falls, so that nothing fixes the values; None if there is none.

    With a ridge, strengths are held and only the weights of ties can run away. The condition is
    that of Albert and Anderson (1984), decided by a linear program.
    """
    margins = choices.margins()
    reach = [(0.0, 0.0) if ridge else (-1.0, 1.0)] * choices.things
    reach += [(-1.0, 1.0)] * len(choices.sizes)
    found = linprog(-margins.sum(axis=0), A_ub=-margins, b_ub=np.zeros(len(margins)), bounds=reach)
    return np.asarray(found.x, dtype=float) if found.success and found.fun < -1e-7 else None


def _as_matrix(
    chosen: Mapping[Group, Counter[Group]], things: int, sizes: tuple[int, ...]
) -> Choices:
    rows: list[Array] = []
    starts, times, taken = [], [], []
    for left, groups in chosen.items():
        starts.append(len(rows))
        times.append(groups.total())
        for size in (1, *sizes):
            for group in combinations(left, size):
                row = np.zeros(things + len(sizes))
                row[list(group)] = 1 / size
                if size > 1:
                    row[things + sizes.index(size)] = 1
                rows.append(row)
                taken.append(groups[group])
    return Choices(
        things,
        sizes,
        options=np.array(rows).reshape(len(rows), things + len(sizes)),
        starts=np.array(starts, dtype=np.intp),
        times=np.array(times, dtype=float),
        taken=np.array(taken, dtype=float),
    )
