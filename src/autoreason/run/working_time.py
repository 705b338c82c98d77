"""How long a run has been worked on: the time of every process that drove it, without the pauses between."""

from __future__ import annotations

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
        return self.until(self.spans[-1][1]) if self.spans else 0.0


def working_time(run: str, *, journal: Journal) -> WorkingTime:
    """When a run was worked on, by the times in its record."""
    return working_time_of(journal.times(run))


def working_time_of(times: Sequence[RecordedTime]) -> WorkingTime:
    """The same, from these times."""
    starts = [at for at, start in times if start]
    spans = []
    for place, start in enumerate(starts):
        following = starts[place + 1] if place + 1 < len(starts) else None
        within = (at for at, _ in times if at >= start and (following is None or at < following))
        spans.append((start, max(within, default=start)))
    return WorkingTime(tuple(spans))
