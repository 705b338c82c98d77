"""`autoreason simulate`: protocols in worlds where the true quality of every text is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.views.progress_line import ProgressLine
from autoreason.errors import InvalidInput
from autoreason.files import check_output, write

if TYPE_CHECKING:
    from autoreason.report.report import Report
    from autoreason.studies.simulate.recorded_ballots import PanelVotes
    from autoreason.studies.simulate.world import World


_WORLDS = options.option(
    "--world NAME|FILE",
    "worlds",
    multiple=True,
    help="A built-in world or a YAML file. Repeatable. [default: every built-in world]",
)
_RUNS = Number(2, 1_000_000)
_SEED = options.option("--seed", type=Number(0), default=1, help="All chance comes from it.")
_JSON = options.flag("--json", "as_json", help="Print one JSON object.")
_what = options.group(
    "What to play",
    _WORLDS,
    options.option(
        "--protocol",
        "protocols",
        multiple=True,
        type=click.Choice(["paper", "robust"]),
        help="Repeatable. [default: both]",
    ),
    options.option(
        "--set NAME=VALUE",
        "changes",
        multiple=True,
        help="Also play the last protocol with this changed, such as k=3. Repeatable.",
    ),
    options.option("--budget CALLS", type=Number(1), help="The most calls of a run."),
)
_how = options.group(
    "How",
    options.option("--runs", type=_RUNS, default=200, help="Runs of each protocol in each world."),
    _SEED,
    options.flag(
        "--fast",
        help="Thousands of runs side by side, not by the tournament's own loop: borda, one draft, B and AB only.",
    ),
)
_evaluations = options.option(
    "--evaluations",
    type=Number(1, 10_000),
    help="What a run may measure, everything included. [default: 200]",
)
_EVALUATIONS = 200
_research = options.group(
    "Rules that keep changes",
    options.flag(
        "--research",
        help="Try the keep rules of `research` instead of protocols: greedy, repeats, races and others.",
    ),
    _evaluations,
)
_NOT_FOR_RULES = (
    *("worlds", "protocols", "changes", "budget", "fast"),
    *("source", "judge_model", "output", "plot"),
)
_fit = options.group(
    "From recorded ballots to a world",
    options.option(
        "--fit RUN|FILE",
        "source",
        help="Estimate the judges of a run in the journal, or of a file of ballots.",
    ),
    options.option("--judge-model NAME", help="Only ballots by this model."),
    options.file("-o", "--output", help="Write the world with these judges there."),
)
_out = options.group(
    "Output",
    options.file("--plot FILE.svg", help="Draw quality against calls."),
    options.html_option,
    _JSON,
    options.quiet_option,
)


@click.group(cls=HelpfulGroup, invoke_without_command=True)
@_what
@_how
@_research
@_fit
@_out
@options.journal_option
@click.pass_context
def simulate(ctx: click.Context, /, **values: Any) -> None:
    """Try protocols in worlds where the truth is known.

    A world says how revisions move the quality of a text and what judges see of it: their noise, the
    taste they share, and what position, newness and length are worth to them. No role in it knows
    which text is which; the table says what was true. Without options it takes a few minutes, by the
    tournament's own loop in every world; --fast takes seconds.

    \b
      autoreason simulate
      autoreason simulate --world harm-new --set k=2 --set playoff=9
      autoreason simulate --fast --runs 10000 --budget 100 --plot curves.svg
      autoreason simulate --fit amber-fox -o my-judges.yaml
      autoreason simulate --world my-judges.yaml
      autoreason simulate --research --runs 2000
    """
    if ctx.invoked_subcommand:
        return
    if values["research"]:
        _try_rules(values)
        return
    if values["evaluations"]:
        raise InvalidInput("--evaluations belongs to --research; give that too or leave it out")
    check_output(values["output"])
    if values["source"]:
        _fit_judges(values)
        return
    if values["output"] or values["judge_model"]:
        raise InvalidInput(
            "--output and --judge-model belong to --fit; give that too or leave them out"
        )
    _try_protocols(values)


@simulate.command(cls=HelpfulCommand, short_help="Find the best settings at equal calls.")
@options.group(
    "How",
    _WORLDS,
    options.option(
        "--calls",
        type=Number(20),
        help="Mean calls of a run over all worlds, at most. [default: 95]",
    ),
    options.option(
        "--runs",
        type=_RUNS,
        help="Runs of each panel in each world; ten times as many for the finalists. [default: 1000]",
    ),
    _SEED,
    options.html_option,
    _JSON,
    options.quiet_option,
)
@options.group(
    "Rules that keep changes",
    options.flag(
        "--research",
        help="Look for the best keep rule of `research` instead, with 200 runs unless --runs says otherwise.",
    ),
    _evaluations,
    options.option(
        "--tries",
        type=Number(1, 10_000),
        help="Settings of each family of rules, the same number for all. [default: 40]",
    ),
)
def search(**values: Any) -> None:
    """Look for the settings that do best where they do worst, at equal calls.

    Panels, stopping rules and playoffs are tried in every world. The best have the smallest
    worst regret: how far a world's text falls short of the best that any of them delivered there.

    With --research, families of keep rules are tuned in six worlds, each with as many tries, and
    the best of each family is played with fresh luck in worlds and budgets that chose nothing.
    """
    if values["research"]:
        _search_rules(values)
        return
    if values["evaluations"] or values["tries"]:
        raise InvalidInput(
            "--evaluations and --tries belong to --research; give that too or leave them out"
        )
    from autoreason.studies.simulate.protocol_search import search_protocols

    worlds, calls, runs = _worlds(values["worlds"]), values["calls"] or 95, values["runs"] or 1000
    _show(values, "tried", partial(search_protocols, worlds, calls, runs, values["seed"]))


def _search_rules(values: dict[str, Any]) -> None:
    if values["worlds"] or values["calls"]:
        raise InvalidInput(
            "--world and --calls belong to protocols; leave them out with --research"
        )
    from autoreason.artifacts.rule_search import search_rules

    evaluations, tries = values["evaluations"] or _EVALUATIONS, values["tries"] or 40
    runs = values["runs"] or 200
    _show(values, "tried", partial(search_rules, evaluations, tries, runs, values["seed"]))


@simulate.command(cls=HelpfulCommand, short_help="Split the last calls of a run.")
@options.group(
    "How",
    _WORLDS,
    options.option(
        "--calls",
        type=Number(3, 40),
        default=14,
        help="Judges of playoff and confirmation together.",
    ),
    options.option("--runs", type=Number(2, 100_000), default=10_000, help="Runs in each world."),
    _SEED,
    options.html_option,
    _JSON,
    options.quiet_option,
)
def split(worlds: tuple[str, ...], calls: int, runs: int, seed: int, **values: Any) -> None:
    """Find how many judges should choose the text to deliver, and how many should confirm it.

    Judges of the playoff choose; those of the confirmation only say whether what was chosen is better than
    the first draft. The best split is the one that stays least behind the best, in any world, both in what
    it delivers and in how often it can say that a better text is better.
    """
    from autoreason.studies.simulate.split import compare_splits

    _show(values, "worlds", partial(compare_splits, _worlds(worlds), calls, runs, seed))


@simulate.command(cls=HelpfulCommand, short_help="How often advice is right.")
@options.group(
    "How",
    options.option("--runs", type=_RUNS, default=10_000, help="Pieces of advice in each world."),
    _SEED,
    options.html_option,
    _JSON,
)
def advise(runs: int, seed: int, html: Path | None, as_json: bool) -> None:
    """Play `autoreason advise` in worlds where it is known what should be advised.

    What is measured is drawn as the world says, with judges who share tastes; what is advised follows
    from it by the rules of the command.
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.studies.advise.operating import study_advice

    show_report(study_advice(runs, seed), as_json=as_json, html=html)


