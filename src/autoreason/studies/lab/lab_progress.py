"""How far a suite is: cells done and left out, and about how long the rest takes."""

from __future__ import annotations

from functools import cached_property, reduce

from autoreason.exchange import Spent
from autoreason.report.numbers import count, duration
from autoreason.story import Story
from autoreason.studies.lab.lab_suite import CellFinished, count_cells, suite_of


class LabProgress:
    """Counts over the cells of a suite that have ended so far."""

    def __init__(self, story: Story) -> None:
        self._story = story

    @cached_property
    def total(self) -> int:
        """How many cells there are."""
        suite = suite_of(self._story.task)
        return count_cells(suite) if suite else 0

    @property
    def done(self) -> int:
        """How many have ended."""
        return len(self._story.of(CellFinished))

    @property
    def left_out(self) -> int:
        """How many of them have no result."""
        return sum(not each.result.finished for each in self._story.of(CellFinished))

    @property
    def spent(self) -> Spent:
        """What they have spent."""
        return reduce(
            Spent.joined, (each.result.spent for each in self._story.of(CellFinished)), Spent()
        )

    @property
    def so_far(self) -> str:
        """`12 of 40 cells done, 1 left out`."""
        failed = f", {self.left_out} left out" if self.left_out else ""
        return f"{self.done:,} of {count(self.total, 'cell')} done{failed}"

    def remaining(self, elapsed: float) -> str:
        """How much is done, and about how long the rest takes at the same pace."""
        seconds = self.seconds_left(elapsed)
        return self.so_far + (f", about {duration(seconds)} left" if seconds is not None else "")

    def seconds_left(self, elapsed: float) -> float | None:
        """None where it is not known yet, and where nothing is left."""
        return seconds_left(elapsed, self.done, self.total)


def seconds_left(elapsed: float, done: int, total: int) -> float | None:
    """How long the cells that are left take at the same pace; None where it is not known yet, or none is left."""
    if not done or done >= total or elapsed < 1:
        return None
    return elapsed / done * (total - done)
