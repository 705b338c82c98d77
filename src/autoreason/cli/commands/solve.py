"""`autoreason solve`: write programs for problems with tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from autoreason.cli import options
from autoreason.cli.fields import Field
from autoreason.cli.help import HelpfulCommand
from autoreason.errors import InvalidInput
from autoreason.models.examples import fill_examples

if TYPE_CHECKING:
    from autoreason.programs.assignment import Assignment
    from autoreason.programs.examiner.client import ExaminerClient
    from autoreason.programs.problems.sets import BrokenRecord
    from autoreason.run.options import RunHooks
    from autoreason.run.prepared import PreparedRun
    from autoreason.run.result import Result

_SHOWN_LINES = 10
_EPILOG = fill_examples("""\
\b
Strategies, all with the same number of calls a problem:
  search           attempts, repairs or merges, whichever has worked; of the programs that pass
                   the public tests, one that behaves as most of them do on other inputs
  single           independent attempts, the first that passes the public tests
  best_of_n        independent attempts, the one that passes most of them
  critique_revise  critique and revision in turn
  analyse_revise   an analysis of the failure, then revisions; the best is kept
  tournament       program, revision and synthesis; public tests gate the ballot and blind
                   judges decide among equals
  file.py:Class    one of your own

\b
Examples:
  autoreason solve problem.json -m {model} > solution.py
  autoreason solve problems.jsonl --difficulty hard --limit 20 --dry-run
  autoreason solve problems.jsonl --strategy all --repeats 3 --report out/ --cost-limit 20

\b
Exit status:
  0    the one problem is solved: its program passes every test; of a set, every problem was
       worked on, and what is solved is in the table
  1    not solved: of one problem no program came, or one that fails a test; of a set, no program
       passes a single public test
  2    something given cannot be used; nothing was written
  3    the budget is reached
  4    the provider failed
  7    the journal could not be written, such as on a full disk
  130  stopped
