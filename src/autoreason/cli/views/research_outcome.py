"""The end of a research run: its patch or its files, the report, and the exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreason.cli.views import outcome
from autoreason.cli.views.message import print_message
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.files import check_folder, write
from autoreason.report.table import wrap
from autoreason.run.result import how_to_go_on

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from autoreason.cli.output import OutputOptions
    from autoreason.run.products import ResearchResult

NO_GAIN = 1
"""Exit status of a finished run that claims no gain."""
_BEHIND = "shows no gain, and the result did worse in it than the start, perhaps by chance"


def end(result: ResearchResult, options: OutputOptions, console: Console | None) -> int:
    """Print or write what changed and the report, and return the exit status."""
    status = outcome.EXIT[result.status]
    usable = status in outcome.USABLE
    if options.as_json:
        outcome.print_json(result.to_dict())
    elif usable and result.patch and not options.output and not result.behind:
        outcome.show_text(result.patch, bare=options.quiet)
    outcome.write_page(result, options.html)
    if not options.quiet:
        outcome.print_report(result, console)
    else:
        steps = how_to_go_on(result.run, result.story, has_text=False)
        sentence = f"autoreason: {result.conclusion}{f'; {steps}' if status else ''}"
        print_message("\n".join(wrap(sentence, outcome.terminal_width())))
    if result.behind and (options.output or not options.as_json):
        where = f"written to {options.output}" if options.output else "printed"
        found = "found the result worse than the start" if result.worse else _BEHIND
        print_message(
            f"nothing is {where}, because the end test {found}; "
            f"`autoreason export {result.run} --patch` has it all the same"
        )
    elif usable and options.output:
        # Last, so that a folder that cannot be written takes nothing else with it.
        _write(result, options.output)
    if options.output and not result.finished:
        print_message(f"`autoreason resume {result.run}` will write the files to {options.output}")
    claimed = result.improved or result.status == "accepted"
    return status or (0 if claimed else NO_GAIN)


def _write(result: ResearchResult, folder: Path) -> None:
    """Write the files that differ from the start."""
    changes = result.changes
    try:
        check_folder(folder, changes)
        for path, text in changes.items():
            if text is not None:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                write(folder / path, text)
    except (OSError, InvalidInput) as error:
        why = f"cannot write {folder}: {error.strerror}" if isinstance(error, OSError) else error
        raise AutoreasonError(
            f"{why}; the result is kept, see `autoreason export {result.run} --patch`"
        ) from None
    removed = [path for path, text in changes.items() if text is None]
    written = ", ".join(path for path, text in changes.items() if text is not None)
    print_message(f"{written or 'no file'} written to {folder}")
    if removed:
        print_message(f"the result has no {', '.join(removed)} any more; remove it yourself")
