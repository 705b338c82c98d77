"""How far a suite is, and its report so far, from the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from autoreason.errors import InvalidInput, UnknownRun
from autoreason.exchange import Spent
from autoreason.job_types import Lab
from autoreason.jobs.context import spending
from autoreason.journal import Journal, RunRow
from autoreason.journal.listing import find_suite
from autoreason.journal.run_names import cell_name, suite_name
from autoreason.report.numbers import duration
from autoreason.report.report import Report, Section, plain_values
from autoreason.run.record import working_time
from autoreason.run.result import resume_command
from autoreason.studies.lab_job import LabProgress
from autoreason.studies.lab_suite import CellFinished, Suite, all_cells, count_cells, suite_of

if TYPE_CHECKING:
    from autoreason.story import Story
    from autoreason.studies.lab_report import LabReport


_KILLED = "its process was killed, or could not reach the journal"


class RunningCell(Struct, frozen=True, kw_only=True):
    run: str
    name: str
    """What people call it: `letter, tournament 2`."""
    seconds: float
    """Worked on it."""


class LabStatus(Report, Struct, frozen=True, kw_only=True):
    run: str
    suite: str
    status: str
    progress: LabProgress
    """Spending and time are also those of the suite that this one adds repeats to, whose cells it has."""
    running: tuple[RunningCell, ...]
    base: str = ""
    """The suite that this one adds repeats to."""
    resume: str = ""
    """The command that goes on with it; empty where it is finished or live."""

    heading = "A suite so far"

    @property
    def conclusion(self) -> str:
        state = _KILLED if self.status == "killed" else self.status
        state = f"paused ({state})" if self.resume else state
        return f"{self.run} ({self.suite}) is {state}: {self.progress.so_far}"

    def names(self) -> Sequence[str]:
        return [self.run]

    def sections(self) -> list[Section]:
        rows = [("Took", spending(self.progress.spent, self.progress.seconds))]
        if self.base:
            rows.append(("Adds to", f"{self.base}, whose cells are counted"))
        if (left := self.progress.seconds_left) is not None:
            rows.append(("Left", f"about {duration(left)} at the same pace"))
        if self.running:
            running = (
                f"{each.name} ({each.run}, {duration(each.seconds)})" for each in self.running
            )
            rows.append(("Running", "; ".join(running)))
        if self.resume:
            rows.append(("Resume", self.resume))
        return [Section(sentences=rows)]

    def to_dict(self) -> dict[str, Any]:
        numbers = self.progress._asdict()
        numbers["cells"] = numbers.pop("total")
        more = {"left": self.progress.left, "seconds_left": self.progress.seconds_left}
        fields = {"conclusion": self.conclusion, **asdict(self), **numbers, **more}
        del fields["progress"]
        return plain_values(fields | {"running": self.running})


class FoundReport(NamedTuple):
    report: LabReport
    cells: Sequence[CellFinished]
    runs: Sequence[str]
    """The suite's, and those that it adds repeats to."""

    def files(self) -> dict[str, str]:
        from autoreason.studies.lab_report import lab_files

        return lab_files(self.report, self.cells)


def lab_status(run: str | None, *, journal: Journal) -> LabStatus:
    """How far a suite is; the newest one without a name."""
    row, suite, story = find_suite_run(run, journal)
    done, left_out, missing = journal.cells_done(row.id)
    names, now = set(running_cells(row.id, journal)), datetime.now(UTC)
    running = tuple(
        RunningCell(
            run=name, name=cell.name, seconds=working_time(name, journal=journal).until(now)
        )
        for cell in (all_cells(suite) if names else ())
        if (name := cell_name(row.id, cell.number)) in names
    )
    chain = list(with_bases(row, journal))
    progress = LabProgress(
        total=count_cells(suite),
        done=done - missing,
        left_out=left_out,
        running=len(running),
        spent=reduce(Spent.joined, [each.spent for each in chain]),
        seconds=time_worked(row, journal),
        missing=missing,
    )
    return LabStatus(
        run=row.id,
        suite=suite.name,
        status=row.state,
        progress=progress,
        running=running,
        base=chain[1].id if chain[1:] else "",
        resume="" if row.live or row.finished else resume_command(row.id, story),
    )


def with_bases(suite: RunRow, journal: Journal) -> Iterator[RunRow]:
    """A suite, the one that it adds repeats to, and so on to the first, so far as they are in the journal."""
    yield suite
    while (base := suite.forked_from) and journal.has(base):
        suite = journal.row(base)
        yield suite


def time_worked(suite: RunRow, journal: Journal) -> float:
    """Seconds of work on a suite, and on those that it adds repeats to."""
    chain = with_bases(suite, journal)
    return sum(working_time(each.id, journal=journal).seconds for each in chain)


def running_cells(suite: str, journal: Journal) -> Iterator[str]:
    """Runs of a suite's cells that a process drives now."""
    return (each for each in journal.locked_runs() if suite_name(each) == suite)


def report_of(run: str | None, *, journal: Journal) -> FoundReport:
    # How far a suite is can be said without it.
    from autoreason.studies.lab_report import lab_report

    row, *_ = find_suite_run(run, journal)
    story = journal.story(row.id)
    cells = story.of(CellFinished)
    if not cells:
        raise InvalidInput(f"no cell of {row.id} has ended yet; see `autoreason show {row.id}`")
    runs = [each.id for each in with_bases(row, journal)]
    return FoundReport(lab_report(story, origin_of(row, story)), cells, runs)


def origin_of(row: RunRow, story: Story) -> dict[str, str]:
    """The run of a report, as its page shows it."""
    settings = story.settings
    assert settings is not None
    return {
        "Run": row.id,
        "Models": ", ".join(settings.models.all()),
        "Seed": str(settings.seed),
        "Started": f"{row.created.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
    }


def find_suite_run(run: str | None, journal: Journal) -> tuple[RunRow, Suite, Story]:
    """The suite of this name, else the newest; of its story the outline."""
    row = _newest_suite(journal) if run is None else find_suite(journal, run)
    story = journal.outline(row.id)
    suite = suite_of(story.task)
    if suite is None:
        raise InvalidInput(f"run {row.id} is not a suite; `autoreason show {row.id}` shows it")
    return row, suite, story


def _newest_suite(journal: Journal) -> RunRow:
    for row in journal.iter_runs(page=1):
        settings = journal.settings(row.id)
        if settings and isinstance(settings.job, Lab):
            return row
    raise UnknownRun("there is no suite in the journal; start one with `autoreason lab run`")