After 3, 4, 7 and 130 `autoreason resume` goes on; nothing is paid for twice.
""")


@click.command(cls=HelpfulCommand, epilog=_EPILOG)
@click.argument("problems", type=options.FILE)
@options.group(
    "Which problems",
    options.option(
        "--problem", "ids", metavar="ID", multiple=True, help="Only this one. Repeatable."
    ),
    options.option("--difficulty", metavar="NAME", help="Only those of this difficulty."),
    options.option("--limit", type=int, metavar="N", help="Only the first N of them."),
)
@options.group(
    "How they are solved",
    options.option(
        "--strategy",
        metavar="NAMES",
        help="One or several with commas between, or all. [default: search]",
    ),
    *(
        options.field_option(Field("autoreason.programs.solve", "SolveTerms", name))
        for name in ("repeats", "calls", "width")
    ),
)
@options.group(
    "How programs are run",
    options.option(
        "--test-time-limit",
        type=float,
        metavar="SECONDS",
        help="Processor time of a test, instead of the problem's own.",
    ),
    options.option(
        "--test-memory-limit",
        type=int,
        metavar="MB",
        help="Memory of a test, instead of the problem's own.",
    ),
    options.option(
        "--unsafe",
        is_flag=True,
        help="Without a sandbox: what the model writes can do whatever you can.",
    ),
)
@options.solving_options
@options.group(
    "Output",
    options.option(
        "--report",
        type=options.FILE,
        metavar="DIR",
        help="Write page, numbers, one row per part, picture and programs there.",
    ),
    options.option(
        "-o",
        "--output",
        type=options.FILE,
        metavar="FILE",
        help="Write the program there instead of to standard output.",
    ),
)
@options.table_options
def solve(problems: Path, **values: Any) -> int:
    """Write programs for problems with tests, and score them.

    PROBLEMS is one problem as JSON, a set with one problem per line, or - for standard input. Public
    tests steer: models see them, and how their programs fail. Private tests only score: nobody sees
    them, and they are run once, at the end. Programs are in Python
    and run in a sandbox, or not at all.

    Of one problem the program goes to standard output; a set ends with a table of pass rates
    with intervals, paired tests between strategies, and what was left out.
    """
    from autoreason.cli import arguments
    from autoreason.cli.standard_input import on_disk
    from autoreason.cli.views.solution_set import check_folder, try_folder
    from autoreason.files import check_output

    prepared = _prepare(values)
    check_output(values["output"])
    check_output(values["html"], "--html")
    check_folder(values["report"])
    arguments.require_positive(values, ("limit",))
    arguments.require_limits(values["test_time_limit"], values["test_memory_limit"])
    if not values["dry_run"]:
        try_folder(values["report"])
    with on_disk(problems) as path:
        work = _dry_run if values["dry_run"] else _begin
        return work(path, prepared, values)


def _prepare(values: dict[str, Any]) -> PreparedRun:
    """The run, but for the problems, which are read later."""
    from autoreason.cli import arguments
    from autoreason.run.solve import prepare_solve
    from autoreason.settings import DEFAULT_MODEL

    prepared = prepare_solve(values["model"] or DEFAULT_MODEL, **arguments.solve_options(values))
    if len(prepared.settings.strategy_options["strategies"]) > 1:
        from autoreason.studies.panels.panel_report import require_statistics

        require_statistics()
    return prepared


def _dry_run(problems: Path, prepared: PreparedRun, values: dict[str, Any]) -> int:
    import asyncio

    from autoreason.cli.views.console import print_line, stderr_console
    from autoreason.cli.views.dry_run import dry_run

    async def look() -> PreparedRun:
        examiner = await _open(problems, values)
        try:
            for each in examiner.broken[:_SHOWN_LINES]:
                print_line(stderr_console(), _left_out(each))
            return _assign(problems, examiner, prepared, values)
        finally:
            await examiner.close()

    return dry_run(asyncio.run(look()), as_json=values["as_json"])


def _begin(problems: Path, prepared: PreparedRun, values: dict[str, Any]) -> int:
    """Open the set, check everything, then open the journal and drive the run."""
    from autoreason.cli.embedded import notes_on, require_weights
    from autoreason.cli.runner import OutputOptions, closing, hold
    from autoreason.cli.views.certificates import warn_of_failed_judges
    from autoreason.models.open import warm_up

    settings = prepared.settings
    require_weights(settings)
    warn_of_failed_judges(settings)
    notes: list[str] = []

    async def go(**hooks: Unpack[RunHooks]) -> Result:
        warm_up(settings.models.all())
        async with closing(await _open(problems, values)) as examiner:
            notes.extend((*_notes(examiner), *notes_on(settings)))
            return await _assign(problems, examiner, prepared, values).run_async(**hooks)

    return hold(go, OutputOptions.of(values), notes=notes)


def _notes(examiner: ExaminerClient) -> Iterator[str]:
    """What a user should know before programs are written."""
    yield from map(_left_out, examiner.broken[:_SHOWN_LINES])
    if examiner.level == "none":
        yield "no sandbox: what the model writes can do whatever you can"


async def _open(problems: Path, values: dict[str, Any]) -> ExaminerClient:
    """The process that reads the set; only it ever sees the private tests."""
    from autoreason.programs.examiner.client import ExaminerClient

    return await ExaminerClient.open(
        problems,
        only=values["ids"],
        unsafe=values["unsafe"],
        seconds=values["test_time_limit"],
        memory_mb=values["test_memory_limit"],
    )


def _assign(
    problems: Path, examiner: ExaminerClient, prepared: PreparedRun, values: dict[str, Any]
) -> PreparedRun:
    """The run with what is to be programmed, and with settings that name the set."""
    from autoreason.run.solve import assign

    found = _meant(problems, examiner.assignments, values)
    strategies = prepared.settings.strategy_options["strategies"]
    if values["output"] and len(found) * len(strategies) * (values["repeats"] or 1) > 1:
        raise InvalidInput("--output is for one program; use --report DIR for several")
    terms = {
        "set": examiner.digest,
        "unsafe": values["unsafe"],
        "broken": [str(each) for each in examiner.broken],
    }
    return assign(prepared, examiner, found, terms)


def _meant(
    problems: Path, assignments: tuple[Assignment, ...], values: dict[str, Any]
) -> tuple[Assignment, ...]:
    """Those of the difficulty and number that were asked for."""
    found = list(assignments)
    wanted = values["difficulty"]
    if wanted is not None:
        tiers = sorted({each.difficulty for each in found if each.difficulty})
        found = [each for each in found if each.difficulty.lower() == wanted.lower()]
        if not found:
            there = f"there are {', '.join(tiers)}" if tiers else "its problems have none"
            raise InvalidInput(f"{problems} has no problem of difficulty {wanted!r}; {there}")
    found = found[: values["limit"]]
    if found and all(each.remark for each in found):
        first = found[0]
        raise InvalidInput(f"no problem can be examined fairly; {first.id}: {first.remark}")
    return tuple(found)


def _left_out(broken: BrokenRecord) -> str:
    return f"left out, {broken}"