def _try_rules(values: dict[str, Any]) -> None:
    if any(values[name] for name in _NOT_FOR_RULES):
        raise InvalidInput(
            "--research goes with --evaluations, --runs, --seed, --html and --json; leave out the others"
        )
    from autoreason.artifacts.rule_study import study_rules

    evaluations = values["evaluations"] or _EVALUATIONS
    work = partial(study_rules, evaluations, values["runs"], values["seed"])
    _show(values, "cells of the table", work)


def _show(values: dict[str, Any], what: str, work: Callable[[ProgressLine], Report]) -> None:
    """Compute a report, say meanwhile how much of what is done, and show it."""
    from autoreason.cli.views.outcome import show_report

    with ProgressLine(what, quiet=values["quiet"]) as progress:
        report = work(progress)
    show_report(report, as_json=values["as_json"], html=values["html"])


def _try_protocols(values: dict[str, Any]) -> None:
    from autoreason.cli.views.outcome import show_report
    from autoreason.studies.simulate.protocols import choose_protocols
    from autoreason.studies.simulate.simulation_plot import draw
    from autoreason.studies.simulate.study import Plan, run_study

    plot, html = values["plot"], values["html"]
    if plot and not plot.absolute().parent.is_dir():
        raise InvalidInput(f"no folder {plot.parent} for --plot; make it first")
    plan = Plan(
        values["runs"], values["seed"], values["budget"], values["fast"], curves=bool(plot or html)
    )
    protocols = choose_protocols(values["protocols"], values["changes"])
    with ProgressLine("cells of the table", quiet=values["quiet"]) as progress:
        report = run_study(_worlds(values["worlds"]), protocols, plan, progress)
    if plot:
        write(plot, draw(report.cells).svg)
    show_report(report, as_json=values["as_json"], html=html)


def _worlds(names: tuple[str, ...]) -> list[World]:
    from autoreason.studies.simulate.world import built_in_worlds, load_world

    return [load_world(name) for name in dict.fromkeys(names or built_in_worlds())]


def _fit_judges(values: dict[str, Any]) -> None:
    from autoreason.cli.views.outcome import show_report
    from autoreason.studies.simulate.fit import fit_report
    from autoreason.studies.simulate.recorded_ballots import votes_of_judge

    source, judge, output = values["source"], values["judge_model"], values["output"]
    by = f", by {judge}." if judge else "."
    panels = votes_of_judge(_recorded_panels(source, values["journal"]), judge)
    report = fit_report(panels, f"Judges as in {Path(source).name}{by}")
    if output:
        write(output, report.world_file())
    show_report(report, as_json=values["as_json"], html=values["html"])


def _recorded_panels(source: str, journal: str | None) -> list[PanelVotes]:
    from autoreason.studies.simulate.recorded_ballots import from_events, from_file

    if Path(source).suffix or Path(source).is_file():
        return from_file(Path(source))
    from autoreason.cli.lookup import open_journal

    with open_journal(journal) as book:
        row = book.find(source)
        return from_events(row.id, [recorded.event for recorded in book.events(row.id)])
