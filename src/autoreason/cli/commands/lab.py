"""`autoreason lab`: experiments as files, and those of the paper."""

from __future__ import annotations

from pathlib import Path

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulGroup
from autoreason.cli.views.pager import Paged


@click.group(cls=HelpfulGroup)
def lab() -> None:
    """Rebuild the paper's tables from its recorded results.

    \b
      autoreason lab reproduce recorded/
      autoreason lab reproduce recorded/ --html paper.html
    """


@lab.command(cls=Paged, short_help="The paper's tables beside what its data give.")
@click.argument("folder", metavar="DIR", type=options.FILE)
@options.report_options
def reproduce(folder: Path, as_json: bool, html: Path | None) -> None:
    """Rebuild the tables of the paper from its recorded results, beside what it says.

    DIR has ballots.jsonl (passes), panels.jsonl (panels over finished texts) or code_results.jsonl
    (programs), in it or below it; no model is asked. Every claim stands beside what the data give, on how
    many passes, panels, runs or problems that rests, and a verdict: agrees, consistent (only a part is
    here), differs, or no data. What cannot be read is left out and named.

    \b
      autoreason lab reproduce recorded/
      autoreason lab reproduce recorded/ --json
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.files import check_output
    from autoreason.studies.reproduce.reproduction import reproduce as rebuild

    check_output(html, "--html")
    show_report(rebuild(folder), as_json=as_json, html=html)
