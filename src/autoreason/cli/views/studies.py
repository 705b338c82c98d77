"""Runs that judge texts end with a report; this is where it is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreason.cli.views import outcome
from autoreason.cli.views.console import stdout_console

if TYPE_CHECKING:
    from autoreason.journal import Journal
    from autoreason.report.report import Report
    from autoreason.run import Result


def show(
    result: Result, journal: Journal, *, as_json: bool = False, html: Path | None = None
) -> None:
    """Print what a finished study found."""
    from autoreason.run.kinds import written_by
    from autoreason.run.reports import report_of

    if written_by(result.story.settings) == "programs":
        from autoreason.cli.views import solution_set

        solution_set.show(result, as_json=as_json, html=html)
        return
    report = report_of(result.run, result.story, journal)
    outcome.write_page(report, html, outcome.about(result))
    if as_json:
        outcome.print_json(_head(result) | _as_object(report))
        return
    console = stdout_console()
    console.print(report, soft_wrap=True)
    console.print()
    outcome.print_rows([outcome.took(result), *result.next_steps()], console)


def _as_object(report: Report) -> dict[str, Any]:
    """A report for programs, under the names of its kind."""
    from autoreason.studies.certify.report import Certificate
    from autoreason.studies.panels.panel_report import PanelReport
    from autoreason.studies.panels.rejudge import RejudgeReport

    if isinstance(report, RejudgeReport):
        return report.to_dict()
    if isinstance(report, Certificate):
        verdict = {"conclusion": report.conclusion, "verdict": report.verdict}
        return verdict | {"certificate": report}
    broken = {"violations": report.violations} if isinstance(report, PanelReport) else {}
    return {"conclusion": report.conclusion} | broken | {"report": report}


def _head(result: Result) -> dict[str, Any]:
    return {
        "run": result.run,
        "status": result.status,
        "calls": result.calls,
        "tokens": result.tokens,
        "cost": result.cost,
        "seed": result.seed,
    }
