"""Runs that judge texts end with a report; this is where it is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreason.cli.views import outcome, words
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
    if html:
        outcome.write_page(report, html, about(result))
    if as_json:
        outcome.print_json(_head(result) | _as_object(report))
        return
    console = stdout_console()
    console.print(report, soft_wrap=True)
    console.print()
    outcome.print_rows([*took(result), ("More", f"autoreason show {result.run}")], console)


def about(result: Result) -> dict[str, str]:
    """What a page says of the run it comes from."""
    models = result.story.settings.models.all() if result.story.settings else ()
    return {
        "Run": result.run,
        "Models": ", ".join(models),
        "Seed": str(result.seed),
        **dict(took(result)),
    }


def took(result: Result, seconds: float | None = None) -> list[tuple[str, str]]:
    """What a run took, as a labelled sentence."""
    cost = words.money(result.cost) if result.cost is not None else "cost unknown"
    parts = [words.count(result.calls, "call"), words.tokens(result.spent), cost]
    if seconds is not None:
        parts.append(words.duration(seconds))
    return [("Took", ", ".join(parts))]


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
