"""From a recorded run to its report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from autoreason.journal import Journal
from autoreason.story import Story

if TYPE_CHECKING:
    from autoreason.report.report import Report


def report_of(run: str, story: Story, journal: Journal) -> Report:
    """The report of a job that judges."""
    assert story.settings is not None
    return _REPORTS[story.settings.strategy](run, story, journal)


def _panel(_run: str, story: Story, _journal: Journal) -> Report:
    from autoreason.studies.panels.results import panel_report

    return panel_report(story)


def _rejudged(_run: str, story: Story, journal: Journal) -> Report:
    from autoreason.studies.panels.rejudge import rejudge_report, rejudged_run

    return rejudge_report(story, journal.story(rejudged_run(story)))


def _comparison(run: str, story: Story, journal: Journal) -> Report:
    from autoreason.studies.compare.report import comparison_report
    from autoreason.studies.compare.spending import spent_by_part

    return comparison_report(story, spent_by_part(journal, run))


def _certificate(_run: str, story: Story, _journal: Journal) -> Report:
    from autoreason.studies.certify.report import certificate_of

    return certificate_of(story)


_REPORTS: dict[str, Callable[[str, Story, Journal], Report]] = {
    "judge": _panel,
    "judge_pairs": _panel,
    "rejudge": _rejudged,
    "compare": _comparison,
    "certify": _certificate,
}
"""By the name of the job."""
