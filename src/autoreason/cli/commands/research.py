"""`autoreason research`: improve what a number is known of, and claim only what is true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from autoreason.cli import options
from autoreason.cli.command import EXIT_STATUSES, RECORDED, Command, print_messages
from autoreason.cli.options import field_option, file, flag, group, option
from autoreason.errors import InvalidInput
from autoreason.job_types import Research
from autoreason.models.examples import fill_examples

if TYPE_CHECKING:
    from autoreason.report.report import Report
    from autoreason.run.prepared import PreparedRun

_CHECK = "check"
_CHECK_OPTIONS = ("given", "evaluate", "unsafe", "seed")
_RULES = ("race", "greedy", "independent")
_EXAMPLES = fill_examples("""\
autoreason research check task.md
autoreason research task.md --dry-run --measure
autoreason research task.md -m {model} --cost-limit 5
autoreason research task.md --parallel 2 -o better/
autoreason research task.md --rule race,greedy,independent --repeats 7
autoreason export last --patch | git apply
""")
_DETAILS = fill_examples("""\
A task is Markdown: the goal in prose, under a front matter such as this:
  ---
  artifact: pack.py
  evaluate: evaluate.py:score
  better: higher
  items: items.jsonl
  sealed: sealed.jsonl
  ---
  Pack more circles into the square. ...

Rules, all with the same number of evaluations:
  race         a few evaluations of each change; the incumbent is measured again
  greedy       keeps what beats the record in one evaluation, as published
  independent  every change starts from the start; the best one is kept

At a limit or a stop what was kept is tested, which ends the run with 0 or 1.
A check ends with 1 where an attack got through, or none could be tried.
""")


@click.command(cls=Command, shares=RECORDED, examples=_EXAMPLES, details=_DETAILS + EXIT_STATUSES)
@click.argument("given", metavar="[check] TASK", nargs=-1, required=True)
@group(
    "How it searches",
    *(field_option(Research, name) for name in ("evaluations", "parallel", "patience")),
    option(
        "--rule RULE[,RULE]",
        "race, greedy or independent; several are compared, each with all evaluations.  [default: race]",
        rare=True,
    ),
    option("--repeats N", "Runs by each of several rules.", type=int, usual="1", rare=True),
)
@group(
    "How it is measured",
    option("--evaluate COMMAND", "A command or file.py:function in place of the task's own."),
    flag(
        "--unsafe",
        "Without a jail where there is none: what the model writes can do whatever you can.",
    ),
)
@options.research_models_options
@options.limit_options
@options.asking_judges_options
@group(
    "Result",
    file(
        "-o, --output FOLDER",
        "Write the changed files there instead of a patch to standard output.",
    ),
)
@options.dry_run_option
@group(
    "Result",
    flag(
        "--measure",
        "With --dry-run: measure the start a few times, for time, noise and smallest gain.",
    ),
)
def research(given: tuple[str, ...], **values: Any) -> PreparedRun[Any] | tuple[Report, int] | int:
    """Improve a program, config or prompt against a score.

    TASK is a Markdown file that names the artifact and its evaluator. A model proposes changes,
    one at a time; each is measured a few times against the best so far with the same seeds and
    items, and kept or dropped. At the end the result meets the start on evaluations that decided
    nothing, or on sealed items, and only that number is claimed. The files on disk are never
    touched: the result goes to standard output as a patch, or with -o into a folder.

    With check before TASK no model is asked: the evaluator is attacked, and the report says
    whether it is fit to be optimised against.
    """
    import asyncio

    from autoreason.cli import arguments
    from autoreason.cli.console import ProgressLine
    from autoreason.cli.outcome import preview
    from autoreason.cli.runner import record_folder
    from autoreason.run.research import research
    from autoreason.run.studies import compare_rules

    checks = given[0] == _CHECK and len(given) == 2
    if len(given) != 1 + checks or (given == (_CHECK,) and not Path(_CHECK).exists()):
        raise InvalidInput("give one task, a Markdown file; or check and the file")
    if checks:
        _refuse_other_options(click.get_current_context())
    rules = (values["rule"] or "race").split(",")
    if unknown := set(rules) - set(_RULES):
        raise InvalidInput(f"there is no rule {min(unknown)!r}; there are {', '.join(_RULES)}")
    several = len(rules) > 1
    if values["measure"] and (several or not values["dry_run"]):
        raise InvalidInput(
            "--measure goes with --dry-run and one rule, which a run measures itself"
        )
    if several and values["output"]:
        raise InvalidInput("-o needs one result, and several rules have several; leave it out")
    if not several and values["repeats"] is not None:
        raise InvalidInput("--repeats goes with several rules, such as --rule race,greedy")
    if several:
        chosen = arguments.run_options("research", {**values, "rule": None})
        repeats = 1 if values["repeats"] is None else values["repeats"]
        chosen |= {"rules": rules, "repeats": repeats}
        return compare_rules.prepare(given[0], **chosen)
    chosen = arguments.run_options("research", values)
    prepared = research.prepare(given[-1], **chosen)
    if checks:
        quiet = values["progress"] == "none"
        with ProgressLine("attacking the evaluator: evaluation", quiet=quiet) as progress:
            report = asyncio.run(prepared.check_async(progress))
        return report, 0 if report.passed else 1
    if values["measure"]:
        measured = asyncio.run(prepared.measure_start_async())
        print_messages(prepared.notes)
        return preview(prepared, measured)
    return record_folder(prepared, values["output"]) if values["output"] else prepared


def _refuse_other_options(context: click.Context) -> None:
    for each in context.command.params:
        source = context.get_parameter_source(each.name or "")
        if source is ParameterSource.COMMANDLINE and each.name not in _CHECK_OPTIONS:
            raise InvalidInput(
                f"{max(each.opts, key=len)} means nothing to a check, which asks no model and "
                "records no run; leave it out"
            )
