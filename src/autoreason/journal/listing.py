"""Which runs of a journal are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import takewhile

from autoreason.errors import InvalidInput, JournalError, UnknownRun
from autoreason.journal.codec import RunRow
from autoreason.journal.journal import Journal
from autoreason.journal.run_names import match_name
from autoreason.story import Story

SUITE_TITLE = "Suite "
"""What the title of a suite's run begins with, before the suite's name."""
STATES = (
    *("live", "killed", "damaged", "converged", "capped", "done", "accepted"),
    *("budget", "stopped", "waiting", "panel_failed", "provider_failed", "metric_failed"),
)


def select_runs(
    journal: Journal,
    *,
    states: tuple[str, ...] = (),
    strategy: str | None = None,
    model: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    search: str | None = None,
    suite: str | None = None,
    cells: bool = False,
) -> Iterator[RunRow]:
    """Runs that are wanted, newest first, as they are asked for; cells on request, all or those of a suite."""
    unknown = set(states) - set(STATES)
    if unknown:
        raise InvalidInput(f"no status {min(unknown)!r}; it is one of {', '.join(STATES)}")
    rows = journal.iter_runs(
        # Only a run that cannot be read is damaged, and that is recorded nowhere.
        () if "damaged" in states else states,
        search=search,
        uses=[each for each in (strategy, model) if each],
        cells=cells,
        suite=find_suite(journal, suite).id if suite else None,
    )
    return (
        row
        for row in takewhile(lambda row: since is None or row.created >= since, rows)
        if (until is None or row.created < until)
        and (
            not states
            or row.state in states
            # Reading them all takes a while.
            or ("damaged" in states and readable_story(journal, row.id) is None)
        )
        and ((strategy is None and model is None) or _has(journal, row.id, strategy, model))
    )


def find_suite(journal: Journal, name: str) -> RunRow:
    """The run of this name, or else the newest of the suite of this name or beginning."""
    try:
        return journal.find(name)
    except UnknownRun:
        newest: dict[str, RunRow] = {}
        for row in journal.iter_runs():
            if row.has_cells:
                newest.setdefault(row.title.removeprefix(SUITE_TITLE), row)
        if not any(each.startswith(name) for each in newest):
            raise
        return newest[match_name(name, [*newest])]


def readable_story(journal: Journal, run: str) -> Story | None:
    """What a list shows of a run; None where the record is damaged, which must not hide other runs."""
    try:
        return journal.outline(run)
    except JournalError:
        return None


def _has(journal: Journal, run: str, strategy: str | None, model: str | None) -> bool:
    try:
        settings = journal.settings(run)
    except JournalError:
        return False
    return settings is not None and (
        strategy in (None, settings.job.name, settings.job.label)
        and (model is None or any(model in address for address in settings.models.all()))
    )
