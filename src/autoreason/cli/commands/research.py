"""`autoreason research`: improve what a number is known of, and claim only what is true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.errors import InvalidInput
from autoreason.job_types import Research
from autoreason.models.examples import fill_examples

if TYPE_CHECKING:
    from autoreason.run.lab import PreparedLab
    from autoreason.run.research import MeasuredStart, PreparedMeasuring, PreparedResearch

_CHECK = "check"
_CHECK_OPTIONS = ("given", "evaluate", "unsafe", "seed")
"""What means something to a check."""
_RULES = ("race", "greedy", "independent")
_EXAMPLES = fill_examples("""\
autoreason research check task.md
autoreason research task.md --dry-run --measure
autoreason research task.md -m {model} --cost-limit 5
autoreason research task.md --parallel 2 -o better/
autoreason research task.md --rule race,greedy,independent --repeats 7
autoreason export last --branch better
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
  race         a few looks at each change; the incumbent is measured again
  greedy       keeps what beats the record in one look, as published
  independent  every change starts from the start; the best one is kept

Exit status:
  0    the end test shows a gain, or a person accepted the result;
       check: nothing got through
  1    no gain to claim; check: an attack got through, or none could be tried
  2    something given cannot be used; nothing was written
  3    a limit of calls, cost, tokens or time came before anything was kept
  4    the provider failed, or the evaluator could not be run three times
  6    the start has no number or breaks a guard; its measurements are kept
  7    the journal could not be written, such as on a full disk
  130  stopped before anything was kept
At a limit or a stop what was kept is tested, which ends the run with 0 or 1.
After 3, 4, 7 and 130 `autoreason resume` goes on; nothing is measured twice.
""")


@click.command(cls=HelpfulCommand, shares=options.RECORDED, examples=_EXAMPLES, details=_DETAILS)
@click.argument("given", metavar="[check] TASK", nargs=-1, required=True)
@options.group(
    "How it searches",
    *(options.field_option(Research, name) for name in ("evaluations", "parallel", "patience")),
    options.option(
        "--rule RULE[,RULE]",
        help="race, greedy or independent; several are compared, each with all evaluations.  [default: race]",
        rare=True,
    ),
    options.option(
        "--repeats N", type=int, help="Runs by each of several rules.", usual="1", rare=True
    ),
)
@options.group(
    "How it is measured",
    options.option(
        "--evaluate COMMAND", help="A command or file.py:function in place of the task's own."
    ),
    options.flag(
        "--unsafe",
        help="Without a jail where there is none: what the model writes can do whatever you can.",
    ),
    options.flag(
        "--unchecked",
        help="Begin even where the artifact could write its own score, or might; the conclusion says so.",
    ),
)
@options.research_models_options
@options.limit_options
@options.asking_judges_options
@options.group(
    "Result",
    options.file(
        "-o",
        "--output FOLDER",
        help="Write the changed files there instead of a patch to standard output.",
    ),
)
@options.dry_run_option
@options.group(
    "Result",
    options.flag(
        "--measure",
        help="With --dry-run: measure the start a few times, for time, noise and smallest gain.",
    ),
)
def research(given: tuple[str, ...], **values: Any) -> int:
    """Improve a program, config or prompt against a score.

    TASK is a Markdown file that names the artifact and its evaluator. A model proposes changes,
    one at a time; each is measured a few times against the incumbent with the same seeds and
    items, and kept or dropped. At the end the result meets the start on evaluations that decided
    nothing, or on sealed items, and only that number is claimed. The files on disk are never
    touched: the result goes to standard output as a patch, or with -o into a folder.

    With check before TASK no model is asked: the evaluator is attacked, and the report says
    whether it is fit to be optimised against.
    """
    from autoreason.cli import arguments
    from autoreason.cli.output import record_folder
    from autoreason.cli.runner import start_run
    from autoreason.run.research import research

    checks = _is_check(given)
    if checks:
        _refuse_other_options(click.get_current_context())
    if values["measure"] and not values["dry_run"]:
        raise InvalidInput("--measure goes with --dry-run; a run measures the noise by itself")
    rules = (values["rule"] or "race").split(",")
    if unknown := set(rules) - set(_RULES):
        raise InvalidInput(f"there is no rule {min(unknown)!r}; there are {', '.join(_RULES)}")
    if len(rules) > 1:
        return _compare(given, rules, values)
    if values["repeats"] is not None:
        raise InvalidInput("--repeats goes with several rules, such as --rule race,greedy")
    prepared = research.prepare(
        given[-1],
        evaluate=values["evaluate"],
        **arguments.research_options(values),
    )
    if checks:
        return _check(prepared, values)
    if values["dry_run"]:
        import asyncio

        measured = asyncio.run(prepared.measure_start_async()) if values["measure"] else None
        return _dry_run(prepared, values, measured)
    folder = values["output"]
    recorded = record_folder(prepared, folder) if folder else prepared
    return start_run(recorded.run_async, recorded, values, list(prepared.notes))


def _is_check(given: tuple[str, ...]) -> bool:
    """Whether an evaluator is to be attacked; there must be one task."""
    if given == (_CHECK,) and not Path(_CHECK).exists():
        raise InvalidInput("name the task to check: autoreason research check TASK")
    checks = given[0] == _CHECK and len(given) == 2
    if len(given) != 1 + checks:
        raise InvalidInput("give one task: a Markdown file; or check and the file")
    return checks


def _compare(given: tuple[str, ...], rules: list[str], values: dict[str, Any]) -> int:
    from autoreason.cli import arguments
    from autoreason.cli.runner import start_run
    from autoreason.run.studies import compare_rules

    if values["measure"]:
        raise InvalidInput("--measure is the same for every rule; name one, or none")
    if values["output"]:
        raise InvalidInput("-o needs one result, and several rules have several; leave it out")
    repeats = values["repeats"]
    chosen = arguments.research_options({**values, "rule": None})
    prepared = compare_rules.prepare(
        given[0],
        evaluate=values["evaluate"],
        **chosen | {"rules": rules, "repeats": 1 if repeats is None else repeats},
    )
    if values["dry_run"]:
        return _dry_run(prepared, values)
    return start_run(prepared.run_async, prepared, values, list(prepared.notes))


def _refuse_other_options(context: click.Context) -> None:
    """Refuse what was given on the command line and means nothing to a check."""
    for each in context.command.params:
        source = context.get_parameter_source(each.name or "")
        if source is ParameterSource.COMMANDLINE and each.name not in _CHECK_OPTIONS:
            raise InvalidInput(
                f"{max(each.opts, key=len)} means nothing to a check, which asks no model and "
                "records no run; leave it out"
            )


def _check(prepared: PreparedResearch, values: dict[str, Any]) -> int:
    import asyncio

    from autoreason.cli.views.outcome import show_report
    from autoreason.cli.views.progress_line import ProgressLine

    with ProgressLine(
        "attacking the evaluator: evaluation", quiet=values["progress"] == "none"
    ) as progress:
        report = asyncio.run(prepared.check_async(progress))
    show_report(report, as_json=values["as_json"], html=values["html"])
    return 0 if report.passed else 1


def _dry_run(
    prepared: PreparedMeasuring[Any] | PreparedLab,
    values: dict[str, Any],
    measured: MeasuredStart | None = None,
) -> int:
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.preview import dry_run

    for note in prepared.notes:
        print_message(note)
    return dry_run(prepared, as_json=values["as_json"], html=values["html"], measured=measured)
