"""The results of runs that wrote programs or improved files, for the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from autoreason.artifacts.acceptance import EndResult
from autoreason.artifacts.artifact import Changes, Files, as_text, changes_between, make_patch
from autoreason.artifacts.research_history import Deliverable, SearchCut, deliverable
from autoreason.artifacts.research_report import ResearchReport, research_report
from autoreason.job_types import Solve
from autoreason.programs import events
from autoreason.programs.assignment import Assignment, Examined, assignments_of
from autoreason.programs.events import Solved, solved_in
from autoreason.report import numbers
from autoreason.report.report import Section, plain_values
from autoreason.run.result import Result, StudyResult, ending, run_fields
from autoreason.studies.lab_report import LabReport, lab_files
from autoreason.studies.lab_suite import CellFinished, suite_of
from autoreason.tournament.endings import short_run


@dataclass(frozen=True, kw_only=True, repr=False)
class Solution(StudyResult[LabReport]):
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
        if self.one:
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
    def one(self) -> bool:
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
        return events.why_unsolved(self.solved, self.assignments, one=self.one)

    @property
    def conclusion(self) -> str:
        if self.one and self.solved:
            return events.describe_ending(self.solved[-1])
        return super().conclusion

    def summary(self, took: str = "") -> list[str]:
        if not (self.one and self.solved and self.finished):
            return super().summary(took)
        examined = events.examined_in(self.story)
        lines = events.summarize_solved(self.solved[-1], examined)
        assert self.story.settings is not None
        left_out = [self.solved[-1].missing, *self.story.settings.job_as(Solve).broken]
        wrong = [f"Left out: {'; '.join(filter(None, left_out))}."] if any(left_out) else []
        unprotected = ["Programs ran without a sandbox."] if self.level == "none" else []
        return [*lines, took or self.took, *unprotected, *wrong]

    def sections(self) -> list[Section]:
        if not self.one:
            return super().sections()
        return [Section(sentences=[*self._tests(), ("Took", self.spending), *self.next_steps()])]

    def page_sections(self) -> Sequence[Section]:
        if not (self.one and self.solved):
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
        if not self.one:
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
        if self.one:
            return super().to_files(about) | events.program_files(self.solved)
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


@dataclass(frozen=True)
class ResearchResult(Result):
    """What became of an artifact, and what is claimed of it."""

    @property
    def files(self) -> Files:
        """The artifact: the result, or the incumbent of a run that paused."""
        return self._delivered.files

    @property
    def changes(self) -> Changes:
        """Paths that differ from what is on disk, with their new texts; None where a file is removed."""
        return changes_between(self._delivered.start, self._delivered.files)

    @cached_property
    def patch(self) -> str:
        """What changed, as a patch for `git apply`; of a fork it leads from the start of the first run."""
        return make_patch(self._delivered.start, self._delivered.files)

    @property
    def text(self) -> str:
        """The artifact as one text; of several files each under its path."""
        return as_text(self.files)

    @property
    def gain(self) -> EndResult | None:
        """The end test, the only number that is claimed; None where there was none."""
        return self.report.gain

    @property
    def improved(self) -> bool:
        """Whether the end test shows a gain, and it is claimed."""
        return self.report.claimed

    @property
    def worse(self) -> bool:
        """Whether the end test found the result worse than the start, which is then to be kept."""
        return self.gain is not None and self.gain.worse

    @property
    def behind(self) -> bool:
        """Whether the result did worse than the start in the end test, be it by chance."""
        return self.gain is not None and self.gain.gain < 0

    @cached_property
    def report(self) -> ResearchReport:
        """Noise, search, kept changes and claim, so far as the run has come."""
        return research_report(self.story)

    @property
    def conclusion(self) -> str:
        return self.report.conclusion

    def summary(self, took: str = "") -> list[str]:
        if not self.finished:
            first, *others = super().summary()
            nothing = "No end test was made" if self.report.kept else "There is nothing to test"
            return [first, f"{nothing} yet, so no gain is claimed.", *others]
        took = took or self.took
        patch = f" Patch: {numbers.lines(self.patch)}." if self.patch else ""
        first, second, *others = self.report.summary(took)
        cut = [
            f"The search ended early: {each.reason}; autoreason fork {short_run(self.run)} goes on."
            for each in self.story.of(SearchCut)
        ]
        return [first, f"{second}{patch}", *others, *cut]

    def sections(self) -> list[Section]:
        ended = [("Ended", self.reason)] if self.finished else []
        first = "gains are against its result; the patch leads from the start of the first run, as it is on disk"
        fork = [("Fork", f"of {self.story.forked_from}; {first}")] if self.story.forked_from else []
        last = Section(sentences=[*ended, ("Took", self.spending), *fork, *self.next_steps()])
        return [*self.report.sections(), last]

    def page_sections(self) -> list[Section]:
        patch = [Section("What changed", patch=self.patch)] if self.patch else []
        return [*self.report.sections(), *patch, *self._brief()]

    def to_dict(self) -> dict[str, Any]:
        fields = {"conclusion": self.conclusion, **run_fields(self), "patch": self.patch}
        return plain_values({**fields, "report": self.report})

    @property
    def spending(self) -> str:
        """Calls, tokens, cost and time, and how many calls repeated a request for a proposal."""
        text = super().spending
        asked = sum(trial.by == "model" for trial in self.report.trials)
        again = self.spent.calls - asked
        # Where a run goes on or was cut off, calls may be for proposals that are not decided; panels have their own.
        if again <= 0 or not self.finished or self.story.panels or self.story.of(SearchCut):
            return text
        return f"{text}; {again} of the calls asked again after an unusable reply"

    def next_steps(self) -> list[tuple[str, str]]:
        """Which command goes on from here."""
        if not self.finished:
            return super().next_steps()
        steps = [("More", f"autoreason show {self.run} [--text | --diff | --html FILE]")]
        export = f"autoreason export {self.run} --patch | git apply"
        if self.worse:
            steps.append(("Keep", f"the start; for the result all the same: {export}"))
        elif self.patch:
            claimed = self.improved or self.status == "accepted"
            label, lead = ("Use it", "") if claimed else ("Try it", "no gain is claimed; ")
            steps.append((label, f"{lead}{export} (in the task's folder, or name that FOLDER)"))
        if self.story.of(SearchCut):
            steps.append(("Go on", f"autoreason fork {self.run}, from the result, with a new test"))
        return steps

    @cached_property
    def _delivered(self) -> Deliverable:
        delivered = deliverable(self.story)
        assert delivered is not None
        return delivered
