"""How far a suite is, and its report so far, from the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from autoreason.errors import InvalidInput, UnknownRun
from autoreason.exchange import Spent
from autoreason.jobs.spending import spending
from autoreason.journal import Journal, RunRow
from autoreason.report.numbers import count, duration
from autoreason.report.report import Report, Section
from autoreason.run.working_time import working_time
from autoreason.story import Story
from autoreason.studies.lab.lab_progress import LabProgress
from autoreason.studies.lab.lab_report import LabReport, lab_report
from autoreason.studies.lab.lab_suite import CellFinished, suite_of
from autoreason.studies.lab.lab_tables import report_files


class LabStatus(Report, Struct, frozen=True, kw_only=True):
    """How far a suite is."""

    run: str
    suite: str
    status: str
    cells: int
    done: int
    running: tuple[str, ...]
    """Runs of cells that a process drives now."""
    left_out: int
    left: int
    spent: Spent
    seconds: float
    seconds_left: float | None

    heading = "A suite so far"

    @property
    def conclusion(self) -> str:
        """Cells done, running and left."""
        failed = f", {self.left_out} of them left out" if self.left_out else ""
        return (
            f"{self.run} ({self.suite}) is {self.status}: {self.done:,} of "
            f"{count(self.cells, 'cell')} done{failed}, {len(self.running)} running, {self.left:,} left"
        )

    def names(self) -> Sequence[str]:
        """A run's name is written as it is."""
        return [self.run]

    def sections(self) -> list[Section]:
        """What it took, and how long the rest may take."""
        rows = [("Took", spending(self.spent, self.seconds))]
        if self.seconds_left is not None:
            rows.append(("Left", f"about {duration(self.seconds_left)} at the same pace"))
        if self.running:
            rows.append(("Running", ", ".join(self.running)))
        if self.status in ("killed", "stopped", "budget", "provider_failed"):
            rows.append(("Resume", f"autoreason resume {self.run}"))
        return [Section(sentences=rows)]


class FoundReport(NamedTuple):
    """The report of a suite, and the cells it rests on."""

    run: str
    report: LabReport
    cells: Sequence[CellFinished]

    def files(self) -> dict[str, str]:
        """All files of the report."""
        return report_files(self.report, self.cells, {"Run": self.run})


def lab_status(run: str | None, *, journal: Journal) -> LabStatus:
    """How far a suite is; the newest one without a name."""
    row, story = _find(run, journal)
    progress, seconds = LabProgress(story), working_time(row.id, journal=journal).seconds
    suite = suite_of(story.task)
    running = tuple(sorted(cell.id for cell in journal.cells(row.id) if cell.live))
    finished = row.finished
    return LabStatus(
        run=row.id,
        suite=suite.name if suite else "",
        status=row.state,
        cells=progress.total,
        done=progress.done,
        running=running,
        left_out=progress.left_out,
        left=0 if finished else progress.total - progress.done - len(running),
        spent=row.spent,
        seconds=seconds,
        seconds_left=None if finished else progress.seconds_left(seconds),
    )


def report_of(run: str | None, *, journal: Journal) -> FoundReport:
    """The report of a suite, so far as it has come; the newest one without a name."""
    row, story = _find(run, journal)
    cells = story.of(CellFinished)
    if not cells:
        raise InvalidInput(
            f"no cell of {row.id} has ended yet; see `autoreason lab status {row.id}`"
        )
    return FoundReport(row.id, lab_report(story), cells)


def _find(run: str | None, journal: Journal) -> tuple[RunRow, Story]:
    if run is not None:
        row = journal.find(run)
        story = journal.story(row.id)
        if suite_of(story.task) is None:
            raise InvalidInput(f"run {row.id} is no suite; `autoreason show {row.id}` shows it")
        return row, story
    for row in journal.runs(None):
        settings = journal.settings(row.id)
        if settings and settings.strategy == "lab":
            return row, journal.story(row.id)
    raise UnknownRun("there is no suite in the journal; start one with `autoreason lab run`")
