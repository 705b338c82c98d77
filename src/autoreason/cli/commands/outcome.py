"""`autoreason outcome`: what really happened, fed back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.fields import Figure, Number
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.lookup import run_argument
from autoreason.report import numbers

knowledge_option = options.group(
    "Where it goes",
    options.file(
        "--knowledge FOLDER",
        required=True,
        help="The folder of records; outcomes.jsonl in it is appended to.",
    ),
)


@click.group(cls=HelpfulGroup)
def outcome() -> None:
    """Record what became of texts in the world.

    \b
      autoreason outcome add amber-fox --value 0.38 --n 2100 \\
          --group spring --knowledge kb/
      autoreason outcome import march.csv --knowledge kb/
    """


@outcome.command(cls=HelpfulCommand, short_help="What the text of a run came to.")
@run_argument(required=True)
@options.group(
    "What happened",
    options.option(
        "--value NUMBER", type=Figure(), required=True, help="The number, such as 0.38 or 38%."
    ),
    options.option("--n", type=Number(1), help="How many it rests on, such as 2100."),
    options.option(
        "--se NUMBER", type=float, help="Its standard error, where that is known instead."
    ),
    options.option("--metric", default="result", help="What was measured."),
    options.option(
        "--better",
        type=click.Choice(["higher", "lower"]),
        default="higher",
        help="Which numbers are better.",
    ),
    options.option(
        "--group", required=True, help="The test, campaign or list it can be compared in."
    ),
    options.option(
        "--chosen",
        type=click.Choice(["random", "ab", "picked", "unknown"]),
        default="picked",
        help="How the text came to be used; picked ones are left out of tests.",
    ),
    options.option("--when DATE", help="YYYY-MM-DD. [default: today]"),
    options.option("--audience", default="", help="Who read it."),
    options.option("--note", default="", help="Anything else. [default: the run's name]"),
    options.flag("--private", help="Only local models may be shown it."),
)
@knowledge_option
@options.journal_option
@options.json_option
def add(run: str, value: float, knowledge: Path, as_json: bool, **given: Any) -> None:
    """Append what the text that a run delivered came to.

    Without --n the record says that n is unknown, and it makes no pair. A text that judges or
    people picked says little about texts in general, so it informs critics and is left out of tests;
    say --chosen ab where it was one arm of a randomised test.

    \b
      autoreason outcome add amber-fox --value 0.38 --n 2100 \\
          --group spring --knowledge kb/
    """
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.outcome import print_json
    from autoreason.run.outcome_record import add_outcome

    added = add_outcome(run, value, knowledge, **given)
    if as_json:
        print_json({"added": added})
    else:
        written = f"{added} appended to" if added else "this is already in"
        print_message(f"{written} {knowledge / 'outcomes.jsonl'}")


@outcome.command("import", cls=HelpfulCommand, short_help="The results of a table.")
@click.argument("file", type=options.FILE)
@knowledge_option
@options.json_option
def import_file(file: Path, knowledge: Path, as_json: bool) -> None:
    """Append the results of a CSV or JSONL file, each once.

    Columns are guessed, or as kb.toml of the folder names them; lines that cannot be used are named. A
    file that is imported again adds only what is new.

    \b
      autoreason outcome import march.csv --knowledge kb/
    """
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.outcome import print_json
    from autoreason.knowledge.folder import append_outcomes, read_outcomes

    records, columns, problems, dates = read_outcomes(file, knowledge)
    new = append_outcomes(knowledge, records)
    known = len(records) - len(new)
    if as_json:
        counts = {"added": len(new), "known": known, "problems": problems}
        print_json({**counts, "columns": columns.shown()})
        return
    read_as = ", ".join(f"{role}: {column}" for role, column in columns.shown().items())
    read_as += f", dates such as {dates}" if dates else ""
    before = f"; {known:,} were there" if known else ""
    print_message(f"{numbers.count(len(new), 'record')} added{before} ({read_as})")
    for problem in problems:
        print_message(f"left out: {problem}")
