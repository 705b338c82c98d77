"""`autoreason knowledge`: a folder of your own records, checked, searched, tested and added to; A/B tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.fields import Figure, Number
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.lookup import complete_run, find_text_runs, open_journal, run_argument
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput
from autoreason.report import numbers

_PREDICTORS = ("retrieval", "words", "embeddings", "length")
folder_argument = click.argument("folder", metavar="FOLDER")


@click.group(cls=HelpfulGroup)
def knowledge() -> None:
    """Check, search, test and add to records of your own.

    A folder may have approved/*.md and rejected/*.md (the folder is the verdict), facts/*.md,
    style/*.md, feedback/*.md, and tables as mail and campaign tools export them: *.csv, *.tsv,
    *.jsonl. A file kb.toml may say which column is what, what is better, and which files are
    private; without it, columns are guessed, and check shows the guess. The files are the truth: the
    index next to them, .index.sqlite, is rebuilt whenever one of them changes. No model is asked.

    \b
      autoreason knowledge check kb/
      autoreason knowledge search kb/ "free shipping"
      autoreason knowledge test kb/ --predictor retrieval
      autoreason knowledge export kb/ --to records.jsonl
      autoreason knowledge add kb/ amber-fox --value 0.38 --n 2100 --group spring
      autoreason knowledge import kb/ march.csv
      autoreason knowledge ab-plan amber-fox --arms 3 --base 0.2 --to test/
      autoreason knowledge ab-report test/results.csv --knowledge kb/
    """


@knowledge.command(
    cls=Paged, shares=options.REPORT, short_help="Say what was understood, and what could be shown."
)
@folder_argument
def check(folder: str, as_json: bool, html: Path | None) -> int:
    """Show the best and the worst texts of each list, and what was understood: columns, groups, pairs.

    Texts of one group that differ beyond their error make pairs, and only with pairs before which
    something is known can it be tested whether the records help. Lines that address a model are
    named; models are not shown their records unless kb.toml allows it. What cannot be used is named.
    Exit status 1 where there is no record.

    \b
    kb.toml, all of it optional:
      better = "higher"
      encoding = "gbk"
      private = ["clients/*"]
      allow = ["style/prompts.md"]
      [columns]
      text = "Subject"
      [tables."march.csv"]
      count = "Unique Opens"
      n = "Successful Deliveries"
      group = ["List", "month"]

    \b
    Columns: text, value or count and n, se, group, when, audience, verdict,
    score, pair, private, note, metric, better, chosen.
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.knowledge.folder_report import check_knowledge

    report = check_knowledge(folder)
    show_report(report, as_json=as_json, html=html)
    return 0 if report.kinds else 1


@knowledge.command(cls=Paged, shares=options.REPORT, short_help="Find records by their words.")
@folder_argument
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--limit", type=Number(1), default=10, help="How many to show. [default: 10]")
def search(
    folder: str, words: tuple[str, ...], limit: int, as_json: bool, html: Path | None
) -> None:
    """Find the records that are nearest to some words (BM25; case and diacritics do not matter).

    \b
      autoreason knowledge search kb/ "últimas horas"
      autoreason knowledge search kb/ 限时优惠 --json
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.knowledge.folder_report import search_knowledge

    report = search_knowledge(folder, " ".join(words), limit=limit)
    show_report(report, as_json=as_json, html=html)


@knowledge.command(cls=HelpfulCommand, short_help="Write all records, one JSON object a line.")
@folder_argument
@options.group(
    "Output",
    options.file("--to", "target", help="Write the records there instead of to standard output."),
)
def export(folder: str, target: Path | None) -> None:
    """Write all records of a folder, one JSON object a line, private ones among them.

    What is written is read again as the same records, from any folder.

    \b
      autoreason knowledge export kb/ --to records.jsonl
    """
    from autoreason.cli.views.message import print_message
    from autoreason.files import check_output, write
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
    print_message(f"{numbers.count(len(content.records), 'record')}{where}{note}")
    for problem in content.problems:
        print_message(f"left out: {problem}")


@knowledge.command(
    cls=HelpfulCommand, shares=options.RECORDED, short_help="Test whether the records help."
)
@folder_argument
@options.group(
    "What is tested",
    options.option(
        "-m",
        "--model MODEL",
        help="A judge, as provider/model: with the records, without, and with shuffled ones.",
    ),
    options.option(
        "--predictor",
        type=click.Choice(_PREDICTORS),
        usual="retrieval",
        help="What answers instead, without a model.",
    ),
    options.option(
        "--pairs",
        type=Number(1),
        usual="100",
        help="With a model: pairs put to it, drawn from all; six calls each.",
    ),
)
@options.group(
    "How models are asked",
    options.server_option,
    options.effort_option,
    options.seed_option,
    options.set_option,
)
@options.limit_options
@options.dry_run_option
def test(folder: str, **values: Any) -> int:
    """Test whether the records of a folder tell which of two texts does better.

    Every recorded pair is decided from records of earlier groups alone; where groups have no
    dates, from all other groups. A judge decides blind and in both orders. Beside it stand a
    placebo, the same records with outcomes shuffled, and the length judge, who takes the longer
    text. Intervals rest on groups; below 60 pairs nothing is said. Where records help a judge, later
    runs with --knowledge show it outcomes.

    \b
    Predictors:
      retrieval  the mean outcome of the 20 most similar texts, by BM25
      words      a ridge regression of outcomes on words
      embeddings the same, also on 256 numbers that known words make of a text;
                 needs `pip install '.[embeddings]'` in the clone
      length     the longer text

    Where a regression helps, a predictor fitted on all outcomes gets a seat on the panels of
    later runs with --knowledge, unless --predictor-seat no.

    \b
    Exit status of predictors:
      0  helps
      1  harms, worse than length, not shown, or too few
    """
    if values["model"]:
        return _test_judge(folder, values)
    if values["pairs"] is not None or values["dry_run"]:
        raise InvalidInput("--pairs and --dry-run go with -m; name a judge, or leave them out")
    return _test_predictor(folder, values)


def _test_judge(folder: str, values: dict[str, Any]) -> int:
    from autoreason.cli import arguments
    from autoreason.cli.runner import run_prepared
    from autoreason.run.knowledge import measure_knowledge

    if values["predictor"]:
        raise InvalidInput("--predictor answers without a model; leave it or -m out")
    chosen = arguments.run_options("test", values) | arguments.given(values, "pairs")
    prepared = measure_knowledge.prepare(folder, **chosen)
    return run_prepared(prepared, values)


def _test_predictor(folder: str, values: dict[str, Any]) -> int:
    from autoreason.cli.views.console import stderr_console
    from autoreason.cli.views.outcome import show_report
    from autoreason.knowledge.holdout import evaluate_predictor

    with stderr_console().status("reading") as status:

        def on_progress(done: int, total: int) -> None:
            status.update(f"{done:,} of {numbers.count(total, 'pair')}")

        report = evaluate_predictor(
            folder,
            values["predictor"] or "retrieval",
            on_progress=on_progress,
        )
    show_report(report, as_json=values["as_json"], html=values["html"])
    return 0 if report.verdict == "helps" else 1


@knowledge.command(
    cls=HelpfulCommand, shares="as_json journal", short_help="Add what the text of a run came to."
)
@folder_argument
@run_argument(required=True)
@options.group(
    "What happened",
    options.option(
        "--value NUMBER", type=Figure(), required=True, help="The number, such as 0.38 or 38%."
    ),
    options.option("--n", type=Number(1), help="How many it rests on, such as 2100."),
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
    options.flag("--private", help="Only local models may be shown it."),
)
def add(folder: str, run: str, value: float, as_json: bool, **given: Any) -> None:
    """Append what the text that a run delivered came to, to outcomes.jsonl of the folder.

    Without --n the record says that n is unknown, and it makes no pair. A text that judges or
    people picked says little about texts in general, so it informs critics and is left out of tests;
    say --chosen ab where it was one arm of a randomised test. What else is known of it (its standard
    error, its audience, a note) goes into a table for `knowledge import`.

    \b
      autoreason knowledge add kb/ amber-fox --value 0.38 --n 2100 --group spring
    """
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.outcome import print_json
    from autoreason.run.knowledge import add_outcome

    added = add_outcome(run, value, folder, **given)
    if as_json:
        print_json({"added": added})
    else:
        written = f"{added} appended to" if added else "this is already in"
        print_message(f"{written} {Path(folder) / 'outcomes.jsonl'}")


@knowledge.command(
    "import", cls=HelpfulCommand, shares="as_json", short_help="Add the results of a table."
)
@click.argument("folder", type=options.FILE)
@click.argument("file", type=options.FILE)
def import_file(folder: Path, file: Path, as_json: bool) -> None:
    """Append the results of a CSV or JSONL file, each once.

    Columns are guessed, or as kb.toml of the folder names them; lines that cannot be used are named. A
    file that is imported again adds only what is new.

    \b
      autoreason knowledge import kb/ march.csv
    """
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.outcome import print_json
    from autoreason.knowledge.folder import append_outcomes, read_outcomes

    records, columns, problems, dates = read_outcomes(file, folder)
    new = append_outcomes(folder, records)
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


@knowledge.command(
    "ab-plan",
    cls=HelpfulCommand,
    shares="as_json html journal",
    short_help="Plan an A/B test of a run's texts.",
)
@run_argument(required=True)
@options.group(
    "Test",
    options.option("--arms", type=Number(2), default=3, help="How many texts."),
    options.option(
        "--base SHARE", type=float, default=0.2, help="What the first draft is expected to reach."
    ),
    options.option(
        "--lift SHARE",
        type=float,
        default=0.1,
        help="The smallest rise worth finding, as a share of that.",
    ),
)
@options.group(
    "Output",
    options.file(
        "--to FOLDER",
        "target",
        help="Write the plan there: each text under its code, and a table to fill in.",
    ),
)
def plan_test(
    run: str,
    arms: int,
    base: float,
    lift: float,
    target: Path | None,
    journal: str | None,
    as_json: bool,
    html: Path | None,
) -> None:
    """Plan a test of the delivered text against the first draft and others of a run.

    Every text gets a code that says nothing, and is to be sent to equally many readers drawn at random. From
    three texts on one is drawn at random among the run's others, from six on two, so that not only winners are
    ever tried.
    """
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.knowledge import plan_ab

    found = plan_ab(run, arms, base=base, lift=lift, journal=journal)
    if target:
        files = found.write(target)
        print_message(f"{len(files)} files written to {target}; fill in results.csv")
    show_report(found, as_json=as_json, html=html)


@knowledge.command(
    "ab-report",
    cls=Paged,
    shares="as_json html journal",
    short_help="Read the counts of an A/B test.",
)
@click.argument("results", type=options.FILE)
@options.group(
    "Test",
    options.file(
        "--plan FOLDER", "planned", help="The plan's folder. [default: that of the results]"
    ),
    options.option("--metric", default="rate", help="What was counted."),
)
@options.group(
    "Where it goes",
    options.file(
        "--knowledge FOLDER",
        help="Append the outcomes to outcomes.jsonl of this folder of records.",
    ),
    options.option("--group", default="", help="The name of the test there. [default: the run's]"),
)
@options.group(
    "Over runs",
    options.option(
        "--judged RUN",
        multiple=True,
        shell_complete=complete_run,
        help="What results gain over drafts, from runs that were tested and those that were only judged; "
        "name all there are of this kind, or `all`.",
    ),
)
def report_test(
    results: Path,
    planned: Path | None,
    metric: str,
    knowledge: Path | None,
    group: str,
    judged: tuple[str, ...],
    journal: str | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """Read the counts of a test: a table with the columns code, n and count.

    Intervals hold however often you look. Exit status 1 where readers were not split equally, for then
    something chose among them and no rate can be compared; nothing is handed on.
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.knowledge import report_ab

    if judged == ("all",):
        with open_journal(journal) as opened:
            judged = tuple(find_text_runs(opened, (), every=True))
    found = report_ab(
        results,
        planned,
        group=group,
        metric=metric,
        knowledge=knowledge,
        judged=judged,
        journal=journal,
    )
    show_report(found, as_json=as_json, html=html)
    return 1 if found.is_unequal else 0
