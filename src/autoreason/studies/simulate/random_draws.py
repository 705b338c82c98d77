"""All chance of a set of simulated runs, drawn by what it is for, so that every protocol meets the same luck."""

from __future__ import annotations

from functools import cache
from math import pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoreason.settings import MAX_PASSES

Numbers = NDArray[np.float64]
"""One row per run."""
MAX_FINALISTS = 10
_DRAFT, _PASS, _JUDGE, _PLAYOFF, _ORDER, _CONFIRMATION, _MORE_DRAFTS, _AMONG_DRAFTS = range(8)
_MORE_REVISIONS, _MORE_ERRORS = 8, 9
PLAYOFF, CONFIRMATION = 0, MAX_PASSES + 1
"""Used as pass numbers when orders of the last two panels are drawn."""
_UNIT = sqrt(6) / pi
"""The scale at which the standard deviation of a Gumbel error is 1."""


class PassDraws(NamedTuple):
    """The luck of the critics and the authors of one pass."""

    silence: Numbers
    """By critic: silent where it is under the chance of finding nothing."""
    quality: Numbers
    """By challenger, B then AB."""
    length: Numbers
    """Of the revision."""
    taste: Numbers
    """By challenger: the error all judges share."""

    def of_run(self, row: int) -> PassDraws:
        """The luck of one run alone."""
        return PassDraws(*(numbers[row : row + 1] for numbers in self))


class RandomDraws:
    """The luck of `runs` runs; every method returns the same again."""

    def __init__(self, seed: int, runs: int) -> None:
        self.seed = seed
        self.runs = runs

    def cached(self) -> RandomDraws:
        """The same luck, with every result cached."""
        luck = RandomDraws(self.seed, self.runs)
        for name in (
            *("draft_taste", "further_draft", "draft_judge", "of_pass", "judge"),
            *("finalist_judge", "confirming_judge", "further_revision", "further_errors"),
        ):
            setattr(luck, name, cache(getattr(self, name)))
        return luck

    def draft_taste(self) -> Numbers:
        """The error all judges share about the first draft."""
        return self._source(_DRAFT).standard_normal(self.runs)

    def further_draft(self, number: int) -> Numbers:
        """By further draft: its quality, and the error all judges share about it."""
        return self._source(_MORE_DRAFTS, number).standard_normal((self.runs, 2))

    def draft_judge(self, seat: int) -> Numbers:
        """The own error of one judge about the drafts, the first one first."""
        return self._errors(MAX_FINALISTS, _AMONG_DRAFTS, seat)

    def of_pass(self, number: int) -> PassDraws:
        """The luck of critics and authors."""
        source = self._source(_PASS, number)
        normal = source.standard_normal((self.runs, 5))
        silence = source.random((self.runs, 2))
        return PassDraws(silence, normal[:, 0:2], normal[:, 2], normal[:, 3:5])

    def further_revision(self, number: int, reviser: int) -> PassDraws:
        """The luck of another reviser of a pass, the second or the third; the rest of the pass is as it was."""
        first = self.of_pass(number)
        normal = self._source(_MORE_REVISIONS, number, reviser).standard_normal((self.runs, 3))
        quality, taste = first.quality.copy(), first.taste.copy()
        quality[:, 0], taste[:, 0] = normal[:, 0], normal[:, 2]
        return first._replace(quality=quality, length=normal[:, 1], taste=taste)

    def further_errors(self, number: int, seat: int) -> Numbers:
        """The own error of one judge of a pass about a fourth text and a fifth."""
        return self._errors(2, _MORE_ERRORS, number, seat)

    def judge(self, number: int, seat: int) -> Numbers:
        """The own error of one judge of a pass about A, B and AB."""
        return self._errors(3, _JUDGE, number, seat)

    def finalist_judge(self, seat: int) -> Numbers:
        """The own error of one judge of the playoff about the finalists, oldest first."""
        return self._errors(MAX_FINALISTS, _PLAYOFF, seat)

    def confirming_judge(self, seat: int) -> Numbers:
        """The own error of one judge of the confirmation about the first draft and the delivered text."""
        return self._errors(2, _CONFIRMATION, seat)

    def orders(self, number: int, choices: int) -> NDArray[np.int64]:
        """Which of so many schedules of orders the panel of a pass, `PLAYOFF` or `CONFIRMATION` has."""
        return self._source(_ORDER, number).integers(choices, size=self.runs)

    def _errors(self, texts: int, *purpose: int) -> Numbers:
        # Gumbel errors make rankings follow Plackett and Luce, which is what `fit` assumes.
        return self._source(*purpose).gumbel(scale=_UNIT, size=(self.runs, texts))

    def _source(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, *purpose))
