"""From a recorded run to its report, and to what later runs go by."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from autoreason.events import FINISHED
from autoreason.job_types import Advise, Certify, JobType, KnowledgeTest, Lab, Rejudge
from autoreason.journal import Journal
from autoreason.report.report import Report
from autoreason.run.result import Result, StudyResult, result_fields

if TYPE_CHECKING:
    from autoreason.studies.lab.lab_report import LabReport


def reported_result(result: Result, journal: Journal) -> Result:
    """The result of any run as the report on what it was for."""
    product = result.story.writes
    if product == "programs":
        from autoreason.run.products import Solution

        return Solution(**result_fields(result))
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
            from autoreason.run.products import Solution

            found = suite_report(result, journal) if result.finished else None
            return Solution(**result_fields(result), final_report=found)
    report = _report_of(result, journal) if result.finished else None
    return StudyResult(**result_fields(result), final_report=report)


def suite_report(result: Result, journal: Journal) -> LabReport:
    """The report of a suite, so far as it has come."""
    from autoreason.run.lab_status import origin_of
    from autoreason.studies.lab.lab_report import lab_report

    return lab_report(result.story, origin_of(journal.row(result.run), result.story))


def _report_of(result: Result, journal: Journal) -> Report:
    """What a finished job found; its modules are loaded when they are needed."""
    story = result.story
    match story.job:
        case Rejudge():
            from autoreason.studies.panels.rejudge import rejudge_report, rejudged_run

            return rejudge_report(story, journal.story(rejudged_run(story)))
        case Advise():
            from autoreason.studies.advice_job import advice_report, spent_by_role

            return advice_report(result.run, story, spent_by_role(journal, result.run))
        case Lab():
            return suite_report(result, journal)
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
            from autoreason.studies.certify.certificate import keep_certificate

            keep_certificate(result.story, result.run, if_missing=if_missing)
        elif isinstance(settings.job, KnowledgeTest) and not if_missing:
            from autoreason.studies.knowledge_test import keep_verdicts

            keep_verdicts(result.story, result.run)
    except OSError as error:
        what = "certificate" if isinstance(settings.job, Certify) else "verdict"
        message = f"the {what} cannot be kept ({error.strerror}); the run has it"
        (on_warning or warnings.warn)(f"{message}: `autoreason show {result.run}`")
