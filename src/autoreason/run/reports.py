"""From a recorded run to its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreason.journal import Journal
from autoreason.story import Story, build_story

if TYPE_CHECKING:
    from autoreason.report.report import Report


def report_of(run: str, story: Story, journal: Journal) -> Report:
    """The report of a study, whichever it is."""
    strategy = story.settings.strategy if story.settings else ""
    if strategy == "compare":
        from autoreason.studies.compare.report import comparison_report
        from autoreason.studies.compare.spending import spent_by_part

        return comparison_report(story, spent_by_part(journal, run))
    if strategy == "rejudge":
        from autoreason.studies.panels.rejudge import rejudge_report, rejudged_run

        before = [recorded.event for recorded in journal.events(rejudged_run(story))]
        return rejudge_report(story, build_story(before))
    if strategy == "certify":
        from autoreason.studies.certify.report import certificate_of

        return certificate_of(story)
    from autoreason.studies.panels.results import panel_report

    return panel_report(story)
