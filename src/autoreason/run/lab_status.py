"""How far a suite is, and its report so far, from the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from autoreason.errors import InvalidInput, UnknownRun
from autoreason.events import FINISHED
from autoreason.exchange import Spent
from autoreason.jobs.spending import spending
from autoreason.journal import Journal, RunRow
from autoreason.journal.run_names import suite_name
from autoreason.report.numbers import count, duration
from autoreason.report.report import Report, Section
from autoreason.run.working_time import working_time
from autoreason.studies.lab.lab_progress import seconds_left
from autoreason.studies.lab.lab_suite import CellFinished, Suite, count_cells, suite_of

if TYPE_CHECKING:
    from autoreason.studies.lab.lab_report import LabReport


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
        state = f"paused ({self.status})" if self._paused else self.status
        return (
            f"{self.run} ({self.suite}) is {state}: {self.done:,} of "
            f"{count(self.cells, 'cell')} done{failed}, {len(self.running)} running, {self.left:,} left"
        )

    @property
    def _paused(self) -> bool:
        return self.status not in FINISHED | {"live", "killed"}

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
        if self._paused or self.status == "killed":
            rows.append(("Resume", f"autoreason resume {self.run}"))
        return [Section(sentences=rows)]


class FoundReport(NamedTuple):
    """The report of a suite, and the cells it rests on."""

    run: str
    report: LabReport
    cells: Sequence[CellFinished]

    def files(self) -> dict[str, str]:
        """All files of the report."""
        from autoreason.studies.lab.lab_tables import report_files

        return report_files(self.report, self.cells, {"Run": self.run})


def lab_status(run: str | None, *, journal: Journal) -> LabStatus:
    """How far a suite is; the newest one without a name."""
    row, suite = _find(run, journal)
    done, left_out = journal.cells_done(row.id)
    total, seconds = count_cells(suite), working_time(row.id, journal=journal).seconds
    running = tuple(sorted(each for each in journal.locked_runs() if suite_name(each) == row.id))
    finished = row.finished
    return LabStatus(
        run=row.id,
        suite=suite.name,
        status=row.state,
        cells=total,
        done=done,
        running=running,
        left_out=left_out,
        left=0 if finished else total - done - len(running),
        spent=row.spent,
        seconds=seconds,
        seconds_left=None if finished else seconds_left(seconds, done, total),
    )


def report_of(run: str | None, *, journal: Journal) -> FoundReport:
    """The report of a suite, so far as it has come; the newest one without a name."""
    # How far a suite is can be said without it.
    from autoreason.studies.lab.lab_report import lab_report

    row, _ = _find(run, journal)
    story = journal.story(row.id)
    cells = story.of(CellFinished)
    if not cells:
        raise InvalidInput(
            f"no cell of {row.id} has ended yet; see `autoreason lab status {row.id}`"
        )
    return FoundReport(row.id, lab_report(story), cells)


def _find(run: str | None, journal: Journal) -> tuple[RunRow, Suite]:
    row = _newest_suite(journal) if run is None else journal.find(run)
    suite = suite_of(journal.outline(row.id).task)
    if suite is None:
        raise InvalidInput(f"run {row.id} is no suite; `autoreason show {row.id}` shows it")
    return row, suite


def _newest_suite(journal: Journal) -> RunRow:
    for row in journal.iter_runs(page=1):
        settings = journal.settings(row.id)
        if settings and settings.strategy == "lab":
            return row
    raise UnknownRun("there is no suite in the journal; start one with `autoreason lab run`")
