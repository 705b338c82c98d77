"""`audit`, `simulate` and `lab`: what records, protocols and suites of runs show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.command import (
    RECORDED,
    REPORT,
    Command,
    Group,
    open_journal,
    print_message,
    shared,
)
from autoreason.cli.lookup import complete_run, find_runs, run_argument, warn_left_out
from autoreason.cli.options import FILE, group, option, setting
from autoreason.errors import InvalidInput, JournalError
from autoreason.models.examples import with_examples

if TYPE_CHECKING:
    from autoreason.journal import Journal
    from autoreason.report.report import Report
    from autoreason.run.prepared import PreparedRun
    from autoreason.studies.audit_findings import AuditedRun


@click.command(cls=Command, paged=True, shares=f"{REPORT} book")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_run)
@group("Which runs", option("--all", "Every run in the journal.", name="every"))
def audit(runs: tuple[str, ...], every: bool, book: Journal) -> Report:
    """Check whether a record is reliable; no model is called.

    Votes that were lost, bias for a position, agreement, whether it stopped for more than coin flips,
    leaks, drift, cut-off replies and more: each with its number, what is normal, and what to do.
    What is said to be more than chance is tested, and corrected for all that is tested: at most one
    record in twenty shows such a thing by chance. Several runs are audited together; without one,
    the newest is.

    \b
      autoreason audit amber-fox
      autoreason audit --all
    """

    from autoreason.cli.console import stderr_console
    from autoreason.studies.audit import audit_runs
    from autoreason.studies.audit_findings import read_run

    if every and runs:
        raise InvalidInput("--all takes every run; name runs or give --all, not both")
    with stderr_console().status("reading") as status:
        if every:
            audited = list(read_every(book, status.update))
        else:
            audited = [part for run in find_runs(book, runs) for part in read_run(run, book)]
        status.update("examining")
        return audit_runs(audited)


def read_every(book: Journal, note: Callable[[str], None]) -> Iterator[AuditedRun]:
    """Every run in the journal, oldest first; one that cannot be read must not hide the others."""

    from autoreason.studies.audit_findings import NotAudited, read_run

    runs = book.stamps()
    for number, run in enumerate(runs, 1):
        note(f"reading run {number:,} of {len(runs):,}")
        try:
            yield from read_run(run, book)
        except JournalError:
            warn_left_out(run, "its record is damaged")
        except NotAudited as left_out:
            warn_left_out(run, f"it {left_out.why}")


@click.command(cls=Command, shares="as_json html progress")
@group(
    "Rules and worlds",
    option(
        "--world NAME|FILE...", "Built in, or a YAML file. [default: all built in]", name="worlds"
    ),
    option("--protocol paper|robust...", "[default: both]", name="protocols"),
    option("--set NAME=VALUE...", "Also the last rules with this changed.", name="changes"),
    option("--budget N", "The most calls of a run.", type=click.IntRange(1)),
    option("--runs N", "Runs in each world.", type=click.IntRange(2, 1_000_000), default=200),
    option("--seed N", "Of all random draws.", type=click.IntRange(0), default=1),
)
def simulate(**values: Any) -> Report:
    """Try the rules in worlds where the truth is known.

    A world says how rewrites move the quality of a text and what judges see of it: their noise, the
    taste they share, and what position, newness and length are worth to them. No one in it knows
    which text is which; the table says what was true. Without options it takes a few minutes.

    \b
      autoreason simulate
      autoreason simulate --world harm-new --set k=2 --set judges=5
      autoreason simulate --world my-judges.yaml --runs 1000 --budget 100
    """
    # They load numpy and scipy, which nothing else here needs.
    from autoreason.cli.console import ProgressLine
    from autoreason.studies.simulation import SimulationPlan, choose_protocols, run_study
    from autoreason.studies.world import load_worlds

    plan = SimulationPlan(values["runs"], values["seed"], values["budget"])
    protocols = choose_protocols(values["protocols"], values["changes"])
    with ProgressLine("fields of the table", quiet=values["progress"] == "none") as progress:
        return run_study(load_worlds(values["worlds"]), protocols, plan, progress)


_models = group(
    "Models",
    option(
        "-m, --model [NAME=]MODEL...",
        "Plays every role for which the suite names no model; NAME= for one that it leaves open.",
        name="given_models",
    ),
    options.server_option,
)
_how = group(
    "How it is run",
    option("--repeats N", "Instead of what the suite says.", type=click.IntRange(1)),
    options.seed_setting(usual="the suite's, else drawn"),
)


@click.group(cls=Group)
def lab() -> None:
    """Run experiments: tasks by methods, planned and reported.

    A suite is a YAML file with tasks, methods, repeats, judges, and comparisons that are fixed before
    the first call. One task by one method is a run of its own; what they share is done once.
    `autoreason show` says how far a suite is, `resume` goes on with one that paused.
    """


@lab.command(shares=RECORDED)
@click.argument("suite", metavar="SUITE.yaml|RUN", required=False, shell_complete=complete_run)
@_models
@group("Models", options.batch_option, setting("allow_http"))
@_how
@group(
    "How it is run",
    option("--parallel N", "At a time. [default: 16; with --batch 1000]", type=click.IntRange(1)),
    option("--workers N", "In so many processes, not in this one.", type=click.IntRange(0)),
    option("--ray ADDRESS", "On a Ray cluster: host:port, auto or local; needs a journal server."),
    option("--anyway", "Run it even where it is too small to show a difference."),
    option("--more", "Add repeats to a finished suite, by the rule in its file."),
)
@options.limit_options
@with_examples
def run(suite: str | None, more: bool, **values: Any) -> PreparedRun[Any] | int:
    """Run all of a suite, and report on what it asks.

    Limits are over all its runs together; `budget.cell` in the file limits each. A run that fails is
    left out and named. Where it is too small to show a difference, that is said, and nothing is run
    without --anyway.

    With --more, RUN is the run of a finished suite, by default the newest. Repeats are added where an
    interval is still too wide, by the rule that the suite fixed beforehand; what was run before is
    not run again. Where the rule asks for no more, a sentence says so.

    \b
      autoreason lab run suite.yaml -m {cheap} --cost-limit 5
      autoreason lab run suite.yaml -m local/smollm2 --repeats 2 --anyway
      autoreason lab run tiers.yaml -m strong={other} -m weak=echo/echo
      autoreason lab run --more amber-fox
    """

    from autoreason.run.lab import lab as suites

    if more:
        return _run_more(suite, values)
    if suite is None:
        raise InvalidInput("name a suite, a YAML file; or add --more to a finished one")
    return suites.prepare(Path(suite), **_options(values))


@lab.command(paged=True, shares=f"{REPORT} journal")
@click.argument("suite", metavar="SUITE.yaml", type=FILE)
@_models
@_how
@options.limit_options
def plan(suite: Path, **values: Any) -> None:
    """Say what a suite would take and could show; nothing is called.

    For every planned test: the smallest share of tasks, or with fewer than six of pairs (a task in a
    repeat by both methods), that must favour one for the test to show it four times out of five.
    What `lab run` would refuse is refused after the plan, with the same sentence and exit status.
    """

    from autoreason.cli.outcome import show_report
    from autoreason.run.lab import lab as suites

    prepared = suites.prepare(suite, **_options(values))
    found = prepared.plan()
    show_report(found)
    prepared.check_plan(found)
    prepared.check_models()


@lab.command(paged=True, shares=f"{REPORT} book")
@run_argument(required=False)
def report(run: str | None, book: Journal) -> Report:
    """Show the answers of a suite, so far as it has come.

    RUN is the name of a suite's run or a part of it; without one, the newest suite. `autoreason show
    RUN --report DIR` writes it into files.
    """

    from autoreason.run.cells import report_of

    return report_of(run, journal=book).report


def _run_more(run: str | None, values: dict[str, Any]) -> int:
    from autoreason.cli.live import Live
    from autoreason.cli.outcome import show_report
    from autoreason.cli.runner import start_run
    from autoreason.run.cells import find_suite_run, time_worked
    from autoreason.run.lab import NothingToAdd, prepare_add
    from autoreason.run.prepared import reported_result
    from autoreason.run.record import recorded_result

    settled = ("repeats", "parallel", "workers", "ray", "anyway", "seed", "given_models")
    if any(values[name] for name in (*settled, "base_url")):
        raise InvalidInput("--more goes with limits alone: all else is as the suite has it")
    live = Live()
    with open_journal(values["journal"]) as book:
        row, *_ = find_suite_run(run, book)
        live.worked_on_bases = time_worked(row, book)
        try:
            prepared = prepare_add(row.id, **_options(values))
        except NothingToAdd as nothing:
            print_message(f"autoreason: {nothing}")
            if shared("as_json") or shared("html"):
                result = recorded_result(row, book.story(row.id), book)
                show_report(reported_result(result, book))
            return 0
    return start_run(prepared.run_async, prepared, values, live=live)


def _options(values: dict[str, Any]) -> dict[str, Any]:
    from autoreason.cli import arguments

    chosen = arguments.run_options("lab", values)
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
