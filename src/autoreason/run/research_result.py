"""The result of a run that improved files, for the caller."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from autoreason.artifacts.acceptance import EndResult
from autoreason.artifacts.artifact import Changes, Files, as_text, changes_between, make_patch
from autoreason.artifacts.research_history import Deliverable, SearchCut, deliverable
from autoreason.artifacts.research_report import ResearchReport, research_report
from autoreason.report import numbers
from autoreason.report.report import Section, add_warnings, plain_values
from autoreason.run.result import Result, run_fields
from autoreason.tournament.endings import short_run


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
        first, second, basis, *warnings = self.report.summary(took)
        cut = [
            f"The search ended early: {each.reason}; autoreason fork {short_run(self.run)} goes on."
            for each in self.story.of(SearchCut)
        ]
        return add_warnings([first, f"{second}{patch}", basis], [*cut, *warnings])

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
