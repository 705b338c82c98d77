"""`autoreason pairs`: what judges preferred, for preference tuning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import all_option, find_text_runs, open_journal, runs_argument
from autoreason.errors import InvalidInput


@click.command(cls=HelpfulCommand)
@runs_argument()
@all_option
@options.group(
    "Which pairs",
    options.option(
        "--min-agreement SHARE",
        type=Number(0.0, 1.0),
        default=0.0,
        help="Least share of judges who prefer the chosen text, such as 0.6. [default: any majority]",
    ),
    options.option(
        "--all-pairs/--winner-only",
        "all_pairs",
        default=True,
        help="Every two texts, or only those whose chosen text won its panel. [default: all]",
    ),
)
@options.group(
    "Output",
    options.file("-o", "--output", help="Write the pairs there instead of to standard output."),
    options.option(
        "--format",
        "layout",
        type=click.Choice(["text", "chat"]),
        default="text",
        help="Plain strings, or lists of messages.",
    ),
    options.flag("--json", "as_json", help="With -o: print the summary as a JSON object."),
)
@options.journal_option
def pairs(
    runs: tuple[str, ...],
    every: bool,
    min_agreement: float,
    all_pairs: bool,
    output: Path | None,
    layout: Literal["text", "chat"],
    as_json: bool,
    journal: str | None,
) -> None:
    """Write what judges preferred, for preference tuning.

    One JSON object a line with prompt, chosen and rejected, as DPO trainers read them; with votes
    (judges for either text), margin and provenance besides. A pair is two texts that one panel or
    more of a run compared and most judges decided alike; where several panels compared the same two
    texts, their votes are added. Ties are left out. Votes are counts, not evidence: judges who toss
    coins make majorities, too. Without RUN, the newest run.

    \b
      autoreason pairs amber-fox -o pairs.jsonl
      autoreason pairs --all --min-agreement 0.6 --format chat > pairs.jsonl
    """
    import msgspec

    from autoreason.cli.views.outcome import print_json
    from autoreason.files import check_output, write
    from autoreason.studies.pairs import count_pairs, find_pairs

    if as_json and output is None:
        raise InvalidInput("--json is the summary of a file that is written; name it with -o")
    check_output(output)
    with open_journal(journal) as book:
        found = find_pairs(
            find_text_runs(book, runs, every),
            journal=book,
            min_agreement=min_agreement,
            winner_only=not all_pairs,
        )
    lines = msgspec.json.Encoder().encode_lines([pair.as_object(layout) for pair in found.pairs])
    if output is None:
        sys.stdout.write(lines.decode())
    elif lines:
        write(output, lines.decode())
    else:
        # Not even an empty line: no reader takes that for a pair.
        output.write_bytes(b"")
    where = f"; written to {output}" if output else ""
    print(f"{found.conclusion}{where}", file=sys.stderr)
    if as_json:
        print_json(count_pairs(found))
