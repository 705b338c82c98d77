"""The end of a run: where its text and its report go, and its exit status."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreason.characters import without_controls
from autoreason.cli.views.message import print_message
from autoreason.errors import AutoreasonError
from autoreason.files import write
from autoreason.report.table import WIDEST, lay_out
from autoreason.run.result import how_to_go_on

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.cli.output import OutputOptions
    from autoreason.report.report import Report
    from autoreason.run.result import Result

EXIT = {
    "converged": 0,
    "capped": 0,
    "done": 0,
    "accepted": 0,
    "budget": 3,
    "provider_failed": 4,
    "metric_failed": 4,
    "panel_failed": 5,
    "stopped": 130,
}
CONTRACT_BROKEN = 6
"""Exit status of a delivered text that breaks its contract, where that was asked for."""
USABLE = (0, 3)
"""Exit statuses that come with a text on standard output."""


def end_run(result: Result, options: OutputOptions, console: Console | None) -> int:
    """Print or write the text and the report, and return the exit status."""
    status = EXIT[result.status]
    _deliver(result, options)
    if not options.quiet:
        # The text is out: a standard error that no one reads is no failure.
        with suppress(OSError):
            print_report(result, console)
            if options.output and _is_usable(result):
                print_message(f"written to {options.output}")
    elif status:
        steps = how_to_go_on(result.run, result.story, has_text=result.story.text is not None)
        print_message(f"autoreason: {result.conclusion}; {steps}")
    elif broken := result.broken_contract():
        print_message(f"autoreason: {broken}")
    with _explain_failure(result, str(options.html)):
        write_page(result, options.html)
    return CONTRACT_BROKEN if options.strict and not status and result.violations else status


def _deliver(result: Result, options: OutputOptions) -> None:
    usable = _is_usable(result)
    if usable and options.output:
        with _explain_failure(result, str(options.output)):
            write(options.output, result.text)
    with _explain_failure(result, "to standard output"):
        if options.as_json:
            print_json(result.to_dict())
        elif usable and not options.output:
            show_text(result.text, options.quiet)


def show_report(report: Report, *, as_json: bool = False, html: Path | None = None) -> None:
    """A report that was asked for, on standard output and as a page."""
    from autoreason.cli.views.console import stdout_console

    try:
        if as_json:
            print_json(report.to_dict())
        else:
            print_report(report, stdout_console())
    finally:
        # Last, so that a page that cannot be written takes nothing else with it.
        write_page(report, html)


def print_report(report: Report, console: Console | None) -> None:
    """A report on a terminal; without one, on standard error."""
    if console:
        console.print(report, soft_wrap=True)
    else:
        print(report.to_text(terminal_width()), file=sys.stderr)


def _is_usable(result: Result) -> bool:
    return EXIT[result.status] in USABLE and result.story.text is not None


@contextmanager
def _explain_failure(result: Result, where: str) -> Iterator[None]:
    """Where the text cannot be written, say that the journal has it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise AutoreasonError(
            f"cannot write {where}: {error.strerror}; the text is kept, "
            f"see `autoreason show {result.run} --text`"
        ) from None


def show_text(text: str, bare: bool = False) -> None:
    """The text alone; on a terminal between two rules."""
    body = text if text.endswith("\n") else f"{text}\n"
    if sys.stdout.isatty():
        body = without_controls(body)
    if bare or not sys.stdout.isatty():
        sys.stdout.write(body)
    else:
        rule = "─" * min(WIDEST, terminal_width())
        sys.stdout.write(f"{rule}\n{body}{rule}\n")
    sys.stdout.flush()


def print_json(value: Any) -> None:
    """One JSON value, indented; sums of money as numbers."""
    import msgspec

    encoded = msgspec.json.Encoder(decimal_format="number").encode(value)
    sys.stdout.write(msgspec.json.format(encoded, indent=2).decode() + "\n")
    sys.stdout.flush()


def write_page(report: Report, path: Path | None) -> None:
    """A report as a page for a browser, where one was asked for."""
    if path is None:
        return
    write(path, report.to_html())
    print_message(f"written to {path}")


def print_rows(labelled: list[tuple[str, str]], console: Console) -> None:
    """Labelled sentences on a terminal or into a file."""
    from rich.text import Text

    for label, sentence in lay_out(labelled, console.width):
        console.print(
            Text.assemble((label, "dim"), (sentence, "" if label else "bold")), soft_wrap=True
        )


def terminal_width() -> int:
    """Columns of the terminal on standard output."""
    import shutil

    return shutil.get_terminal_size().columns


def terminal_height() -> int:
    """Lines of the terminal on standard output."""
    import shutil

    return shutil.get_terminal_size((80, 24)).lines
