"""`autoreason solve`: write programs for problems with tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.errors import InvalidInput
from autoreason.job_types import Solve
from autoreason.models.examples import fill_examples

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from autoreason.run.prepared import PreparedRun
    from autoreason.run.products import Solution
    from autoreason.run.verbs import RunHooks

_SHOWN_RECORDS = 10
_EXAMPLES = fill_examples("""\
autoreason solve problem.json -m {model} > solution.py
autoreason solve problems.jsonl --difficulty hard --limit 20 --dry-run
autoreason solve problems.jsonl --strategy all --repeats 3 --report out/
""")
_DETAILS = fill_examples("""\
Strategies, all with the same number of calls a problem:
  search           attempts, repairs or merges, whichever has worked; of the
                   programs that pass the public tests, one that behaves as
                   most of them do on other inputs
  single           independent attempts; the first that passes public tests
  best_of_n        independent attempts, the one that passes most of them
  critique_revise  critique and revision in turn
  analyse_revise   an analysis of the failure, then revisions; keeps the best
  tournament       program, revision and synthesis; public tests decide which
                   are on the ballot, and blind judges decide among equals
  file.py:Class    one of your own

Exit status:
  0    the one problem is solved: its program passes every test; of a set,
       every problem was tried, and the table shows which are solved
  1    not solved: for one problem there is no program, or one that fails a
       test; of a set, no program passes a single public test
  2    something given cannot be used; nothing was written
  3    the budget is reached
  4    the provider failed
  7    the journal could not be written, such as on a full disk
  130  stopped
After 3, 4, 7 and 130 `autoreason resume` goes on; nothing is paid for twice.
""")


@click.command(cls=HelpfulCommand, shares=options.RECORDED, examples=_EXAMPLES, details=_DETAILS)
@click.argument("problems", type=options.FILE)
@options.group(
    "Which problems",
    options.option("--problem ID", "ids", multiple=True, help="Only this one."),
    options.option("--difficulty NAME", help="Only those of this difficulty."),
    options.option("--limit N", type=int, help="Only the first N of them."),
)
@options.group(
    "How they are solved",
    options.option(
        "--strategy NAMES", help="One or several with commas between, or all. [default: search]"
    ),
    options.option(
        "--repeats N",
        type=int,
        help="How often each strategy solves each problem.",
        usual="1",
    ),
    options.field_option(Solve, "calls"),
    options.option("--width N", type=int, help="Problems solved at once.", usual="32"),
)
@options.group(
    "How programs are run",
    options.option(
        "--test-time-limit SECONDS",
        type=float,
        help="Processor time of a test, instead of the problem's own.",
    ),
    options.option(
        "--test-memory-limit MB", type=int, help="Memory of a test, instead of the problem's own."
    ),
    options.flag(
        "--unsafe", help="Without a sandbox: what the model writes can do whatever you can."
    ),
)
@options.models_options
@options.limit_options
@options.asking_judges_options
@options.group(
    "Result",
    options.file(
        "--report DIR", help="Write page, numbers, one row per part, picture and programs there."
    ),
    options.file("-o", "--output", help="Write the program there instead of to standard output."),
)
@options.dry_run_option
def solve(problems: Path, **values: Any) -> int:
    """Write programs for problems with tests, and score them.

    PROBLEMS is one problem as JSON, a set with one problem per line, or - for standard input. Public
    tests steer: models see them, and how their programs fail. Private tests only score: no model sees
    them, and they are run once, at the end. Programs are in Python
    and run in a sandbox, or not at all.

    Of one problem the program goes to standard output; a set ends with a table of pass rates
    with intervals, paired tests between strategies, and what was left out.
    """
    from autoreason.cli import arguments
    from autoreason.cli.standard_input import on_disk
    from autoreason.files import check_output
    from autoreason.programs.report_files import check_folder, try_folder
    from autoreason.run.solve import open_problems, prepare_solve

    chosen = arguments.solve_options(values)
    prepared = prepare_solve(**chosen)
    check_output(values["output"])
    check_folder(values["report"])
    if not values["dry_run"]:
        try_folder(values["report"])
    with on_disk(problems) as path:
        assigned = open_problems(prepared, path, **chosen)
        if values["dry_run"]:
            return _dry_run(assigned, values)
        return _start(assigned, prepared, values)


def _dry_run(
    assigned: AbstractAsyncContextManager[PreparedRun[Solution]], values: dict[str, Any]
) -> int:
    import asyncio

    from autoreason.cli.views.console import print_line, stderr_console
    from autoreason.cli.views.preview import dry_run

    async def look() -> PreparedRun[Any]:
        async with assigned as run:
            _check_output(run, values)
            return run

    run = asyncio.run(look())
    for note in _left_out(run):
        print_line(stderr_console(), note)
    return dry_run(run, as_json=values["as_json"], html=values["html"])


def _start(
    assigned: AbstractAsyncContextManager[PreparedRun[Solution]],
    prepared: PreparedRun[Any],
    values: dict[str, Any],
) -> int:
    from autoreason.cli.runner import start_run
    from autoreason.models.pool import warm_up

    notes: list[str] = []

    async def drive(**hooks: Unpack[RunHooks]) -> Solution:
        warm_up(prepared.settings.models.all())
        async with assigned as run:
            _check_output(run, values)
            notes.extend(_left_out(run))
            if values["unsafe"]:
                notes.append("no sandbox: what the model writes can do whatever you can")
            return await run.run_async(**hooks)

    return start_run(drive, prepared, values, notes)


def _check_output(run: PreparedRun[Any], values: dict[str, Any]) -> None:
    """Refuse one file for several programs."""
    from autoreason.studies.lab.lab_suite import suite_of

    if values["output"] and suite_of(run.task):
        raise InvalidInput("--output is for one program; use --report DIR for several")


def _left_out(run: PreparedRun[Any]) -> list[str]:
    """Records of the file that cannot be used, the first of them."""
    from autoreason.studies.lab.lab_suite import suite_of

    suite = suite_of(run.task)
    every = suite.broken if suite else run.settings.job_as(Solve).broken
    broken = every[:_SHOWN_RECORDS]
    return [f"left out, {record}" for record in broken]
