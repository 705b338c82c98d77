"""Runs as pages: one page, or a folder with a list and a page for each run that any static host serves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from autoreason.errors import InvalidInput, JournalError
from autoreason.files import write
from autoreason.job_types import Lab
from autoreason.journal import Journal, RunRow
from autoreason.journal.listing import readable_story
from autoreason.pages.listed import LIST_MARK, ListedRun, describe_run, runs_page
from autoreason.report.page import link_to
from autoreason.report.report import Report, usable
from autoreason.run.cells import lab_status
from autoreason.run.prepared import reported_result
from autoreason.run.record import recorded_result
from autoreason.story import Story

_FOLDER = "runs"


class Site(NamedTuple):
    """What was written."""

    listing: Path
    pages: int
    left_out: dict[str, str]
    """Runs without a page, and why."""


def page_address(run: str) -> str:
    """The permalink of a run's page, from where the list is."""
    return f"{_FOLDER}/{run}.html"


def write_page(folder: Path, row: RunRow, journal: Journal, *, private: bool = False) -> Path:
    """The page of one run, below a folder."""
    path = folder / page_address(row.id)
    page = _report(row, journal.story(row.id), journal).to_html()
    with usable(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
    write(path, page, private=private)
    return path


def write_site(
    folder: Path,
    rows: Iterable[RunRow],
    journal: Journal,
    on_page: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    temporary: bool = False,
) -> Site:
    """A list of runs and the page of each; pages that are there already stay listed while their runs are recorded.

    A temporary one lists these runs alone, and only the user may read it.

    Raises:
        InvalidInput: The folder cannot be written to, or its `index.html` is not a list of runs.
    """
    index = folder / "index.html"
    with usable(folder):
        if index.exists() and LIST_MARK not in index.read_text("utf-8", "replace"):
            raise InvalidInput(f"{index} is not a list of runs; name a new folder for the site")
        (folder / _FOLDER).mkdir(parents=True, exist_ok=True)
    wanted = {row.id: row for row in rows}
    listed: list[ListedRun] = []
    left_out: dict[str, str] = {}
    for at, row in enumerate(wanted.values(), 1):
        try:
            story = journal.story(row.id)
            page = link_to(_report(row, story, journal).to_html(), "../index.html", "Runs")
        except (JournalError, InvalidInput) as error:
            left_out[row.id] = str(error)
            continue
        write(folder / page_address(row.id), page, private=temporary)
        listed.append(_listed(row, story, journal))
        on_page(at, len(wanted))
    for path in () if temporary else (folder / _FOLDER).glob("*.html"):
        if path.stem not in wanted and journal.has(path.stem):
            row = journal.row(path.stem)
            listed.append(_listed(row, readable_story(journal, row.id), journal))
    listed.sort(key=lambda each: each.created, reverse=True)
    addresses = {each.run: page_address(each.run) for each in listed}
    more = temporary and any(islice(journal.iter_runs(), len(wanted), None))
    write(index, runs_page(listed, addresses, more), private=temporary)
    return Site(index, len(wanted) - len(left_out), left_out)


def _report(row: RunRow, story: Story, journal: Journal) -> Report:
    if story.task is None:
        raise InvalidInput(f"run {row.id} was killed before anything was recorded")
    if isinstance(story.job, Lab) and story.end is None:
        return lab_status(row.id, journal=journal)
    return reported_result(recorded_result(row, story, journal), journal)


def _listed(row: RunRow, story: Story | None, journal: Journal) -> ListedRun:
    if story is None or story.writes == "text" or row.live or not row.finished:
        return describe_run(row, story)
    return describe_run(row, story, _report(row, story, journal).summary()[0])
