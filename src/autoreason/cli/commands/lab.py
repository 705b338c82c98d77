"""`autoreason lab`: experiments as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.lookup import complete_run, open_journal, run_argument
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput
from autoreason.models.examples import with_examples

_models = options.group(
    "Models",
    options.option(
        "-m",
        "--model [NAME=]MODEL",
        "given_models",
        multiple=True,
        help="Plays every role for which the suite names no model; NAME= for one that it leaves open.",
    ),
    options.server_option,
)
_how = options.group(
    "How it is run",
    options.option(
        "--repeats",
        type=Number(1),
        help="How often each arm does each task, instead of what the suite says.",
    ),
    options.setting("seed", usual="the suite's, else drawn"),
)


@click.group(cls=HelpfulGroup)
@with_examples
def lab() -> None:
    """Run experiments: tasks by arms, planned and reported.

    A suite is a YAML file with tasks, arms, repeats, a panel, and comparisons that are fixed before
    the first call. Every cell, one task by one arm, is a run of its own; work that cells share is done
    once. `autoreason show` says how far a suite is, `resume` goes on with one that paused.

    \b
      autoreason lab plan suite.yaml -m local/smollm2
      autoreason lab run suite.yaml -m {cheap} --cost-limit 5
      autoreason lab report --to report/
      autoreason lab run --more amber-fox
    """


@lab.command(cls=HelpfulCommand, shares=options.RECORDED, short_help="Run every cell of a suite.")
@click.argument("suite", metavar="SUITE.yaml|RUN", required=False, shell_complete=complete_run)
@_models
@options.group("Models", options.batch_option, options.setting("allow_http"))
@_how
@options.group(
    "How it is run",
    options.option(
        "--parallel", type=Number(1), help="Cells at a time.  [default: 16; with --batch 1000]"
    ),
    options.option(
        "--workers",
        type=Number(0),
        help="Processes that run cells; without it they run in this one.",
    ),
    options.option(
        "--ray ADDRESS",
        help="Run cells on a Ray cluster: host:port, auto, or local to start one. Needs a journal on a server.",
    ),
    options.flag("--anyway", help="Run it even where nothing could be shown in the end."),
    options.flag("--more", help="Add repeats to a finished suite, by the rule in its file."),
)
@options.limit_options
@with_examples
def run(suite: str | None, more: bool, **values: Any) -> int:
    """Run every cell of a suite, and report on what it asks.

    Limits are over all cells together; `budget.cell` in the file limits each. A cell that fails is
    left out and named. Where too little could be shown, that is said, and nothing is run without
    --anyway.

    With --more, RUN is the run of a finished suite, by default the newest. Repeats are added where an
    interval is still too wide, by the rule that the suite fixed beforehand: a new run has all its
    cells, which are not run again, and those of the added repeats. The report says what was added.
    Where the rule asks for no more, a sentence says so and nothing is run.

    \b
      autoreason lab run suite.yaml -m {cheap} --cost-limit 5
      autoreason lab run suite.yaml -m local/smollm2 --repeats 2 --anyway
      autoreason lab run tiers.yaml -m strong={other} -m weak=echo/echo
      autoreason lab run --more amber-fox
    """

    from autoreason.cli.runner import start_run
    from autoreason.run.lab import lab

    if more:
        return _run_more(suite, values)
    if suite is None:
        raise InvalidInput("name a suite, a YAML file; or add --more to a finished one")
    prepared = lab.prepare(Path(suite), **_options(values))
    return start_run(prepared.run_async, prepared, values)


@lab.command(
    cls=Paged,
    shares="as_json html journal",
    short_help="Cells, calls, cost, and what they can show.",
)
@click.argument("suite", metavar="SUITE.yaml", type=options.FILE)
@_models
@_how
@options.limit_options
def plan(suite: Path, as_json: bool, html: Path | None, **values: Any) -> None:
    """Say what a suite would take and what it could show; nothing is called.

    For every planned test: the smallest share of tasks, or with fewer than six of pairs (a task in a
    repeat by both arms), that must favour one arm for the test to show it four times out of five. What `lab run`
    would refuse is refused after the plan, with the same sentence and exit status.
    """

    from autoreason.cli.views.outcome import show_report
    from autoreason.run.lab import lab

    prepared = lab.prepare(suite, **_options(values))
    found = prepared.plan()
    show_report(found, as_json=as_json, html=html)
    prepared.check_plan(found)
    prepared.check_models()


@lab.command(
    cls=Paged,
    shares="as_json html journal",
    short_help="The report of a suite, so far as it has come.",
)
@run_argument(required=False)
@options.group(
    "Output",
    options.file(
        "--to DIR",
        "folder",
        help="Write it there: as HTML, Markdown, JSON and CSV, with one row per cell. An earlier "
        "report on the same run is replaced.",
    ),
)
def report(
    run: str | None, folder: Path | None, journal: str | None, as_json: bool, html: Path | None
) -> None:
    """Show the answers of a suite, its tables and its plots; of one under way, what is there so far.

    RUN is the name of a suite's run or a part of it; without one, the newest suite.
    """
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.outcome import show_report
    from autoreason.programs.report_files import check_folder, write
    from autoreason.run.lab_status import report_of
    from autoreason.studies.lab.lab_files import earlier_files

    with open_journal(journal) as book:
        found = report_of(run, journal=book)
    earlier = earlier_files(folder, found.runs) if folder else []
    if not earlier:
        check_folder(folder)
    show_report(found.report, as_json=as_json, html=html)
    if folder:
        for path in earlier:
            path.unlink()
        write(folder, found.files())
        print_message(f"written to {folder}")


def _run_more(run: str | None, values: dict[str, Any]) -> int:
    settled = (
        "repeats",
        "parallel",
        "workers",
        "ray",
        "anyway",
        "seed",
        "given_models",
        "base_url",
    )
    for name in settled:
        if values[name]:
            raise InvalidInput("--more goes with limits alone: all else is as the suite has it")
    from autoreason.cli.runner import start_run
    from autoreason.cli.views.live import Live
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.lab import NothingToAdd, prepare_add
    from autoreason.run.lab_status import find_suite_run, time_worked
    from autoreason.run.record import recorded_result
    from autoreason.run.reports import reported_result

    live = Live()
    with open_journal(values["journal"]) as book:
        row, *_ = find_suite_run(run, book)
        live.worked_on_bases = time_worked(row, book)
        try:
            prepared = prepare_add(row.id, **_options(values))
        except NothingToAdd as nothing:
            print_message(f"autoreason: {nothing}")
            if values["as_json"] or values["html"]:
                result = reported_result(recorded_result(row, book.story(row.id), book), book)
                show_report(result, as_json=values["as_json"], html=values["html"])
            return 0
    return start_run(prepared.run_async, prepared, values, live=live)


def _options(values: dict[str, Any]) -> dict[str, Any]:
    """What the options give, by the names of the library's arguments."""
    from autoreason.cli import arguments

    chosen = arguments.run_options("lab", values)
    chosen |= arguments.given(values, "repeats", "parallel", "workers", "ray", "anyway")
    named: dict[str, str] = {}
    for given in values.get("given_models") or ():
        name, equals, address = given.partition("=")
        if not equals:
            name, address = "", given
        if name in named:
            raise InvalidInput(f"-m is given twice{f' for {name}' if name else ''}; give it once")
        named[name] = address
    if "" in named:
        chosen["model"] = named.pop("")
    return chosen | ({"named_models": named} if named else {})
