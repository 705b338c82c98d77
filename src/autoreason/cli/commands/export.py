"""`autoreason export`: a run as files that can be read without autoreason: a folder, a patch, a branch, pairs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import complete_run, find_text_runs, open_journal
from autoreason.errors import InvalidInput
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.story import Story


_pairs = options.group(
    "Pairs for preference tuning",
    options.file("--pairs FILE", help="Write what judges preferred there; - is standard output."),
    options.flag("--all", "every", help="Of every run in the journal."),
    options.option(
        "--min-agreement SHARE",
        type=Number(0.0, 1.0),
        default=0.0,
        help="Least share of judges who prefer the chosen text, such as 0.6. [default: any majority]",
    ),
    options.flag("--winner-only", help="Only pairs whose chosen text won its panel."),
    options.flag("--chat", help="Lists of messages instead of plain strings."),
)


@click.command(cls=HelpfulCommand, shares="as_json journal")
@click.argument("given", nargs=-1, metavar="[RUN]... [FOLDER]", shell_complete=complete_run)
@options.group(
    "Files",
    options.flag("--force", help="Write into a folder that is not empty."),
    options.flag("--patch", help="Print what a research run changed, for `git apply`."),
    options.option(
        "--branch NAME",
        help="Make a branch with what a research run changed, in one commit on HEAD.",
    ),
)
@_pairs
def export(
    given: tuple[str, ...],
    force: bool,
    patch: bool,
    branch: str | None,
    journal: str | None,
    as_json: bool,
    **pairs: Any,
) -> None:
    """Write a run into files: a folder, a patch, pairs.

    Brief, settings and prompts, every text, critique and ballot by pass, every call as it was
    made, the final text and run.json: files that can be read without autoreason.

    With --patch and --branch, FOLDER is the task's folder, by default the current one. Neither
    touches the files there; a branch needs the artifact at HEAD as it was at the start.

    With --pairs, one JSON object a line with prompt, chosen and rejected, as DPO trainers read them;
    with votes (judges for either text), margin and provenance besides. A pair is two texts that one
    panel or more of a run compared and most judges decided alike; where several panels compared the
    same two texts, their votes are added. Ties are left out. Votes are counts, not evidence: judges
    who toss coins make majorities, too. Without RUN, the newest run.

    \b
      autoreason export amber-fox ./amber-fox
      autoreason export amber-fox --pairs pairs.jsonl
      autoreason export --all --min-agreement 0.6 --chat --pairs - > pairs.jsonl
      autoreason export amber-fox --patch | git apply
      autoreason export amber-fox --branch packing
    """
    from autoreason.run.export import commit_result, export, make_result_patch

    if patch + bool(branch) + force + bool(pairs["pairs"]) > 1:
        raise InvalidInput("--patch, --branch, --pairs and --force exclude each other; choose one")
    if pairs["pairs"]:
        _write_pairs(given, journal, as_json=as_json, **pairs)
        return
    if as_json or any(pairs.values()):
        raise InvalidInput("--json and what chooses pairs go with --pairs FILE; leave them out")
    if not 1 <= len(given) <= 2:
        raise InvalidInput("give one run, and a folder to export to")
    run, folder = given[0], Path(given[1]) if len(given) == 2 else None
    with open_journal(journal) as book:
        row = book.find(run)
        if patch:
            text = make_result_patch(row.id, folder or Path(), journal=book)
            sys.stdout.buffer.write(text.encode())
            _warn_of_worse(book.story(row.id))
            return
        if branch:
            commit = commit_result(row.id, branch, folder or Path(), journal=book)
            print(f"{row.id} is commit {commit[:10]} on branch {branch}", file=sys.stderr)
            _warn_of_worse(book.story(row.id))
            return
        if folder is None:
            raise InvalidInput("name a folder to export to, or add --patch or --branch NAME")
        files = export(row.id, folder, journal=book, force=force)
    print(f"{numbers.count(len(files), 'file')} of {row.id} written to {folder}", file=sys.stderr)


def _write_pairs(
    runs: tuple[str, ...],
    journal: str | None,
    *,
    as_json: bool,
    pairs: Path,
    every: bool,
    min_agreement: float,
    winner_only: bool,
    chat: bool,
) -> None:
    import msgspec

    from autoreason.cli.views.outcome import print_json
    from autoreason.files import check_output, write
    from autoreason.studies.pairs import find_pairs

    printed = pairs == Path("-")
    if as_json and printed:
        raise InvalidInput("--json is the summary of a file that is written; name one with --pairs")
    if not printed:
        check_output(pairs, "--pairs")
    with open_journal(journal) as book:
        found = find_pairs(
            find_text_runs(book, runs, every),
            journal=book,
            min_agreement=min_agreement,
            winner_only=winner_only,
        )
    objects = [pair.as_object("chat" if chat else "text") for pair in found.pairs]
    lines = msgspec.json.Encoder().encode_lines(objects)
    if printed:
        sys.stdout.write(lines.decode())
    elif lines:
        write(pairs, lines.decode())
    else:
        # Not even an empty line: no reader takes that for a pair.
        pairs.write_bytes(b"")
    where = "" if printed else f"; written to {pairs}"
    print(f"{found.conclusion}{where}", file=sys.stderr)
    if as_json:
        print_json(found.counts)


def _warn_of_worse(story: Story) -> None:
    from autoreason.artifacts.research_history import ResearchHistory

    found = ResearchHistory(story).end_result
    if found is not None and found.worse:
        print("the end test found this result worse than the start; keep that", file=sys.stderr)
