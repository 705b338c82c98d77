"""How far a suite is: cells done, left out, running and left, and about how long the rest takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, reduce
from typing import NamedTuple

from autoreason.exchange import Spent
from autoreason.report.numbers import count, duration
from autoreason.story import Story
from autoreason.studies.lab.lab_suite import Cell, CellFinished, all_cells, count_cells, suite_of


class LabProgress(NamedTuple):
    """Counts over the cells of a suite, those of the suite it adds to included."""

    total: int
    done: int
    left_out: int
    """Those of them that have no result."""
    running: int
    spent: Spent
    seconds: float
    """How long it was worked on."""
    missing: int = 0
    """Those that have ended and whose runs are not in this journal."""

    @property
    def left(self) -> int:
        """Cells that have not begun."""
        return max(0, self.total - self.done - self.missing - self.running)

    @property
    def so_far(self) -> str:
        """`12 of 40 cells done, 1 of them left out, 3 running, 25 left`."""
        failed = f", {self.left_out} of them left out" if self.left_out else ""
        missing = f", {self.missing} not in this journal" if self.missing else ""
        return (
            f"{self.done:,} of {count(self.total, 'cell')} done{failed}{missing}, "
            f"{self.running} running, {self.left:,} left"
        )

    @property
    def remaining(self) -> str:
        """The same, and about how long the rest takes at the same pace."""
        seconds = self.seconds_left
        return self.so_far + (f", about {duration(seconds)} left" if seconds is not None else "")

    @property
    def seconds_left(self) -> float | None:
        """None where it is not known yet, and where nothing is left."""
        left = self.total - self.done - self.missing
        if not self.done or not left or self.seconds < 1:
            return None
        return self.seconds / self.done * left


class SuiteCells:
    """The cells of a story, those that have ended counted as they come."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._done = self._left_out = 0
        self._ended: set[str] = set()
        """Their parts, and their runs."""
        self._spent = Spent()

    @cached_property
    def _total(self) -> int:
        suite = suite_of(self._story.task)
        return count_cells(suite) if suite else 0

    @cached_property
    def cells(self) -> Mapping[str, Cell]:
        """All cells of the suite, by part."""
        suite = suite_of(self._story.task)
        return {cell.part: cell for cell in all_cells(suite)} if suite else {}

    def progress(
        self, running: int, spent_by_cell: Mapping[str, Spent], seconds: float
    ) -> LabProgress:
        """How far the suite is, with what the cells that have not ended have spent, by their parts or runs."""
        for each in self._story.of(CellFinished)[self._done :]:
            self._done += 1
            self._ended |= {each.cell.part, each.result.run}
            self._left_out += not each.result.finished
            if each.result.run:
                # Without a run, it is another cell's that this one could not do without.
                self._spent = self._spent.joined(each.result.spent)
        under_way = (each for cell, each in spent_by_cell.items() if cell not in self._ended)
        return LabProgress(
            total=self._total,
            done=self._done,
            left_out=self._left_out,
            running=running,
            spent=reduce(Spent.joined, under_way, self._spent),
            seconds=seconds,
        )
