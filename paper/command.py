"""What the commands of this folder share: their options, how far they are, and one sentence for a mistake."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from autoreason.cli.console import ProgressLine, stdout_console
from autoreason.cli.outcome import print_json, write_page
from autoreason.errors import AutoreasonError
from autoreason.report.report import Report


def make_parser(module: str, about: str | None) -> argparse.ArgumentParser:
    """A parser that explains itself by the module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_runs(parser: argparse.ArgumentParser, runs: int) -> None:
    """How often something is played, and with which seed."""
    parser.add_argument("--runs", type=int, default=runs, help=f"default: {runs}")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where the report goes."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")


def show(arguments: argparse.Namespace, what: str, work: Callable[[ProgressLine], Report]) -> None:
    """Compute a report, say meanwhile how many of what are done, and show it."""
    try:
        with ProgressLine(what, quiet=not sys.stderr.isatty()) as progress:
            report = work(progress)
        if arguments.json:
            print_json(report.to_dict())
        else:
            stdout_console().print(report, soft_wrap=True)
        write_page(report, arguments.html)
    except AutoreasonError as error:
        sys.exit(f"{error}")
