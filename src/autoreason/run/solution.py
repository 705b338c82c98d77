"""The result of a run that wrote programs, for the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from autoreason.job_types import Solve
from autoreason.programs import events
from autoreason.programs.assignment import Assignment, Examined, assignments_of
from autoreason.programs.events import Solved, solved_in
from autoreason.report.report import Section, plain_values
from autoreason.run.result import StudyResult, ending, run_fields
from autoreason.studies.lab_suite import CellFinished, suite_of

if TYPE_CHECKING:
    from autoreason.studies.lab_report import LabReport  # noqa: F401 (quoted below)


@dataclass(frozen=True, kw_only=True, repr=False)
class Solution(StudyResult["LabReport"]):
    """The result for a problem, or for a set of them, which is a suite and has its report."""

    @property
    def program(self) -> str:
        """What was handed in for one problem; raises where that is nothing, and for a set."""
        if not self.story.text:
            raise self._missing("program")
        return self.story.text

    @cached_property
    def solved(self) -> tuple[Solved, ...]:
        """Every problem by every strategy, as often as it was repeated."""
        if self.is_single:
            return tuple(solved_in(self.story))
        ended = sorted(self.story.of(CellFinished), key=lambda each: each.cell.number)
        return tuple(
            replace(found, part=each.cell.part, repeat=each.cell.repeat)
            for each in ended
            if (found := each.result.solved)
        )

    @cached_property
    def assignments(self) -> tuple[Assignment, ...]:
        """The problems, those that cannot be judged last."""
        suite = suite_of(self.story.task)
        if suite is None:
            return assignments_of(self.story.task) if self.story.task else ()
        tasks = suite.tasks.values()
        return (*(one for each in tasks for one in assignments_of(each.task)), *suite.unfair)

    @property
    def is_single(self) -> bool:
        """Whether there is one problem, for one strategy, once."""
        return suite_of(self.story.task) is None

    @property
    def public(self) -> Examined | None:
        """The public tests of the one program; None for a set."""
        return self.solved[0].public if len(self.solved) == 1 else None

    @property
    def private(self) -> Examined | None:
        """The private tests of the one program; None for a set, and where there are none."""
        return self.solved[0].private if len(self.solved) == 1 else None

    @property
    def level(self) -> str:
        """The sandbox level, by name; empty where nothing was run."""
        return next((each.level for each in self.solved if each.level), "")

    @property
    def unsolved(self) -> str:
        """Why a finished run solved nothing; empty where it did, or is not finished."""
        if not self.finished:
            return ""
        return events.why_unsolved(self.solved, self.assignments, one=self.is_single)

    @property
    def conclusion(self) -> str:
        if self.is_single and self.solved:
            return events.describe_ending(self.solved[-1])
        return super().conclusion

    def summary(self, took: str = "") -> list[str]:
        if not (self.is_single and self.solved and self.finished):
            return super().summary(took)
        examined = events.examined_in(self.story)
        lines = events.summarize_solved(self.solved[-1], examined)
        assert self.story.settings is not None
        left_out = [self.solved[-1].missing, *self.story.settings.job_as(Solve).broken]
        wrong = [f"Left out: {'; '.join(filter(None, left_out))}."] if any(left_out) else []
        unprotected = ["Programs ran without a sandbox."] if self.level == "none" else []
        return [*lines, took or self.took, *unprotected, *wrong]

    def sections(self) -> list[Section]:
        if not self.is_single:
            return super().sections()
        return [Section(sentences=[*self._tests(), ("Took", self.spending), *self.next_steps()])]

    def page_sections(self) -> Sequence[Section]:
        if not (self.is_single and self.solved):
            return super().page_sections()
        details = Section("How it was tested", self._tests(), folded=True)
        return [*events.program_sections(self.story, self.solved[-1]), details, *self._brief()]

    def _tests(self) -> list[tuple[str, str]]:
        """The tests of the one problem, what was left out, and the sandbox, as labelled sentences."""
        rows = [("Status", ending(self))] if self.solved and not self.finished else []
        for each in self.solved[-1:]:
            rows += events.solved_rows(each)
            rows += [("Left out", each.missing)] if each.missing else []
        assert self.story.settings is not None
        broken = self.story.settings.job_as(Solve).broken
        rows += [("Left out", each) for each in broken]
        return [*rows, ("Sandbox", events.describe_level(self.level))] if self.level else rows

    def to_dict(self) -> dict[str, Any]:
        if not self.is_single:
            return super().to_dict()
        fields = run_fields(self) | {
            "conclusion": self.conclusion,
            "sandbox": [*filter(None, [self.level])],
        }
        for last in self.solved[-1:]:
            tests = {
                which: examined_fields(getattr(last, which)) for which in ("public", "private")
            }
            fields |= {"program": last.program, **tests}
        return plain_values(fields)

    def to_files(self, about: Mapping[str, str] | None = None) -> dict[str, str]:
        if self.is_single:
            return super().to_files(about) | events.program_files(self.solved)
        from autoreason.studies.lab_report import lab_files

        return lab_files(self.report, self.story.of(CellFinished))


def examined_fields(examined: Examined | None) -> dict[str, Any] | None:
    """How a program did on its tests, by the names that `check --json` has for it."""
    if examined is None:
        return None
    return {
        "verdict": examined.verdict,
        "passed": examined.passed,
        "tests_run": examined.run,
        "total": examined.total,
        "sandbox_level": examined.level,
    }
