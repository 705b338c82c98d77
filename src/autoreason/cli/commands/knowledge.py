"""`autoreason knowledge`: a folder of your own records, looked into, searched and tested."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput
from autoreason.report import numbers

_PREDICTORS = ("retrieval", "words", "embeddings", "both", "length")
folder_argument = click.argument("folder", metavar="FOLDER")
z_option = options.group(
    "Pairs",
    options.option(
        "--min-z Z",
        type=Number(0.01),
        default=2.576,
        help="Standard errors by which two texts must differ to be a pair.",
    ),
)


@click.group(cls=HelpfulGroup)
def knowledge() -> None:
    """Look into, search and test a folder of your own records.

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
    """


@knowledge.command(cls=Paged, short_help="Say what was understood, and what could be shown.")
@folder_argument
@z_option
@options.report_options
def check(folder: str, min_z: float, as_json: bool, html: Path | None) -> int:
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

    report = check_knowledge(folder, min_z=min_z)
    show_report(report, as_json=as_json, html=html)
    return 0 if report.kinds else 1


@knowledge.command(cls=Paged, short_help="Find records by their words.")
@folder_argument
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--limit", type=Number(1), default=10, help="How many to show. [default: 10]")
@options.report_options
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


@knowledge.command(cls=HelpfulCommand, short_help="Test whether the records help.")
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
        help="What answers instead, without a model. [default: retrieval]",
    ),
    options.option(
        "--pairs",
        type=Number(1),
        help="With a model: pairs put to it, drawn from all; six calls each. [default: 100]",
    ),
)
@z_option
@options.group(
    "How the model is asked",
    *options.SERVERS,
    *options.JUDGE,
    options.seed_option,
)
@options.limit_options
@options.journal_option
@options.table_options
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
      embeddings the same on 256 numbers that known words make of a text; needs
                 `pip install '.[embeddings]'` in the clone
      both       the sum of the two
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
    from autoreason.run.knowledge_study import prepare_knowledge_test

    if values["predictor"]:
        raise InvalidInput("--predictor answers without a model; leave it or -m out")
    chosen = arguments.judge_options(values) | arguments.given(values, "min_z", "pairs")
    prepared = prepare_knowledge_test(folder, **chosen)
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
            min_z=values["min_z"],
            on_progress=on_progress,
        )
    show_report(report, as_json=values["as_json"], html=values["html"])
    return 0 if report.verdict == "helps" else 1
