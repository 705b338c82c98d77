"""The end of problems that were solved: a program or the report of a set, and the report as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreason.cli.views import outcome
from autoreason.cli.views.message import print_message
from autoreason.files import write
from autoreason.report.report import write_folder
from autoreason.run.result import ending, how_to_go_on

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.cli.output import OutputOptions
    from autoreason.run.products import Solution

UNSOLVED = 1
"""Exit status where the one program there is to be fails its tests, or of a set no public test is passed."""


def end(solution: Solution, options: OutputOptions, console: Console) -> int:
    """Print or write the program or the report, and return the exit status."""
    program = solution.story.text if solution.one else None
    if program and options.output:
        write(options.output, program)
    if options.as_json:
        outcome.print_json(solution.to_dict())
    elif program and not options.output:
        outcome.show_text(program, bare=options.quiet)
    elif not solution.one:
        from autoreason.cli.views.console import stdout_console

        outcome.print_report(solution, stdout_console())
    if options.report and solution.finished:
        write_folder(options.report, solution.to_files())
    if options.quiet:
        _print_problem(solution, options)
    else:
        if solution.one:
            outcome.print_report(solution, console)
        elif solution.unsolved:
            outcome.print_rows([("", f"Not solved: {solution.unsolved}")], console)
        outcome.print_rows(_files(solution, options), console)
    outcome.write_page(solution, options.html)
    return UNSOLVED if solution.unsolved else outcome.EXIT[solution.status]


def _print_problem(solution: Solution, options: OutputOptions) -> None:
    """The one sentence that is printed even with --progress none; none where all is well."""
    if not solution.finished:
        again = f" -o {options.output}" if options.output else ""
        steps = how_to_go_on(solution.run, solution.story, has_text=False, options=again)
        problem = f"{ending(solution)}; {steps}"
    elif solution.one and not solution.story.text:
        reason = solution.solved[-1].reason if solution.solved else solution.reason
        problem = "; ".join(filter(None, (reason, _unwritten(options))))
    elif solution.unsolved:
        problem = f"not solved: {solution.unsolved}"
    else:
        return
    print_message(f"autoreason: {problem}")


def _files(solution: Solution, options: OutputOptions) -> list[tuple[str, str]]:
    """What was written, or how it will be."""
    later = f"once it is finished: autoreason {{}} {solution.run}"
    rows = []
    if options.output and solution.one:
        written = f"written to {options.output}" if solution.story.text else _unwritten(options)
        resume = f"{later.format('resume')} -o {options.output}"
        rows.append(("Output", written if solution.finished else resume))
    if options.report:
        show = f"{later.format('show')} --report {options.report}"
        rows.append(("Report", f"written to {options.report}" if solution.finished else show))
    return rows


def _unwritten(options: OutputOptions) -> str:
    if options.output is None:
        return ""
    before = ", which is still what it was before" if options.output.exists() else ""
    return f"nothing was written to {options.output}{before}"
