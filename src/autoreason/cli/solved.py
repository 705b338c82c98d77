"""The end of a set of problems: a program or a table, and the report as files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreason.cli import ending, words
from autoreason.cli.consoles import stdout_console
from autoreason.cli.tally import Tally
from autoreason.errors import InvalidInput
from autoreason.task import without_controls

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.cli.drive import Manner
    from autoreason.code.report import SolveReport
    from autoreason.code.tables import Table
    from autoreason.events import Solved
    from autoreason.run import Result
    from autoreason.story import Story

_ROOMY = 240
_LEVELS = {
    "bubblewrap": "bubblewrap, in namespaces of its own",
    "landlock": "Landlock and seccomp",
    "seccomp": "seccomp only; this kernel has no Landlock",
    "wasi": "WebAssembly",
    "none": "none: programs ran unprotected",
}


def check_folder(folder: Path | None) -> None:
    """Find out before anything is spent that a report can be written where it should go."""
    if folder is None:
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is not empty; name a new folder for --report")
    above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not os.access(above, os.W_OK):
        raise InvalidInput(f"cannot write to {above}; choose another folder for --report")


def end(result: Result, manner: Manner, console: Console, seconds: float) -> int:
    """Hand over what came of it, and return the exit status."""
    status = ending.EXIT[result.status]
    story = result.story
    report = report_of(story)
    alone = program_of(story) if Tally(story).one else None
    if alone and manner.output:
        ending.write(manner.output, alone)
    if manner.as_json:
        ending.print_json(as_object(result, report))
    elif alone:
        if not manner.output:
            ending.show_text(alone, bare=manner.quiet)
    elif story.solved and not Tally(story).one:
        _print_tables(report)
    wanted = manner.report is not None
    if wanted and status == 0:
        write_report(result, report, manner.report)
    if manner.quiet:
        if status:
            reason = f"{words.ENDINGS[result.status].lower()}: {result.reason}"
            steps = ending.in_one_line(result.run, has_text=False)
            print(without_controls(f"autoreason: {reason}; {steps}"), file=sys.stderr)
        return status
    said = [*rows(result, report), *_took(result, seconds)]
    if wanted:
        said.append(("Report", _report_row(manner.report, result, done=status == 0)))
    ending.print_rows([*said, *ending.next_steps(result)], console)
    return status


def show(result: Result, *, as_json: bool) -> None:
    """The table once more, on standard output."""
    report = report_of(result.story)
    if as_json:
        ending.print_json(as_object(result, report))
        return
    if not Tally(result.story).one:
        _print_tables(report)
    said = [*rows(result, report), *_took(result)]
    if program_of(result.story) and Tally(result.story).one:
        said.append(("Program", f"autoreason show {result.run} --text"))
    elif ending.EXIT.get(result.status):
        said += ending.next_steps(result)
    ending.print_rows(said, stdout_console())


def report_of(story: Story) -> SolveReport:
    """The report on what was told so far."""
    from autoreason.code.report import solve_report
    from autoreason.code.solving import called

    terms = Tally(story).terms
    return solve_report(
        story.solved,
        story.task.assignments if story.task else (),
        strategies=tuple(map(called, terms.strategies)),
        repeats=terms.repeats,
        broken=terms.broken,
    )


def write_report(result: Result, report: SolveReport, folder: Path | None) -> None:
    """The report as files, into a folder that is new or empty."""
    from autoreason.code.page import files, write

    check_folder(folder)
    assert folder is not None
    story = result.story
    assigned = story.task.assignments if story.task else ()
    write(folder, files(report, story.solved, assigned, _about(result, report)))


def program_of(story: Story) -> str | None:
    """What was handed in for the one problem of a run."""
    return story.solved[-1].program if story.solved else None


def as_object(result: Result, report: SolveReport) -> dict[str, Any]:
    """The end for programs; of one problem also what was handed in."""
    from autoreason.code.tables import conclusion

    found = {
        "run": result.run,
        "status": result.status,
        "reason": result.reason,
        "calls": result.calls,
        "tokens": result.tokens,
        "cost": result.cost,
        "seed": result.seed,
        "conclusion": conclusion(report),
        "sandbox": sorted(report.levels),
    }
    if Tally(result.story).one and result.story.solved:
        told = result.story.solved[-1]
        found |= {name: getattr(told, name) for name in ("program", "public", "private")}
    return found | {"report": report}


def rows(result: Result, report: SolveReport) -> list[tuple[str, str]]:
    """What is said beneath the table, as labelled sentences."""
    from autoreason.code.tables import conclusion

    story = result.story
    finished = ending.EXIT.get(result.status) == 0
    paused = [] if finished else [("", f"{words.ENDINGS[result.status]}: {result.reason}")]
    if Tally(story).one:
        said = _one(story.solved[-1]) if story.solved else []
    else:
        sentence = conclusion(report)
        said = [("", f"{sentence[0].upper()}{sentence[1:]}.")]
    said += [("Left out", str(each)) for each in report.left_out]
    if report.levels:
        said.append(("Sandbox", "; ".join(map(_level, report.levels))))
    return [*paused, *said]


def _one(event: Solved) -> list[tuple[str, str]]:
    """What came of one problem."""
    ended = f"{words.ENDINGS[event.status]}: {event.reason}"
    said = [("", ended), ("Attempts", words.count(event.attempts, "program"))]
    if event.program is None:
        said.append(("Program", "none"))
    for label, found in (("Public", event.public), ("Private", event.private)):
        if found:
            said.append((label, words.examined(found)))
    return said


def _level(name: str) -> str:
    return _LEVELS.get(name, name)


def _took(result: Result, seconds: float | None = None) -> list[tuple[str, str]]:
    cost = words.money(result.cost) if result.cost is not None else "cost unknown"
    took = [words.count(result.calls, "call"), words.count(result.tokens, "token"), cost]
    if seconds is not None:
        took.append(words.duration(seconds))
    return [("Took", ", ".join(took))]


def _report_row(folder: Path | None, result: Result, *, done: bool) -> str:
    if done:
        return f"written to {folder}"
    return f"once it is finished: autoreason show {result.run} --report {folder}"


def _print_tables(report: SolveReport) -> None:
    from rich.text import Text

    from autoreason.code.tables import tables

    console = stdout_console()
    # Whoever reads a pipe or a file gets every column whole.
    if not console.is_terminal:
        console.width = _ROOMY
    for table in tables(report):
        console.print(Text(table.title, style="bold"))
        console.print(_rich(table))
        console.print()


def _rich(table: Table) -> Any:
    from rich.table import Table as Drawn

    drawn = Drawn(box=None, pad_edge=False, header_style="dim")
    for at, head in enumerate(table.head):
        drawn.add_column(head, justify="left" if at < table.names else "right")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn


def _about(result: Result, report: SolveReport) -> dict[str, str]:
    """How the run was held, for the page."""
    from autoreason.code.tables import called

    story, terms = result.story, Tally(result.story).terms
    assert story.settings is not None
    return {
        "Run": result.run,
        "Problems": f"{report.problems:,}",
        "Models": ", ".join(story.settings.models.all()),
        "Strategies": ", ".join(map(called, report.strategies)),
        "Repeats": str(report.repeats),
        "Calls a problem": f"{terms.calls} at most",
        "Seed": str(result.seed),
        "Sandbox": "; ".join(map(_level, report.levels)) or "unknown",
    }
