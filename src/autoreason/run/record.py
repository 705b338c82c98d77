"""Finding the journal and the record of a run, its result, and how long it was worked on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.journal import Journal, RecordedTime, RunRow
from autoreason.journal.location import locate
from autoreason.paths import Place, data_folder
from autoreason.run.parameters import JournalPlace, RecordedRun
from autoreason.run.result import Result
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.task import Task


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


@contextmanager
def use_journal(place: JournalPlace, *, create: bool = False) -> Iterator[Journal]:
    """The journal; one that is opened here is closed at the end."""
    if isinstance(place, Journal):
        yield place
        return
    located = locate(place)
    if create:
        _check_folder(located)
    with Journal.open(located, create=create) as journal:
        yield journal


def name_and_journal(run: RecordedRun, place: JournalPlace) -> tuple[str, JournalPlace]:
    """The name of a run, and its journal: that of the result unless another is given."""
    if isinstance(run, Result):
        return run.run, run.journal if place is None else place
    return run, place


def find_story(run: RecordedRun, place: JournalPlace) -> tuple[str, Story]:
    """The full name of a run, and what happened in it."""
    name, place = name_and_journal(run, place)
    with use_journal(place) as journal:
        found = journal.find(name).id
        return found, journal.story(found)


def _check_folder(place: Place) -> None:
    """Refuse a folder that is not there, which may be a typing error; the usual one is created."""
    folder = place.parent if isinstance(place, Path) else data_folder()
    if folder != data_folder() and not folder.is_dir():
        raise InvalidInput(f"no folder {folder} for the journal; make it first or correct its name")


def task_and_settings(
    run: str, story: Story, remedy: str = "start it again"
) -> tuple[Task, Settings]:
    """A run's task and settings; there are none where it was killed in its first moment."""
    if story.task is None or story.settings is None:
        raise InvalidInput(f"run {run} was killed before anything was recorded; {remedy}")
    return story.task, story.settings


def recorded_result(row: RunRow, story: Story, journal: Journal) -> Result:
    """The result of a recorded run, as its process returned it."""
    return Result(
        run=row.id,
        status=story.status,
        reason=story.reason or ("under way" if row.live else "killed before it ended"),
        spent=row.spent,
        story=story,
        seconds=working_time(row.id, journal=journal).seconds,
        journal=journal.place,
    )
