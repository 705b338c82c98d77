"""Finding the journal and the record of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from autoreason.errors import InvalidInput
from autoreason.journal import Journal
from autoreason.journal.location import locate
from autoreason.paths import data_folder
from autoreason.run.parameters import JournalPlace, RecordedRun
from autoreason.run.result import Result
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.task import Task


@contextmanager
def use_journal(place: JournalPlace, *, create: bool = False) -> Iterator[Journal]:
    """The journal; one that is opened here is closed at the end."""
    if isinstance(place, Journal):
        yield place
        return
    url = str(place) if place else None
    if create:
        _check_folder(url)
    with Journal.open(url, create=create) as journal:
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


def _check_folder(url: str | None) -> None:
    """Refuse a folder that is not there, which may be a typing error; the usual one is created."""
    folder = locate(url).parent
    if folder != data_folder() and not folder.is_dir():
        raise InvalidInput(f"no folder {folder} for the journal; make it first or correct its name")


def task_and_settings(
    run: str, story: Story, remedy: str = "start it again"
) -> tuple[Task, Settings]:
    """A run's task and settings; there are none where it was killed in its first moment."""
    if story.task is None or story.settings is None:
        raise InvalidInput(f"run {run} was killed before anything was recorded; {remedy}")
    return story.task, story.settings
