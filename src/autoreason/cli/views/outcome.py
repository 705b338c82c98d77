"""The end of a run: what it delivers, what it says for itself, and its exit status."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from autoreason.characters import without_controls
from autoreason.cli.views import words
from autoreason.errors import AutoreasonError
from autoreason.files import write
from autoreason.report.layout import WIDEST, lay_out

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.contract import Violation
    from autoreason.journal import RunRow
    from autoreason.report.report import Report
    from autoreason.run import Result
    from autoreason.story import Story

EXIT = {
    "converged": 0,
    "capped": 0,
    "done": 0,
    "accepted": 0,
    "budget": 3,
    "provider_failed": 4,
    "panel_failed": 5,
    "stopped": 130,
}
CONTRACT_BROKEN = 6
"""Exit status of a delivered text that breaks its contract, where that was asked for."""
USABLE = (0, 3)
"""Exit statuses that come with a text on standard output."""
_FIELDS = (
    *("run", "status", "reason", "text", "origin", "passes"),
    *("calls", "tokens", "cost", "seed", "evidence"),
)
_WINNERS = 15


def deliver(result: Result, *, output: Path | None, as_json: bool, bare: bool = False) -> None:
    """Put the text where it was asked for."""
    usable = EXIT[result.status] in USABLE and result.text is not None
    if usable and output:
        with _kept(result, str(output)):
            write(output, result.text or "")
    with _kept(result, "to standard output"):
        if as_json:
            print_json(as_object(result))
        elif usable and not output:
            show_text(result.text or "", bare)


@contextmanager
def _kept(result: Result, where: str) -> Iterator[None]:
    """Say, where the text cannot be written, that it is not lost."""
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
    """The text alone; between two rules where a person is looking."""
    body = text if text.endswith("\n") else f"{text}\n"
    if sys.stdout.isatty():
        body = without_controls(body)
    if bare or not sys.stdout.isatty():
        sys.stdout.write(body)
    else:
        rule = "─" * min(WIDEST, terminal_width())
        sys.stdout.write(f"{rule}\n{body}{rule}\n")
    sys.stdout.flush()


def as_object(result: Result) -> dict[str, Any]:
    """A run's end for programs."""
    fields = {name: getattr(result, name) for name in _FIELDS}
    return fields | {"violations": [broken.message for broken in violations(result)]}


def violations(result: Result) -> tuple[Violation, ...]:
    """Rules of the contract that the text delivered breaks."""
    return result.story.delivered.violations if result.story.delivered else ()


def print_json(value: Any) -> None:
    """One JSON value, indented; sums of money as numbers."""
    import msgspec

    encoded = msgspec.json.Encoder(decimal_format="number").encode(value)
    sys.stdout.write(msgspec.json.format(encoded, indent=2).decode() + "\n")
    sys.stdout.flush()


def write_page(report: Report, path: Path, about: Mapping[str, str]) -> None:
    """A report as a page for a browser."""
    write(path, report.to_html(about))
    print(without_controls(f"written to {path}"), file=sys.stderr)


def rows(
    result: Result, story: Story, seconds: float, output: Path | None = None
) -> list[tuple[str, str]]:
    """What is said when a run ends, as labelled sentences."""
    said = [("", f"{words.ENDINGS[result.status]}: {result.reason}")]
    if attention := contract_broken(result):
        said.append(("", f"Attention: {attention}"))
    if story.trajectory:
        judged = story.settings is None or story.settings.strategy == "autoreason"
        taken = f"{len(story.trajectory)}, each text taken as it came"
        said.append(("Passes", _passes(story.trajectory) if judged else taken))
    if result.text is not None:
        said.append(("Text", _text(result, story, output)))
    took = [
        words.count(result.calls, "call"),
        words.tokens(result.spent),
        words.money(result.cost) if result.cost is not None else "cost unknown",
        words.duration(seconds),
    ]
    said.append(("Took", ", ".join(took)))
    if result.evidence and story.task:
        broken = story.task.contract.violations(result.text or "")
        said += words.evidence(result.evidence, story, broken, result.origin)
    return [*said, *next_steps(result)]


