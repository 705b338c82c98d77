"""How long a run has been worked on: the time of every process that drove it, without the pauses between."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from autoreason.journal import Journal, RecordedTime


class WorkingTime(Struct, frozen=True):
    """The times at which processes drove a run, one after another."""

    spans: tuple[tuple[datetime, datetime], ...]
    """From a start to the last sign of life before the next one."""

    def until(self, moment: datetime) -> float:
        """Seconds worked until a moment; the last process is taken to be still at it."""
        ends = [end for _, end in self.spans[:-1]] + [moment]
        spans = zip((start for start, _ in self.spans), ends, strict=False)
        return sum(max(0.0, (min(end, moment) - start).total_seconds()) for start, end in spans)

    @property
    def seconds(self) -> float:
        """All of it, as far as it is recorded."""
        return sum((end - start).total_seconds() for start, end in self.spans)


def working_time(run: str, *, journal: Journal) -> WorkingTime:
    """When a run was worked on, by the times in its record."""
    return working_time_of(journal.times(run))


def working_time_of(times: Sequence[RecordedTime]) -> WorkingTime:
    """The same, from these times; a host's clock may lie behind that of the host before."""
    starts = [at for at, start in times if start]
    by_clock, ends = sorted(zip(starts, range(len(starts)), strict=True)), list(starts)
    for at, _ in times:
        if place := bisect_right(by_clock, (at, len(starts))):
            _, process = by_clock[place - 1]
            ends[process] = max(ends[process], at)
    return WorkingTime(tuple(zip(starts, ends, strict=True)))
