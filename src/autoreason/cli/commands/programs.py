"""`solve`, `problems` and `research`: programs for problems with tests, and what a number is known of."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from autoreason.cli import options
from autoreason.cli.command import (
    EXIT_STATUSES,
    RECORDED,
    REPORT,
    Command,
    Group,
    print_message,
    shared,
)
from autoreason.cli.options import FILE, field_option, group, option
from autoreason.errors import InvalidInput
from autoreason.files import check_output, write
from autoreason.job_types import Research, Solve
from autoreason.models.examples import fill_examples
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.cli.runner import LabelledRows
    from autoreason.report.report import Report
    from autoreason.run.prepared import PreparedRun
    from autoreason.run.verbs import RunHooks


NOT_RUN = 6
"""Exit status where a test could not be run, which says nothing about the program."""
_SHOWN_RECORDS = 10
_SOLVE_EXAMPLES = fill_examples("""\
autoreason solve problem.json -m {model} > solution.py
autoreason solve problems.jsonl --difficulty hard --limit 20 --dry-run
autoreason solve problems.jsonl --strategy all --repeats 3
""")
_SOLVE_DETAILS = fill_examples("""\
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

A set ends with 0 where one program or more passes a public test.
""")


@click.command(
    cls=Command, shares=RECORDED, examples=_SOLVE_EXAMPLES, details=_SOLVE_DETAILS + EXIT_STATUSES
)
@click.argument("problems", type=FILE)
@group(
    "Which problems",
    option("--problem ID...", "Only this one.", name="ids"),
    option("--difficulty NAME", "Only those of this difficulty."),
    option("--limit N", "Only the first N of them."),
)
@group(
    "How they are solved",
    option("--strategy NAMES", "One or several with commas between, or all. [default: search]"),
    option("--repeats N", "How often each strategy solves each problem.", usual="1"),
    field_option(Solve, "calls"),
    option("--width N", "Problems solved at once.", usual="32"),
)
@group(
    "How programs are run",
    option("--test-time-limit SECONDS", "Processor time of a test. [default: the problem's]"),
    option("--test-memory-limit MB", "Memory of a test. [default: the problem's]"),
    option("--unsafe", "Without a sandbox: what the model writes can do whatever you can."),
)
@options.models_options
@options.limit_options
@options.asking_judges_options
@group("Result", option("-o, --output FILE", "Write the program there."))
@options.dry_run_option
def solve(problems: Path, **values: Any) -> int:
    """Write programs for problems with tests, and score them.

    PROBLEMS is one problem as JSON, or a set with one problem per line. Public tests steer: models
    see them, and how their programs fail. Private tests only score: no model sees them, and they are
    run once, at the end. Programs are in Python and run in a sandbox, or not at all.

    Of one problem the program goes to standard output; a set is a suite, whose `show --evidence` has
    shares of problems passed with intervals, paired tests between strategies, and what was left out;
    `show --report DIR` writes that and the programs into files.
    """

    import asyncio

    from autoreason.cli import arguments
    from autoreason.cli.outcome import preview
    from autoreason.cli.runner import announce_run, start_run
    from autoreason.run.solve import open_problems, prepare_solve

    notes: list[str] = []
    rows: LabelledRows = []
    chosen = arguments.run_options("solve", values)
    prepared = prepare_solve(**chosen)
    check_output(values["output"])
    assigned = open_problems(prepared, problems, **chosen)

    async def read() -> PreparedRun[Any]:
        async with assigned as run:
            return run

    async def drive(**hooks: Unpack[RunHooks]) -> Any:
        async with assigned as run:
            notes.extend(_left_out(run, values))
            if values["unsafe"]:
                notes.append("no sandbox: what the model writes can do whatever you can")
            rows.extend(announce_run(run, values))
            return await run.run_async(**hooks)

    if not values["dry_run"]:
        return start_run(drive, prepared, values, notes, rows=rows)
    run = asyncio.run(read())
    print_message(*_left_out(run, values))
    return preview(run)


def _left_out(run: PreparedRun[Any], values: dict[str, Any]) -> list[str]:
    """Records of the file that cannot be used, the first of them; refuses one file for several programs."""

    from autoreason.studies.lab_suite import suite_of

    suite = suite_of(run.task)
    if suite and values["output"]:
        raise InvalidInput("--output is for one program; `show --report DIR` writes several")
    broken = suite.broken if suite else run.settings.job_as(Solve).broken
    return [f"left out, {record}" for record in broken[:_SHOWN_RECORDS]]


# ---- sets --------------------------------------------------------------------------------------


source_argument = click.argument("source", metavar="SOURCE")


@click.group(cls=Group)
def problems() -> None:
    """Show, convert and check sets of problems.

    A set is a JSON file with one problem or a list of them, or a file with one JSON object a line;
    - reads standard input. Records may be our own, or of CodeContests, HumanEval, MBPP or
    LiveCodeBench.

    \b
      autoreason problems show problems.jsonl
      autoreason problems convert codecontests.jsonl --to problems.jsonl
      autoreason problems check problem.json solution.py
    """


@problems.command(paged=True, shares=REPORT)
@source_argument
@group("Options", option("--problem ID", "One problem, without its private tests.", name="name"))
def show(source: str, name: str | None) -> Report:
    """Show what is in a set, or in one problem of it.

    Of one problem, or a file with only one: what is wanted, its limits, how answers are compared,
    and its public tests.
    """

    from autoreason.run.solve import describe_set

    return describe_set(source, name, as_set=shared("as_json"))


@problems.command(shares="as_json")
@source_argument
@group("Output", option("--to FILE", "Instead of standard output.", name="target"))
def convert(source: str, target: Path | None) -> None:
    """Write a set in our own format, one JSON object a line.

    What cannot be used is left out and named, line by line; so are examples of HumanEval's docstrings
    that no program could pass.
    """

    from autoreason.cli.outcome import print_json
    from autoreason.programs.problems.formats import read_problems
    from autoreason.programs.problems.problem import encode_set
    from autoreason.run.solve import SetReport

    if shared("as_json") and target is None:
        raise InvalidInput("--json is the summary of a file that is written; name it with --to")
    check_output(target, "--to")
    if target and target.exists() and Path(source).exists() and target.samefile(source):
        raise InvalidInput(
            f"--to is {source} itself, and what cannot be used would be gone; name another file"
        )
    report = SetReport(read_problems(source))
    lines = encode_set(report.found.problems).decode()
    if target is None:
        sys.stdout.write(lines)
    else:
        write(target, lines)
    where = f" written to {target}" if target else ""
    size = numbers.count(len(report.found.problems), "problem")
    left_out = [f"left out: {record}" for record in report.left_out()]
    print_message(f"{size} ({report.found.format}){where}", *left_out)
    if shared("as_json"):
        print_json(report.to_dict())


@problems.command(shares=REPORT)
@source_argument
@click.argument("program", metavar="[PROGRAM.py]", required=False)
@group(
    "Tests, with PROGRAM.py",
    option("--problem ID", "Which problem of a set.", name="name"),
    option("--every", "Go on after a test that fails."),
    option("--public-only", "Leave out the private tests."),
    option("--test-time-limit SECONDS", "Processor time of a test. [default: the problem's]"),
    option("--test-memory-limit MB", "Memory of a test. [default: the problem's]"),
)
@group("How programs are run", option("--unsafe", "Without a sandbox, like any other program."))
def check(source: str, program: str | None, unsafe: bool, **tests: Any) -> tuple[Report, int]:
    """Run a program, or all known solutions of a set, on the tests.

    No model is asked. With PROGRAM.py, SOURCE is a file with one problem, or a set with --problem;
    - reads either from standard input. Private tests are shown too: it is your file.

    Without it, for the author of a set: a solution that is not accepted means a wrong test, a wrong
    solution or limits too narrow.

    \b
    Exit status:
      0    accepted on every test; of a set, every solution
      1    not accepted, or a record of the set cannot be used
      2    something given cannot be used
      6    a test could not be run, which says nothing about the program
    """
    import asyncio

    from autoreason.cli.console import ProgressLine
    from autoreason.programs.examiner.examiner import select_tests, try_program
    from autoreason.programs.problems.formats import read_program
    from autoreason.run.solve import ProgramReport, check_solutions, read_problem

    if program is None:
        if any(tests.values()):
            raise InvalidInput("options for tests go with a program; name it behind the problem")
        with ProgressLine("solutions") as progress:
            found = asyncio.run(check_solutions(source, unsafe=unsafe, on_done=progress))
        return found, 1 if found.failed or found.found.broken else 0
    if Path(program).suffix in (".json", ".jsonl") or Path(source).suffix == ".py":
        raise InvalidInput("the problem comes first: autoreason problems check SOURCE PROGRAM.py")
    limits = (tests["test_time_limit"], tests["test_memory_limit"])
    problem = read_problem(source, tests["name"], *limits)
    chosen = select_tests(problem, public_only=tests["public_only"])
    with ProgressLine("tests") as progress:
        how: dict[str, Any] = {"every": tests["every"], "unsafe": unsafe}
        how["emit"] = lambda trial: progress(trial.number, len(chosen))
        result = asyncio.run(try_program(problem, read_program(program), chosen, **how))
    status = {"accepted": 0, "sandbox_error": NOT_RUN}.get(result.verdict, 1)
    return ProgramReport(problem, result), status


_RULES = ("race", "greedy", "independent")
_RESEARCH_EXAMPLES = fill_examples("""\
autoreason research check task.md
autoreason research task.md --dry-run --measure
autoreason research task.md -m {model} --cost-limit 5
autoreason research task.md --parallel 2 -o better/
autoreason research task.md --rule race,greedy,independent --repeats 7
autoreason export last --branch better
""")
_RESEARCH_DETAILS = fill_examples("""\
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


