"""The end of a set of problems: a program or a table, and the report as files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreason.characters import without_controls
from autoreason.cli.views import outcome, words
from autoreason.cli.views.console import stdout_console
from autoreason.cli.views.progress import Tally
from autoreason.cli.views.studies import took
from autoreason.errors import InvalidInput
from autoreason.files import write
from autoreason.programs.events import solved_in
from autoreason.programs.task import assignments_of

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.cli.runner import OutputOptions
    from autoreason.programs.events import Solved
    from autoreason.programs.solve_report import SolveReport
    from autoreason.run import Result
    from autoreason.story import Story

UNSOLVED = 1
"""Exit status where the one program there is to be fails its tests, or of a set no public test is passed."""
_LEVELS = {
    "bubblewrap": "bubblewrap, in namespaces of its own",
    "landlock": "Landlock and seccomp",
    "seccomp": "seccomp only; this kernel has no Landlock",
    "none": "none: programs ran unprotected",
}


def check_folder(folder: Path | None) -> None:
    """Refuse a folder for the report that is of no use, as far as looking tells."""
    if folder is None:
        return
    with _usable(folder):
        above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        if not above.is_dir():
            raise InvalidInput(f"{above} is a file; name a new folder for --report")
        if folder.exists() and any(folder.iterdir()):
            raise InvalidInput(f"{folder} is not empty; name a new folder for --report")


def try_folder(folder: Path | None) -> None:
    """Find out before anything is spent that a report can be written: make the folder, and take it away again."""
    if folder is None:
        return
    import tempfile

    with _usable(folder):
        new = [each for each in (folder, *folder.parents) if not each.exists()]
        made = []
        try:
            for each in reversed(new):
                each.mkdir()
                made.append(each)
            with tempfile.NamedTemporaryFile(dir=folder):
                pass
        finally:
            for each in reversed(made):
                each.rmdir()


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename or folder
        raise InvalidInput(
            f"cannot make {place}: {error.strerror}; name another folder for --report"
        ) from None


def end(result: Result, manner: OutputOptions, console: Console, seconds: float) -> int:
    """Hand over what came of it, and return the exit status."""
    report = report_of(result.story)
    one = Tally(result.story).one
    program = program_of(result.story) if one else None
    finished = outcome.EXIT[result.status] == 0
    unsolved = finished and _nothing_solved(result.story)
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
    if manner.html:
        outcome.write_page(report, manner.html, _about(result, report))
    if manner.quiet:
        _say_trouble(result, manner)
    else:
        # What a set came to is said with its table, but for programs that read that.
        said = [("", f"Not solved: {_why_unsolved(result.story)}")] if unsolved and not one else []
        said += rows(result, report) if one or manner.as_json else []
        said += [*took(result, seconds), *_files(result, manner)]
        outcome.print_rows([*said, *outcome.next_steps(result)], console)
    return UNSOLVED if unsolved else outcome.EXIT[result.status]


def _nothing_solved(story: Story) -> bool:
    """Whether the program for the one problem fails a test, or every program of a set every public one."""
    if Tally(story).one:
        return not all(map(_is_solved, solved_in(story)))
    return bool(solved_in(story)) and not any(map(_passes_some, solved_in(story)))


def _why_unsolved(story: Story) -> str:
    """What the one program fails, or every program of a set."""
    if Tally(story).one or not story.task:
        return words.solved(solved_in(story)[-1])
    public = [bool(each.public) for each in assignments_of(story.task) if not each.remark]
    some = "public or, where there is none, private" if any(public) else "private"
    which = "public" if all(public) else some
    return f"no program of the set passes a {which} test"


def _is_solved(event: Solved) -> bool:
    """Whether there is a program, and no test that it is not known to pass."""
    examined = [each for each in (event.public, event.private) if each]
    return event.program is not None and all(each.verdict == "accepted" for each in examined)


def _passes_some(event: Solved) -> bool:
    found = event.public or event.private
    return event.program is not None and (found is None or found.passed > 0)


def _say_trouble(result: Result, manner: OutputOptions) -> None:
    """The one sentence that is said even where quiet was asked for; none where all is well."""
    run = result.run
    if outcome.EXIT[result.status]:
        reason = f"{words.ENDINGS[result.status].lower()}: {result.reason}"
        again = f"{run} -o {manner.output}" if manner.output else run
        spent = result.status == "budget"
        said = f"{reason}; {outcome.in_one_line(again, has_text=False, spent=spent)}"
    elif Tally(result.story).one and program_of(result.story) is None:
        why = solved_in(result.story)[-1].reason if solved_in(result.story) else result.reason
        said = "; ".join(filter(None, (why, _unwritten(manner))))
    elif _nothing_solved(result.story):
        said = f"not solved: {_why_unsolved(result.story)}"
    else:
        return
    print(without_controls(f"autoreason: {said}"), file=sys.stderr)


def _files(result: Result, manner: OutputOptions) -> list[tuple[str, str]]:
    """What was written, or how it will be."""
    finished = outcome.EXIT[result.status] == 0
    one, run = Tally(result.story).one, result.run
    said = []
    if manner.output and one:
        written = "" if program_of(result.story) is None else f"written to {manner.output}"
        later = f"once it is finished: autoreason resume {run} -o {manner.output}"
        said.append(("Output", written or (_unwritten(manner) if finished else later)))
    if manner.report:
        later = f"once it is finished: autoreason show {run} --report {manner.report}"
        said.append(("Report", f"written to {manner.report}" if finished else later))
    return said


def _unwritten(manner: OutputOptions) -> str:
    if manner.output is None:
        return ""
    before = ", which is still what it was before" if manner.output.exists() else ""
    return f"nothing was written to {manner.output}{before}"


def show(result: Result, *, as_json: bool, html: Path | None = None) -> None:
    """The table once more, on standard output."""
    report = report_of(result.story)
    if html:
        outcome.write_page(report, html, _about(result, report))
    if as_json:
        outcome.print_json(as_object(result, report))
        return
    one = Tally(result.story).one
    said = took(result)
    if one:
        said = [*rows(result, report), *said]
    else:
        _print_set(result, report)
    if program_of(result.story) and one:
        said.append(("Program", f"autoreason show {result.run} --text"))
    elif outcome.EXIT.get(result.status):
        said += outcome.next_steps(result)
    outcome.print_rows(said, stdout_console())


def _print_set(result: Result, report: SolveReport) -> None:
    """The table of a set and what it comes to, as far as there is any."""
    console = stdout_console()
    if solved_in(result.story):
        console.print(report, soft_wrap=True)
        console.print()
    outcome.print_rows(rows(result, report), console)


def report_of(story: Story) -> SolveReport:
    """The report on what was told so far."""
    from autoreason.plugins import short
    from autoreason.programs.solve_report import solve_report

    terms = Tally(story).terms
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
    if Tally(result.story).one and solved_in(result.story):
        told = solved_in(result.story)[-1]
        found |= {name: getattr(told, name) for name in ("program", "public", "private")}
    return found | {"report": report}


def rows(result: Result, report: SolveReport) -> list[tuple[str, str]]:
    """What is said beneath the table, as labelled sentences."""
    story = result.story
    finished = outcome.EXIT.get(result.status) == 0
    paused = [] if finished else [("", f"{words.ENDINGS[result.status]}: {result.reason}")]
    one = Tally(story).one
    said = [row for event in solved_in(story)[-1:] for row in _one(event)] if one else []
    if one or not solved_in(story):
        said += [("Left out", str(each)) for each in report.left_out]
    if report.levels:
        said.append(("Sandbox", "; ".join(map(_level, report.levels))))
    return [*paused, *said]


def _one(event: Solved) -> list[tuple[str, str]]:
    """What came of one problem."""
    said = [
        ("", f"{_ended(event)}: {event.reason}"),
        ("Attempts", words.count(event.attempts, "program")),
    ]
    if event.program is None:
        return [*said, ("Program", "none")]
    tests = (("Public", event.public), ("Private", event.private))
    return said + [(label, words.examined(found)) for label, found in tests if found]


def _ended(event: Solved) -> str:
    """What is known of the program at the end; public tests alone do not show that it solves the problem."""
    if event.program is not None and outcome.EXIT.get(event.status) == 0:
        if not _is_solved(event):
            return "Not solved"
        if event.private or event.public:
            return "Solved" if event.private else "Passed"
    # No strategy for programs has a last pass: it ends by its tests or by its calls.
    return "Ended" if event.status == "capped" else words.ENDINGS[event.status]


def _level(name: str) -> str:
    return _LEVELS.get(name, name)


def _about(result: Result, report: SolveReport) -> dict[str, str]:
    """How the run was held, for the page."""
    from autoreason.plugins import short

    story, terms = result.story, Tally(result.story).terms
    assert story.settings is not None
    return {
        "Run": result.run,
        "Problems": f"{report.problems:,}",
        "Models": ", ".join(story.settings.models.all()),
        "Strategies": ", ".join(map(short, report.strategies)),
        "Repeats": str(report.repeats),
        "Calls a problem": f"{terms.calls} at most",
        "Seed": str(result.seed),
        "Sandbox": "; ".join(map(_level, report.levels)) or "unknown",
    }