def contract_broken(result: Result) -> str:
    """That a delivered text breaks its contract, whether anything kept it, and the mend."""
    broken = violations(result)
    if not broken:
        return ""
    passes = result.story.passes
    left_out = [
        lost for each in passes for lost in each.dropped if lost.slot not in each.candidates
    ]
    standing = [ready for each in passes for ready in each.candidates.values()]
    kept = sum(not ready.violations for ready in standing)
    others = sum(lost.reason == "contract" for lost in left_out) + len(standing) - kept
    also = f", and so did {words.count(others, 'challenger')}" if others else ""
    nobody = "; nothing written in this run kept it" if others and not kept else ""
    return (
        f"the text breaks its contract ({words.violations(broken)}){also}{nobody}; loosen the rule, "
        f"or choose a stronger model with -m, in `autoreason fork {result.run}`"
    )


def _passes(trajectory: tuple[str, ...]) -> str:
    """How many there were and who won them, on one line of a usual terminal."""
    held, won = len(trajectory), words.winners(trajectory, _WINNERS)
    return f"{held}, won by {won}"


def _text(result: Result, story: Story, output: Path | None) -> str:
    from autoreason.contract import count_words

    said = f"{result.origin}, {words.count(count_words(result.text or ''), 'word')}"
    if story.draft and result.origin != "draft":
        said += f"; {words.first_draft(story.draft)} had {story.draft.words:,}"
    return f"{said}; written to {output}" if output and EXIT.get(result.status) in USABLE else said


def next_steps(result: Result) -> list[tuple[str, str]]:
    """Where to go from here."""
    if EXIT.get(result.status) == 0:
        return [("More", f"autoreason show {result.run}")]
    more = _HIGHER if result.status == "budget" else ""
    steps = [("Resume", f"autoreason resume {result.run}{more}")]
    if result.text is not None:
        steps.append(("Text", f"autoreason show {result.run} --text"))
    return steps


_HIGHER = " with a higher --cost-limit, --token-limit, --call-limit or --time-limit"


def in_one_line(run: str, *, has_text: bool, spent: bool = False) -> str:
    """How to go on with a run that has not ended; `spent`: a limit was reached."""
    text = f", see its text so far with `autoreason show {run} --text`" if has_text else ""
    return f"go on with `autoreason resume {run}`{_HIGHER if spent else ''}{text}"


def print_rows(labelled: list[tuple[str, str]], console: Console) -> None:
    """Labelled sentences on a terminal or into a file."""
    from rich.text import Text

    for label, sentence in lay_out(labelled, console.width):
        console.print(
            Text.assemble((label, "dim"), (sentence, "" if label else "bold")), soft_wrap=True
        )


def write_rows(labelled: list[tuple[str, str]], out: TextIO) -> None:
    """The same where it is known to be a file."""
    for label, sentence in lay_out(labelled, terminal_width()):
        print(without_controls(label + sentence), file=out)


def terminal_width() -> int:
    """Columns of the terminal on standard output."""
    import shutil

    return shutil.get_terminal_size().columns


def terminal_height() -> int:
    """Lines of the terminal on standard output."""
    import shutil

    return shutil.get_terminal_size((80, 24)).lines


def result_of(row: RunRow, story: Story) -> Result:
    """How a recorded run stands, as whoever drives it would get it."""
    from autoreason.run import Result

    return Result(
        run=row.id,
        status=story.status,
        reason=story.reason or ("under way" if row.live else "killed before it ended"),
        text=story.text,
        origin=story.origin,
        passes=len(story.trajectory),
        spent=row.spent,
        seed=story.settings.seed if story.settings else 0,
        evidence=story.delivered.evidence if story.delivered else None,
        story=story,
    )
