"""How far a set of problems is: what is done, how it went so far, and how long the rest may take."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from autoreason.jobs.job import read_options
from autoreason.keys import PartName
from autoreason.plugins import short
from autoreason.programs.assignment import CodeVerdict, assignments_of
from autoreason.programs.events import Solved
from autoreason.programs.solve_job import SolveTerms
from autoreason.report.numbers import count, duration, percent
from autoreason.story import Story


class StrategyProgress(NamedTuple):
    """One strategy of a set."""

    strategy: str
    done: int
    total: int
    text: str
    """`3 of 8, public 67 %, private 33 %`."""


class SolveProgress:
    """Counts over the problems of a run that are done so far."""

    def __init__(self, story: Story) -> None:
        self._story = story

    @cached_property
    def terms(self) -> SolveTerms:
        """Which strategies, and how often; read once, for they do not change."""
        assert self._story.settings is not None
        return read_options(self._story.settings, SolveTerms)

    @property
    def total(self) -> int:
        """How many parts there are: problems times strategies times repeats."""
        task = self._story.task
        return self.terms.count_parts(task) if task else 0

    @property
    def done(self) -> int:
        """How many of them are scored."""
        return len(self._story.of(Solved))

    @property
    def one(self) -> bool:
        """Whether there is one problem, for one strategy, once."""
        return self.total == 1

    def by_strategy(self) -> Iterator[StrategyProgress]:
        """The strategies, and how each went so far."""
        total = self.total // len(self.terms.strategies)
        for name in map(short, self.terms.strategies):
            solved = [each for each in self._story.of(Solved) if each.strategy == name]
            parts = [f"{len(solved):,} of {total:,}"]
            for tests in ("public", "private"):
                examined = [getattr(each, tests) for each in solved]
                verdicts = [each.verdict for each in examined if each and each.total]
                scored = [each for each in verdicts if each is not CodeVerdict.SANDBOX_ERROR]
                if scored:
                    share = scored.count(CodeVerdict.ACCEPTED) / len(scored)
                    parts.append(f"{tests} {percent(share)}")
            yield StrategyProgress(name, len(solved), total, ", ".join(parts))

    def part_title(self, part: str) -> str:
        """A part such as `2/single/1` by its problem, with strategy and repeat where there are several."""
        name, task = PartName.parse(part), self._story.task
        if task is None or not name.problem or name.problem > len(assignments_of(task)):
            return part.replace("/", " ")
        names = [
            assignments_of(task)[name.problem - 1].id,
            name.name if len(self.terms.strategies) > 1 else "",
            str(name.repeat) if self.terms.repeats > 1 else "",
        ]
        return " ".join(filter(None, names))

    def remaining(self, elapsed: float) -> str:
        """How much is done, and about how long the rest takes at the same pace."""
        if self.one:
            return ""
        done = f"{self.done:,} of {count(self.total, 'part')} done"
        if not self.done or self.done >= self.total or elapsed < 1:
            return done
        rest = elapsed / self.done * (self.total - self.done)
        return f"{done}, about {duration(rest)} left"
