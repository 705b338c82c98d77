"""`autoreason simulate`: protocols in worlds where the true quality of every text is known."""

from __future__ import annotations

from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.views.progress_line import ProgressLine


@click.command(cls=HelpfulCommand, shares="as_json html progress")
@options.group(
    "Protocols and worlds",
    options.option(
        "--world NAME|FILE",
        "worlds",
        multiple=True,
        help="A built-in world or a YAML file. Repeatable. [default: every built-in world]",
    ),
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
    options.option(
        "--runs",
        type=Number(2, 1_000_000),
        default=200,
        help="Runs of each protocol in each world.",
    ),
    options.option("--seed", type=Number(0), default=1, help="The seed of all random draws."),
)
def simulate(**values: Any) -> None:
    """Try protocols in worlds where the truth is known.

    A world says how revisions move the quality of a text and what judges see of it: their noise, the
    taste they share, and what position, newness and length are worth to them. No role in it knows
    which text is which; the table says what was true. Without options it takes a few minutes.

    \b
      autoreason simulate
      autoreason simulate --world harm-new --set k=2 --set playoff=9
      autoreason simulate --world my-judges.yaml --runs 1000 --budget 100
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.studies.simulate.study import Plan, choose_protocols, run_study
    from autoreason.studies.simulate.world import load_worlds

    plan = Plan(values["runs"], values["seed"], values["budget"])
    protocols = choose_protocols(values["protocols"], values["changes"])
    with ProgressLine("cells of the table", quiet=values["progress"] == "none") as progress:
        report = run_study(load_worlds(values["worlds"]), protocols, plan, progress)
    show_report(report, as_json=values["as_json"], html=values["html"])
