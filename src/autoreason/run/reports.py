"""From a recorded run to its report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from autoreason.errors import (
    BudgetReached,
    Interruption,
    MetricFailed,
    PanelFailed,
    ProviderFailed,
    Stopped,
)
from autoreason.journal import Journal
from autoreason.report.report import Report, Section, plain_values
from autoreason.run.kinds import written_by
from autoreason.run.result import Result, how_to_go_on, result_fields
from autoreason.story import Story

AnyReport = TypeVar("AnyReport", bound=Report)

_FIELDS = ("run", "status", "reason", "calls", "tokens", "cost", "seed")
_INTERRUPTIONS: dict[str, type[Interruption]] = {
    each.status: each
    for each in (BudgetReached, ProviderFailed, MetricFailed, PanelFailed, Stopped)
}


@dataclass(frozen=True, kw_only=True, repr=False)
class StudyResult(Result, Generic[AnyReport]):
    """The result of a run that judged texts: its report, and what the run took."""

    final_report: AnyReport | None = None
    """None where the run paused."""

    @property
    def report(self) -> AnyReport:
        """What the run found; raises the `Interruption` that keeps a paused run from having one."""
        if self.final_report is None:
            steps = how_to_go_on(self.run, self.story, has_text=False)
            error = _INTERRUPTIONS[self.status](
                f"run {self.run} has no report yet ({self.ending}); {steps}"
            )
            error.limit = self.story.limit
            raise error
        return self.final_report

    @property
    def heading(self) -> str:  # type: ignore[override]
        """That of the report."""
        return self.final_report.heading if self.final_report else super().heading

    @property
    def conclusion(self) -> str:
        """That of the report, or why there is none."""
        return self.final_report.conclusion if self.final_report else self.ending

    def names(self) -> Sequence[str]:
        """Those of the report."""
        return self.final_report.names() if self.final_report else ()

    def about(self) -> dict[str, str]:
        """How the run worked, and what the report says of it."""
        return super().about() | dict(self.final_report.about() if self.final_report else {})

    def sections(self) -> list[Section]:
        """Those of the report, then what the run took, and on a page what was to be written."""
        if self.final_report is None:
            return super().sections()
        last = Section(sentences=[self.took, *self.next_steps()])
        # A certificate's own questions are the brief there.
        brief = [] if self.story.strategy == "certify" else self._brief()
        return [*self.final_report.sections(), last, *brief]

    def to_dict(self) -> dict[str, Any]:
        """The end of the run, and the report under the names of its kind."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        found = self.final_report.run_fields() if self.final_report else {}
        return plain_values({"conclusion": self.conclusion} | fields | found)


def reported_result(result: Result, journal: Journal) -> Result:
    """The result of any run as the report on what it was for."""
    product = written_by(result.story.settings)
    if product == "programs":
        from autoreason.run.solution import solution_of

        return solution_of(result)
    if product == "files":
        from autoreason.run.research_result import research_result

        return research_result(result)
    if product == "text":
        return result
    if result.story.strategy == "lab":
        from autoreason.studies.lab.lab_suite import suite_of

        # Its calls are those of its cells, which are runs of their own.
        result = replace(result, spent=journal.cells_spent(result.run))
        suite = suite_of(result.story.task)
        if suite and suite.form == "problems":
            from autoreason.run.solution import solution_of

            return solution_of(result)
    report = None
    if result.finished:
        report = _REPORTS[result.story.strategy](result.run, result.story, journal)
    return StudyResult(**result_fields(result), final_report=report)


def _panel(_run: str, story: Story, _journal: Journal) -> Report:
    from autoreason.studies.panels.panel_results import panel_report

    return panel_report(story)


def _rejudged(_run: str, story: Story, journal: Journal) -> Report:
    from autoreason.studies.panels.rejudge import rejudge_report, rejudged_run

    return rejudge_report(story, journal.story(rejudged_run(story)))


def _certificate(_run: str, story: Story, _journal: Journal) -> Report:
    from autoreason.studies.certify.certificate import certificate_of

    return certificate_of(story)


def _knowledge(_run: str, story: Story, _journal: Journal) -> Report:
    from autoreason.studies.knowledge_test.knowledge_report import knowledge_report

    return knowledge_report(story)


def _advice(run: str, story: Story, journal: Journal) -> Report:
    from autoreason.studies.advise.advice_report import advice_report, spent_by_role

    return advice_report(run, story, spent_by_role(journal, run))


def _lab(run: str, story: Story, journal: Journal) -> Report:
    from autoreason.run.lab_status import origin_of
    from autoreason.studies.lab.lab_report import lab_report

    return lab_report(story, origin_of(journal.row(run), story))


_REPORTS: dict[str, Callable[[str, Story, Journal], Report]] = {
    "judge": _panel,
    "judge_pairs": _panel,
    "rejudge": _rejudged,
    "certify": _certificate,
    "knowledge_test": _knowledge,
    "advise": _advice,
    "lab": _lab,
}
"""By the name of the job."""