@click.command(
    cls=Command,
    shares=RECORDED,
    examples=_RESEARCH_EXAMPLES,
    details=_RESEARCH_DETAILS + EXIT_STATUSES,
)
@click.argument("given", metavar="[check] TASK", nargs=-1, required=True)
@group(
    "How it searches",
    *(field_option(Research, name) for name in ("evaluations", "parallel", "patience")),
    option("--rule RULE[,RULE]", "race, greedy or independent; several are compared.", rare=True),
    option("--repeats N", "Runs by each of several rules.", usual="1", rare=True),
)
@group(
    "How it is measured",
    option("--evaluate COMMAND", "A command or file.py:function in place of the task's own."),
    option("--unsafe", "Also where there is no jail: what is proposed can do whatever you can."),
)
@options.model_options(
    "Who proposes changes.", "Asked where the task has `judge` and the score does not decide."
)
@options.limit_options
@options.asking_judges_options
@group("Result", option("-o, --output FOLDER", "Write the changed files there, not a patch."))
@options.dry_run_option
@group("Result", option("--measure", "With --dry-run: measure the start, for time and noise."))
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

    *check, task = given
    if check not in ([], ["check"]) or (given == ("check",) and not Path(task).exists()):
        raise InvalidInput("give one task, a Markdown file; or check and the file")
    if check:
        prepared = research.prepare(task, **arguments.run_options("research", values))
        quiet = values["progress"] == "none"
        with ProgressLine("attacking the evaluator: evaluation", quiet=quiet) as progress:
            report = asyncio.run(prepared.check_async(progress))
        return report, 0 if report.passed else 1
    rules = (values["rule"] or "race").split(",")
    if unknown := set(rules) - set(_RULES):
        raise InvalidInput(f"there is no rule {min(unknown)!r}; there are {', '.join(_RULES)}")
    several = len(rules) > 1
    if values["measure"] and (several or not values["dry_run"]):
        raise InvalidInput("--measure goes with --dry-run and one rule; a run measures itself")
    if several and values["output"]:
        raise InvalidInput("-o needs one result, and several rules have several; leave it out")
    if not several and values["repeats"] is not None:
        raise InvalidInput("--repeats goes with several rules, such as --rule race,greedy")
    if several:
        chosen = arguments.run_options("research", {**values, "rule": None})
        repeats = 1 if values["repeats"] is None else values["repeats"]
        return compare_rules.prepare(task, **chosen | {"rules": rules, "repeats": repeats})
    prepared = research.prepare(task, **arguments.run_options("research", values))
    if values["measure"]:
        measured = asyncio.run(prepared.measure_start_async())
        print_message(*prepared.notes)
        return preview(prepared, measured)
    return record_folder(prepared, values["output"]) if values["output"] else prepared
