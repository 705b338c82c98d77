"""`autoreason knowledge`: a folder of your own records, checked, searched, tested and added to; A/B tests."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.command import RECORDED, REPORT, SUMMARY, Group, Output, print_message
from autoreason.cli.lookup import run_argument
from autoreason.cli.options import FILE, group, option
from autoreason.errors import InvalidInput
from autoreason.files import check_output, write
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.report.report import Report
    from autoreason.run.prepared import PreparedRun

_PREDICTORS = ("retrieval", "words", "embeddings", "length")
folder_argument = click.argument("folder", metavar="FOLDER")


@click.group(cls=Group)
def knowledge() -> None:
    """Check, search, test and add to records of your own.

    A folder may have approved/*.md and rejected/*.md (the folder is the verdict), facts/*.md,
    style/*.md, feedback/*.md, and tables as mail and campaign tools export them: *.csv, *.tsv,
    *.jsonl. A file kb.toml may say which column is what, what is better, and which files are
    private; without it, columns are guessed, and check shows the guess. The files are the truth: the
    index in the cache folder is rebuilt whenever one of them changes. No model is asked.

    \b
      autoreason knowledge check kb/
      autoreason knowledge test kb/ --predictor retrieval
      autoreason knowledge add kb/ amber-fox --value 0.38 --n 2100 --group spring
      autoreason knowledge ab-plan amber-fox --texts 3 --base 0.2 --to test/
      autoreason knowledge ab-report test/results.csv --knowledge kb/
    """


@knowledge.command(paged=True, shares=SUMMARY)
@folder_argument
def check(folder: str) -> tuple[Report, int]:
    """Show the best and worst texts, and what was understood.

    Texts of one group that differ beyond their error make pairs, with which it can be tested whether
    the records help. What cannot be used is named, and lines that address a model, whose records no
    model is shown unless kb.toml allows it. Exit status 1 where there is no record.

    docs/knowledge.md has what kb.toml may say and which columns there are.
    """
    from autoreason.knowledge.folder_report import check_knowledge

    report = check_knowledge(folder)
    return report, 0 if report.kinds else 1


@knowledge.command(paged=True, shares=REPORT)
@folder_argument
@click.argument("words", nargs=-1, required=True)
@group("Options", option("-n, --limit N", "How many.", type=click.IntRange(1), default=10))
def search(folder: str, words: tuple[str, ...], limit: int) -> Report:
    """Find the records nearest to some words; case and diacritics do not matter."""
    from autoreason.knowledge.folder_report import search_knowledge

    return search_knowledge(folder, " ".join(words), limit=limit)


@knowledge.command()
@folder_argument
@group("Output", option("--to FILE", "Instead of standard output.", name="target"))
def export(folder: str, target: Path | None) -> None:
    """Write all records, private ones too, one JSON object a line.

    What is written is read again as the same records, from any folder.
    """
    from autoreason.knowledge.folder import encode_records, read_folder

    if target == Path("-"):
        target = None
    check_output(target, "--to")
    content = read_folder(folder)
    lines = encode_records(content.records)
    if target is None:
        sys.stdout.buffer.write(lines)
    else:
        write(target, lines.decode())
    private = sum(record.private for record in content.records)
    where = f" written to {target}" if target else ""
    note = f", {private:,} of them private" if private else ""
    number = numbers.count(len(content.records), "record")
    print_message(f"{number}{where}{note}", *(f"left out: {each}" for each in content.problems))


@knowledge.command(shares=f"{RECORDED} evidence")
@folder_argument
@group(
    "What is tested",
    option("-m, --model MODEL", "A judge: with the records, without, and with shuffled ones."),
    option(
        f"--predictor {'|'.join(_PREDICTORS)}", "What answers without a model.", usual="retrieval"
    ),
    option("--pairs N", "Put to a model, six calls each.", type=click.IntRange(1), usual="100"),
)
@group(
    "How models are asked",
    *(options.server_option, options.effort_option, options.seed_option, options.set_option),
)
@options.limit_options
@options.dry_run_option
def test(folder: str, **values: Any) -> PreparedRun[Any] | tuple[Report, int]:
    """Test whether the records tell which of two texts does better.

    Every recorded pair is decided from records of earlier groups alone; where groups have no
    dates, from all other groups. A judge decides blind and in both orders, beside a placebo, the same
    records shuffled, and the length judge, who takes the longer text. Where records help a judge, later
    runs with --knowledge show it outcomes; where a regression does, it has a vote there.

    \b
    Predictors:
      retrieval   the mean outcome of the 20 most similar texts, by BM25
      words       a ridge regression of outcomes on words
      embeddings  the same, also on 256 numbers that known words make of a text
      length      the longer text

    Exit status of predictors: 0 where it helps, else 1.
    """
    from autoreason.cli import arguments
    from autoreason.cli.console import ProgressLine
    from autoreason.knowledge.holdout import evaluate_predictor
    from autoreason.run.knowledge import measure_knowledge

    if values["model"]:
        if values["predictor"]:
            raise InvalidInput("--predictor answers without a model; leave it or -m out")
        return measure_knowledge.prepare(folder, **arguments.run_options("test", values))
    if values["pairs"] is not None or values["dry_run"]:
        raise InvalidInput("--pairs and --dry-run go with -m; name a judge, or leave them out")
    with ProgressLine("pairs") as progress:
        chosen = arguments.given(values, "predictor")
        report = evaluate_predictor(folder, **chosen, on_progress=progress)
    return report, 0 if report.verdict == "helps" else 1


@knowledge.command(shares="as_json journal")
@folder_argument
@run_argument(required=True)
@group(
    "What happened",
    option("--value NUMBER", "The number, such as 0.38 or 38%.", required=True),
    option("--n COUNT", "How many it rests on, such as 2100."),
    option("--metric NAME", "What was measured. [default: the folder's main metric]", default=""),
    option("--better higher|lower", "Which numbers are better.", default="higher"),
    option("--group NAME", "The test, campaign or list it can be compared in.", required=True),
    option("--chosen random|ab|picked|unknown", "How it came to be used.", default="picked"),
    option("--when DATE", "YYYY-MM-DD. [default: today]"),
    option("--private", "Only local models may be shown it."),
)
def add(folder: str, run: str, value: float, **given: Any) -> Output:
    """Append what the text of a run came to, to outcomes.jsonl.

    Without --n the record says that n is unknown, and it makes no pair. A text that judges or
    people picked says little about texts in general, so it informs critics and is left out of tests;
    say --chosen ab where it was one text of a randomised test. What else is known of it (its standard
    error, its audience, a note) goes into a table for `knowledge import`.
    """
    from autoreason.run.knowledge import add_outcome

    with warnings.catch_warnings(record=True, action="always") as caught:
        added = add_outcome(run, value, folder, **given)
    written = f"{added} appended to" if added else "this is already in"
    notes = [f"{written} {Path(folder) / 'outcomes.jsonl'}", *(str(e.message) for e in caught)]
    return Output({"added": added}, notes=notes)


@knowledge.command("import", shares="as_json")
@click.argument("folder", type=FILE)
@click.argument("file", type=FILE)
def import_file(folder: Path, file: Path) -> Output:
    """Append the results of a CSV or JSONL file, each once.

    Columns are guessed, or as kb.toml of the folder names them; lines and columns that are not used are
    named. A file that is imported again adds only what is new, and what kb.toml puts into another group.
    """
    from autoreason.knowledge.folder import import_table
    from autoreason.knowledge.tables import join_alike

    found, added, replaced, known = import_table(file, folder)
    columns, left = found.columns.shown(), len(found.problems)
    read_as = [f"{role}: {column}" for role, column in columns.items()]
    read_as += [f"dates such as {found.dates}"] if found.dates else []
    done = [f"{numbers.count(added, 'record')} added"]
    done += [f"{replaced:,} of them replaced, since kb.toml groups them otherwise"] * bool(replaced)
    done += [
        f"{numbers.count(number, 'line')} repeating what is in {name}"
        for name, number in known.items()
    ]
    done += [f"{numbers.count(left, 'line')} left out"] * bool(left)
    notes = [f"{'; '.join(done)} ({', '.join(read_as)})"]
    unread = ", ".join(found.unread)
    notes += [f"not read: {unread} (kb.toml can name columns)"] * bool(unread)
    notes += (f"left out: {problem}" for problem in join_alike(found.problems))
    fields = {"added": added, "replaced": replaced, "known": known.total(), "columns": columns}
    return Output({**fields, "unread": found.unread, "problems": found.problems}, notes=notes)


@knowledge.command("ab-plan", shares=f"{REPORT} journal")
@run_argument(required=True)
@group(
    "Test",
    option("--texts N", "How many. [default: all alternatives, or 3]", type=click.IntRange(2)),
    option("--base NUMBER", "What the first draft is expected to reach.", default=0.2),
    option("--lift NUMBER", "The smallest rise worth finding, as a share of that.", default=0.1),
    option("--readers COUNT", "All the readers you have: says what rise they can show."),
)
@group("Output", option("--to FOLDER", "Write the texts and a table there.", name="target"))
def plan_test(run: str, texts: int | None, target: Path | None, **values: Any) -> Report:
    """Plan an A/B test of a run's text, its first draft and others.

    Every text gets a code that says nothing, and is to be sent to equally many readers drawn at random.
    From three texts on some are drawn at random, so that not only winners are ever tried.
    """
    from autoreason.run.knowledge import plan_ab

    found = plan_ab(run, texts, **values)
    if target:
        files = found.write(target)
        print_message(f"{len(files)} files written to {target}; fill in results.csv")
    return found


@knowledge.command("ab-report", paged=True, shares=REPORT)
@click.argument("results", type=FILE)
@group(
    "Test",
    option("--plan FOLDER", "Of the plan. [default: that of the results]", name="planned"),
    option("--metric NAME", "What was counted. [default: the folder's main metric]", default=""),
)
@group(
    "Where it goes",
    option("--knowledge FOLDER", "Append the outcomes to these records, to outcomes.jsonl."),
    option("--group NAME", "The name of the test there. [default: the run's]", default=""),
)
def report_test(results: Path, planned: Path | None, **values: Any) -> tuple[Report, int]:
    """Read the counts of an A/B test.

    RESULTS has the columns code, n and count, or is an export with a column of codes. Intervals hold
    however often you look. Exit status 1 where readers were not split equally, for then
    something chose among them and no rate can be compared; nothing is handed on.
    """
    from autoreason.run.knowledge import report_ab

    found = report_ab(results, planned, **values)
    return found, 1 if found.is_unequal else 0
