"""From a recorded run to its report, and to what later runs go by."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Generic, TypeVar

from autoreason.events import FINISHED
from autoreason.job_types import Advise, Certify, JobType, KnowledgeTest, Lab, Rejudge
from autoreason.journal import Journal
from autoreason.report.report import Report, Section, plain_values
from autoreason.run.result import Result, ending, result_fields, run_fields
from autoreason.story import Story

AnyReport = TypeVar("AnyReport", bound=Report)


@dataclass(frozen=True, kw_only=True, repr=False)
class StudyResult(Result, Generic[AnyReport]):
    """The result of a run that judged texts: its report, and what the run took."""

    final_report: AnyReport | None = None
    """None where the run paused."""

    @property
    def report(self) -> AnyReport:
        """What the run found; raises the `Interruption` that keeps a paused run from having one."""
        if self.final_report is None:
            raise self._missing("report")
        return self.final_report

    @property
    def heading(self) -> str:  # type: ignore[override]
        """That of the report."""
        return self.final_report.heading if self.final_report else super().heading

    @property
    def conclusion(self) -> str:
        """That of the report, or why there is none."""
        return self.final_report.conclusion if self.final_report else ending(self)

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
        last = Section(sentences=[("Took", self.spending), *self.next_steps()])
        # A certificate's own questions are the brief there.
        brief = [] if isinstance(self.story.job, Certify) else self._brief()
        return [*self.final_report.sections(), last, *brief]

    def to_dict(self) -> dict[str, Any]:
        """The end of the run, and the report under the names of its kind."""
        found = self.final_report.run_fields() if self.final_report else {}
        return plain_values({"conclusion": self.conclusion} | run_fields(self) | found)


def reported_result(result: Result, journal: Journal) -> Result:
    """The result of any run as the report on what it was for."""
    product = result.story.writes
    if product == "programs":
        from autoreason.run.products import solution_of

        return solution_of(result)
    if product == "files":
        from autoreason.run.products import research_result

        return research_result(result)
    if product == "text":
        return result
    if isinstance(result.story.job, Lab):
        from autoreason.studies.lab.lab_suite import suite_of

        # Its calls are those of its cells, which are runs of their own.
        result = replace(result, spent=journal.cells_spent(result.run))
        suite = suite_of(result.story.task)
        if suite and suite.form == "problems":
            from autoreason.run.products import solution_of

            return solution_of(result)
    report = _report_of(result.run, result.story, journal) if result.finished else None
    return StudyResult(**result_fields(result), final_report=report)


def _report_of(run: str, story: Story, journal: Journal) -> Report:
    """What a finished job found; its modules are loaded when they are needed."""
    match story.job:
        case Rejudge():
            from autoreason.studies.panels.rejudge import rejudge_report, rejudged_run

            return rejudge_report(story, journal.story(rejudged_run(story)))
        case Advise():
            from autoreason.studies.advise.advice_report import advice_report, spent_by_role

            return advice_report(run, story, spent_by_role(journal, run))
        case Lab():
            from autoreason.run.lab_status import origin_of
            from autoreason.studies.lab.lab_report import lab_report

            return lab_report(story, origin_of(journal.row(run), story))
        case JobType(report=place):
            module, _, name = place.partition(":")
            report: Report = getattr(import_module(module), name)(story)
            return report
    raise AssertionError


def store_verdict(
    result: Result, on_warning: Callable[[str], None] | None = None, *, if_missing: bool = False
) -> None:
    """Store what a run ended with, if that is a verdict; `if_missing`, only where there is none."""
    settings = result.story.settings
    if settings is None or result.status not in FINISHED:
        return
    try:
        if isinstance(settings.job, Certify):
            from autoreason.studies.certify.certificate_files import keep_certificate

            keep_certificate(result.story, result.run, if_missing=if_missing)
        elif isinstance(settings.job, KnowledgeTest) and not if_missing:
            from autoreason.studies.knowledge_test.verdict_file import keep_verdicts

            keep_verdicts(result.story, result.run)
    except OSError as error:
        what = "certificate" if isinstance(settings.job, Certify) else "verdict"
        message = f"the {what} cannot be kept ({error.strerror}); the run has it"
        (on_warning or warnings.warn)(f"{message}: `autoreason show {result.run}`")
