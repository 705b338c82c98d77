"""The end of a set of problems: a program or a table, and the report as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreason.characters import without_controls
from autoreason.cli.views import outcome
from autoreason.cli.views.console import stdout_console
from autoreason.files import write
from autoreason.programs import statements as program_statements
from autoreason.programs.events import solved_in
from autoreason.programs.progress import SolveProgress
from autoreason.programs.task import assignments_of
from autoreason.run.result import how_to_go_on

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.cli.runner import OutputOptions
    from autoreason.programs.solve_report import SolveReport
    from autoreason.run import Result
    from autoreason.story import Story

UNSOLVED = 1
"""Exit status where the one program there is to be fails its tests, or of a set no public test is passed."""


def end(result: Result, manner: OutputOptions, console: Console) -> int:
    """Hand over what came of it, and return the exit status."""
    report = report_of(result.story)
    one = SolveProgress(result.story).one
    program = program_of(result.story) if one else None
    finished = outcome.EXIT[result.status] == 0
    unsolved = finished and program_statements.is_unsolved(result.story, one=one)
    if program and manner.output:
        write(manner.output, program)
    if manner.as_json:
        outcome.print_json(as_object(result, report))
    elif program and not manner.output:
        outcome.show_text(program, bare=manner.quiet)
    elif not one:
        _print_set(result, report)
    if manner.report and finished:
        write_report(result, report, manner.report)
    outcome.write_page(report, manner.html, _about(result, report))
    if manner.quiet:
        _print_problem(result, manner)
    else:
        # The result of a set is printed with its table, but for programs that read that.
        lines = rows(result, report) if one or manner.as_json else []
        if unsolved and not one:
            why = program_statements.why_unsolved(result.story, one=one)
            lines.insert(0, ("", f"Not solved: {why}"))
        lines += [outcome.took(result), *_files(result, manner), *result.next_steps()]
        outcome.print_rows(lines, console)
    return UNSOLVED if unsolved else outcome.EXIT[result.status]


def _print_problem(result: Result, manner: OutputOptions) -> None:
    """The one sentence that is printed even where quiet was asked for; none where all is well."""
    run, one = result.run, SolveProgress(result.story).one
    if outcome.EXIT[result.status]:
        again = f"{run} -o {manner.output}" if manner.output else run
        over_budget = result.status == "budget"
        steps = how_to_go_on(again, has_text=False, over_budget=over_budget)
        problem = f"{result.conclusion}; {steps}"
    elif one and program_of(result.story) is None:
        why = solved_in(result.story)[-1].reason if solved_in(result.story) else result.reason
        problem = "; ".join(filter(None, (why, _unwritten(manner))))
    elif program_statements.is_unsolved(result.story, one=one):
        problem = f"not solved: {program_statements.why_unsolved(result.story, one=one)}"
    else:
        return
    print(without_controls(f"autoreason: {problem}"), file=sys.stderr)


def _files(result: Result, manner: OutputOptions) -> list[tuple[str, str]]:
    """What was written, or how it will be."""
    finished = outcome.EXIT[result.status] == 0
    one, run = SolveProgress(result.story).one, result.run
    lines = []
    if manner.output and one:
        written = "" if program_of(result.story) is None else f"written to {manner.output}"
        later = f"once it is finished: autoreason resume {run} -o {manner.output}"
        lines.append(("Output", written or (_unwritten(manner) if finished else later)))
    if manner.report:
        later = f"once it is finished: autoreason show {run} --report {manner.report}"
        lines.append(("Report", f"written to {manner.report}" if finished else later))
    return lines


def _unwritten(manner: OutputOptions) -> str:
    if manner.output is None:
        return ""
    before = ", which is still what it was before" if manner.output.exists() else ""
    return f"nothing was written to {manner.output}{before}"


def show(result: Result, *, as_json: bool, html: Path | None = None) -> None:
    """The table once more, on standard output."""
    report = report_of(result.story)
    outcome.write_page(report, html, _about(result, report))
    if as_json:
        outcome.print_json(as_object(result, report))
        return
    one = SolveProgress(result.story).one
    lines = [outcome.took(result)]
    if one:
        lines = [*rows(result, report), *lines]
    else:
        _print_set(result, report)
    if program_of(result.story) and one:
        lines.append(("Program", f"autoreason show {result.run} --text"))
    elif outcome.EXIT.get(result.status):
        lines += result.next_steps()
    outcome.print_rows(lines, stdout_console())


def _print_set(result: Result, report: SolveReport) -> None:
    """The table of a set and what it comes to, as far as there is any."""
    console = stdout_console()
    if solved_in(result.story):
        console.print(report, soft_wrap=True)
        console.print()
    outcome.print_rows(rows(result, report), console)


def report_of(story: Story) -> SolveReport:
    """The report on what was solved so far."""
    from autoreason.plugins import short
    from autoreason.programs.solve_report import solve_report

    terms = SolveProgress(story).terms
    return solve_report(
        solved_in(story),
        assignments_of(story.task) if story.task else (),
        strategies=tuple(map(short, terms.strategies)),
        repeats=terms.repeats,
        broken=terms.broken,
    )


def write_report(result: Result, report: SolveReport, folder: Path) -> None:
    """The report as files."""
    from autoreason.programs.report_files import files
    from autoreason.programs.report_files import write as write_files

    story = result.story
    assigned = assignments_of(story.task) if story.task else ()
    write_files(folder, files(report, solved_in(story), assigned, _about(result, report)))


def program_of(story: Story) -> str | None:
    """What was handed in for the one problem of a run."""
    return solved_in(story)[-1].program if solved_in(story) else None


def as_object(result: Result, report: SolveReport) -> dict[str, Any]:
    """The end for programs; of one problem also what was handed in."""
    found = {
        "run": result.run,
        "status": result.status,
        "reason": result.reason,
        "calls": result.calls,
        "tokens": result.tokens,
        "cost": result.cost,
        "seed": result.seed,
        "conclusion": report.conclusion,
        "sandbox": sorted(report.levels),
    }
    if SolveProgress(result.story).one and solved_in(result.story):
        last = solved_in(result.story)[-1]
        found |= {name: getattr(last, name) for name in ("program", "public", "private")}
    return found | {"report": report}


def rows(result: Result, report: SolveReport) -> list[tuple[str, str]]:
    """What is printed beneath the table, as labelled sentences."""
    story = result.story
    finished = outcome.EXIT.get(result.status) == 0
    paused = [] if finished else [("", result.sentence)]
    one = SolveProgress(story).one
    lines = (
        [row for event in solved_in(story)[-1:] for row in program_statements.problem_rows(event)]
        if one
        else []
    )
    if one or not solved_in(story):
        lines += [("Left out", str(each)) for each in report.left_out]
    if report.levels:
        lines.append(("Sandbox", "; ".join(map(program_statements.sandbox_level, report.levels))))
    return [*paused, *lines]


def _about(result: Result, report: SolveReport) -> dict[str, str]:
    """How the run worked, for the page."""
    from autoreason.plugins import short

    story, terms = result.story, SolveProgress(result.story).terms
    assert story.settings is not None
    return {
        "Run": result.run,
        "Problems": f"{report.problems:,}",
        "Models": ", ".join(story.settings.models.all()),
        "Strategies": ", ".join(map(short, report.strategies)),
        "Repeats": str(report.repeats),
        "Calls a problem": f"{terms.calls} at most",
        "Seed": str(result.seed),
        "Sandbox": "; ".join(map(program_statements.sandbox_level, report.levels)) or "unknown",
    }
