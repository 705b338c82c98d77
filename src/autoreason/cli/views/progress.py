"""How far a set of problems is: what is done of it, how it went so far, and how long it may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from autoreason.keys import PartName
from autoreason.programs.assignment import CodeVerdict
from autoreason.programs.events import Solved
from autoreason.programs.task import assignments_of
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.programs.assignment import Examined
    from autoreason.programs.solve import SolveTerms
    from autoreason.story import Story


class Line(NamedTuple):
    """One strategy of a set."""

    strategy: str
    done: int
    of: int
    said: str


class Tally:
    """Counts over the problems of a run that are done; for views, so nothing here is waited for."""

    def __init__(self, story: Story) -> None:
        self._story = story

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

    def lines(self) -> Iterator[Line]:
        """The strategies, and how each went so far."""
        from autoreason.plugins import short

        of = self.total // len(self.terms.strategies)
        for name in map(short, self.terms.strategies):
            own = [each for each in self._story.of(Solved) if each.strategy == name]
            said = [f"{len(own):,} of {of:,}"]
            for label, read in _SCORES:
                found = [each for event in own if (each := read(event)) and _counts(each)]
                if found:
                    passed = sum(each.verdict is CodeVerdict.ACCEPTED for each in found)
                    said.append(f"{label} {numbers.percent(passed / len(found))}")
            yield Line(name, len(own), of, ", ".join(said))

    def called(self, part: str) -> str:
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

    def left(self, elapsed: float) -> str:
        """How much is done, and about how long the rest takes if it goes on like this."""
        if self.one:
            return ""
        said = f"{self.done:,} of {numbers.count(self.total, 'part')} done"
        if not self.done or self.done >= self.total or elapsed < 1:
            return said
        rest = elapsed / self.done * (self.total - self.done)
        return f"{said}, about {numbers.duration(rest)} left"

    @cached_property
    def terms(self) -> SolveTerms:
        """Which strategies, and how often; read once, for they do not change."""
        from autoreason.jobs.job import read_options
        from autoreason.programs.solve import SolveTerms

        assert self._story.settings is not None
        return read_options(self._story.settings, SolveTerms)


def _counts(found: Examined) -> bool:
    return bool(found.total) and found.verdict is not CodeVerdict.SANDBOX_ERROR


_SCORES: tuple[tuple[str, Callable[[Solved], Examined | None]], ...] = (
    ("public", lambda event: event.public),
    ("private", lambda event: event.private),
)
