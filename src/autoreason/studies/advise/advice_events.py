"""What happens in an advice besides what happens in every job."""

from __future__ import annotations

from autoreason.events import Event
from autoreason.report.numbers import count
from autoreason.studies.advise.judge_check import find_fault, judge_findings, no_fault
from autoreason.studies.advise.pilots import Pilot


class JudgeChecked(Event, frozen=True, kw_only=True):
    """The judge was asked about pairs whose answers are known."""

    right: tuple[tuple[bool, bool], ...]
    """Pair by pair, whether the sound text was ranked first, in either order of the two."""
    read: tuple[bool, ...]
    """Which ballots were read at the first try."""

    @property
    def line(self) -> str:
        """What came of it."""
        fault = find_fault(judge_findings(self.right, self.read))
        return f"judge check: {fault or no_fault(len(self.read))}"


class PilotFinished(Event, frozen=True, kw_only=True):
    """A pilot is over, or its panels failed."""

    number: int
    pilot: Pilot
    draft: str | None
    text: str | None
    origin: str

    @property
    def line(self) -> str:
        """What came of it."""
        votes = (
            f"{self.pilot.prefer} of {count(self.pilot.judges, 'fresh judge')} prefer the result"
        )
        return f"pilot {self.number}: {self.pilot.note or votes}"
