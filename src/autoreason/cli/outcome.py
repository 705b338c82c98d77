"""What commands end with: texts, reports, files and answers, where they go, and exit statuses."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from autoreason.characters import without_controls
from autoreason.cli.command import print_message, print_messages, shared, with_flags
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.files import check_folder, write
from autoreason.report.table import WIDEST, Table, lay_out, wrap
from autoreason.run.result import Result, ending, how_to_go_on

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.cli.command import Answer
    from autoreason.report.report import Report
    from autoreason.run.prepared import PreparedRun
    from autoreason.run.products import ResearchResult, Solution
    from autoreason.run.research import MeasuredStart


EXIT = {
    **dict.fromkeys(("converged", "capped", "done", "accepted"), 0),
    "budget": 3,
    "provider_failed": 4,
    "metric_failed": 4,
    "panel_failed": 5,
    "stopped": 130,
}
CONTRACT_BROKEN = 6
"""Exit status of a delivered text that breaks its contract, where that was asked for."""
UNSOLVED = 1
"""Exit status where the one program there is to be fails its tests, or of a set no public test is passed."""
NO_GAIN = 1
"""Exit status of a finished research run that claims no gain."""
USABLE = (0, 3)
"""Exit statuses that come with a text on standard output."""
_LEAD = re.compile(r"\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+)?")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_NARROWEST = 20
_PAGE = "autoreason view   as a page"
_BEHIND = "shows no gain, and the result did worse in it than the start, perhaps by chance"


class OutputOptions(Struct, frozen=True):
    output: Path | None = None
    as_json: bool = False
    progress: str | None = None
    """`live`, `lines` or `none`; None is live on a terminal."""
    report: Path | None = None
    html: Path | None = None
    fail_on_contract: bool = False

    @property
    def quiet(self) -> bool:
        """Whether nothing is shown meanwhile, and no summary at the end."""
        return self.progress == "none"

    @classmethod
    def of(cls, values: dict[str, Any]) -> OutputOptions:
        """As the options of a command say, and those that all commands share."""
        given = {name: shared(name) for name in ("as_json", "html", "progress")} | values
        return cls(**{name: given[name] for name in cls.__struct_fields__ if name in given})


# ---- sentences, answers and reports ------------------------------------------------------------


def print_json(value: Any) -> None:
    """One JSON value, indented; sums of money as numbers."""
    import msgspec

    encoded = msgspec.json.Encoder(decimal_format="number").encode(value)
    sys.stdout.write(msgspec.json.format(encoded, indent=2).decode() + "\n")
    sys.stdout.flush()


def show_answer(answer: Answer) -> None:
    if shared("as_json"):
        print_json(answer.value)
        return
    if answer.lines:
        from autoreason.cli.console import stdout_console

        console = stdout_console()
        for line in answer.lines:
            for each in line.to_rich(console.width) if isinstance(line, Table) else [line]:
                console.print(each, soft_wrap=True)
    print_messages(answer.notes)


def show_report(report: Report) -> None:
    """On standard output: of a report that has a summary only that, unless --evidence asks for all."""
    from autoreason.cli.console import stdout_console

    try:
        if shared("as_json"):
            print_json(report.to_dict())
        elif report.is_summarized and not shared("evidence"):
            lines = _summary(report) if isinstance(report, Result) else report.summary()
            print_summary(lines, stdout_console())
        else:
            print_report(report, stdout_console())
    finally:
        # Last, so that a page that cannot be written takes nothing else with it.
        write_page(report, shared("html"))


def print_report(report: Report, console: Console | None) -> None:
    if console:
        console.print(report, soft_wrap=True)
    else:
        print(report.to_text(shutil.get_terminal_size().columns), file=sys.stderr)


def print_summary(lines: Iterable[str], console: Console | None) -> None:
    """Wrapped at words; the first line is the one to read."""
    width = min(WIDEST, console.width if console else shutil.get_terminal_size().columns)
    for at, line in enumerate(lines):
        for each in wrap_parts(without_controls(line), width) or [""]:
            if console:
                console.print(each, style="" if at else "bold", soft_wrap=True)
            else:
                print(each, file=sys.stderr)


def wrap_parts(line: str, width: int) -> list[str]:
    """Lines of whole words; parts that dots join stay whole where they fit."""
    lines: list[str] = []
    for part in line.split(" · "):
        joined = f"{lines[-1]} · {part}" if lines else part
        if len(joined) <= width:
            lines[-1:] = [joined]
        else:
            lines += wrap(part, width)
    return lines


def _summary(result: Result, where: str = "") -> list[str]:
    """With the command that opens it as a page."""
    page = " · autoreason view" if result.finished else ""
    return result.summary(f"{result.took}{where}{page}")


def write_page(report: Report, path: Path | None) -> None:
    if path is not None:
        write(path, report.to_html())
        print_message(f"written to {path}")


def print_rows(labelled: list[tuple[str, str]], console: Console) -> None:
    from rich.text import Text

    for label, sentence in lay_out(labelled, console.width):
        line = Text.assemble((label, "dim"), (sentence, "" if label else "bold"))
        console.print(line, soft_wrap=True)


def show_text(text: str, bare: bool = False, *, prose: bool = False) -> None:
    """Raw where it is piped; on a terminal between rules unless `bare`, and `prose` wrapped at words."""
    body = text if text.endswith("\n") else f"{text}\n"
    if sys.stdout.isatty():
        width = min(WIDEST, shutil.get_terminal_size().columns)
        body = without_controls(body)
        body = wrap_text(body, width) if prose else body
        rule = "─" * width
        body = body if bare else f"{rule}\n{body}{rule}\n"
    sys.stdout.write(body)
    sys.stdout.flush()


def wrap_text(text: str, width: int) -> str:
    """Each line of a text in lines of whole words, those of a list below its first word."""
    lines, in_code = [], False
    for line in text.splitlines():
        in_code ^= bool(_FENCE.match(line))
        if in_code or len(line) <= width or line.startswith("|"):
            lines.append(line)
            continue
        lead = line[: len(line) - len(_LEAD.sub("", line, 1))]
        first, *others = wrap(line[len(lead) :], max(_NARROWEST, width - len(lead))) or [""]
        lines += [lead + first, *(" " * len(lead) + each for each in others)]
    return "\n".join(lines) + "\n"


def preview(prepared: PreparedRun[Any], measured: MeasuredStart | None = None) -> int:
    """`--dry-run`: estimate, settings and first prompt, of a suite its plan; and why a real run would be refused."""
    from dataclasses import replace

    from autoreason.run.estimate import DryRun
    from autoreason.run.lab import PreparedLab

    report: Report
    if isinstance(prepared, PreparedLab):
        report = prepared.plan()
    else:
        estimate, noise = prepared.estimate(), None
        if measured:
            estimate, noise = replace(estimate, request=measured.request), measured.noise
        report = DryRun(prepared.task, prepared.settings, estimate, noise=noise)
    show_report(report)
    try:
        prepared.check_models()
    except InvalidInput as refusal:
        refused = with_flags(str(refusal))
        print_message(f"autoreason: a real run would be refused: {refused}")
    return 0


# ---- the end of a text -------------------------------------------------------------------------


def end_text(result: Result, options: OutputOptions, console: Console | None) -> int:
    status = EXIT[result.status]
    usable = status in USABLE and result.story.text is not None
    if usable and options.output:
        with _explain_failure(result, str(options.output)):
            write(options.output, result.text)
    with _explain_failure(result, "to standard output"):
        if options.as_json:
            print_json(result.to_dict())
        elif usable and not options.output:
            show_text(result.text, options.quiet, prose=True)
    if not options.quiet:
        # The text is out: a standard error that no one reads is no failure.
        with suppress(OSError):
            print_summary([*result.summary(), *_next_commands(result)], console)
            if options.output and usable:
                print_message(f"written to {options.output}")
    elif status:
        steps = how_to_go_on(result.run, result.story, has_text=result.story.text is not None)
        print_message(f"autoreason: {result.conclusion}; {steps}")
    elif broken := result.broken_contract():
        print_message(f"autoreason: {broken}")
    with _explain_failure(result, str(options.html)):
        write_page(result, options.html)
    failed = options.fail_on_contract and not status and result.violations
    return CONTRACT_BROKEN if failed else status


def _next_commands(result: Result) -> list[str]:
    if not result.finished:
        return []
    changed = result.story.draft and result.origin != "draft"
    diff = "autoreason show --diff    what changed        " if changed else ""
    return ["", f"{diff}{_PAGE}"]


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


# ---- the end of programs -----------------------------------------------------------------------


def end_programs(solution: Solution, options: OutputOptions, console: Console | None) -> int:
    from autoreason.cli.console import stderr_console, stdout_console
    from autoreason.report.report import write_folder

    console = console or stderr_console()
    program = solution.story.text if solution.one else None
    if program and options.output:
        write(options.output, program)
    if options.as_json:
        print_json(solution.to_dict())
    elif program and not options.output:
        show_text(program, bare=options.quiet)
    elif not solution.one:
        print_summary(_summary(solution), stdout_console())
    if options.report and solution.finished:
        write_folder(options.report, solution.to_files())
    if options.quiet:
        _print_problem(solution, options)
    else:
        if solution.one:
            where = " · solution on standard output" if program and not options.output else ""
            print_summary(_summary(solution, where), console)
        elif solution.unsolved:
            print_rows([("", f"Not solved: {solution.unsolved}")], console)
        print_rows(_files(solution, options), console)
    write_page(solution, options.html)
    return UNSOLVED if solution.unsolved else EXIT[solution.status]


def _print_problem(solution: Solution, options: OutputOptions) -> None:
    """The one sentence that is printed even with --progress none; none where all is well."""
    if not solution.finished:
        again = f" -o {options.output}" if options.output else ""
        steps = how_to_go_on(solution.run, solution.story, has_text=False, options=again)
        problem = f"{ending(solution)}; {steps}"
    elif solution.one and not solution.story.text:
        reason = solution.solved[-1].reason if solution.solved else solution.reason
        problem = "; ".join(filter(None, (reason, _unwritten(options))))
    elif solution.unsolved:
        problem = f"not solved: {solution.unsolved}"
    else:
        return
    print_message(f"autoreason: {problem}")


def _files(solution: Solution, options: OutputOptions) -> list[tuple[str, str]]:
    later = f"once it is finished: autoreason {{}} {solution.run}"
    rows = []
    if options.output and solution.one:
        written = f"written to {options.output}" if solution.story.text else _unwritten(options)
        resume = f"{later.format('resume')} -o {options.output}"
        rows.append(("Output", written if solution.finished else resume))
    if options.report:
        show = f"{later.format('show')} --report {options.report}"
        rows.append(("Report", f"written to {options.report}" if solution.finished else show))
    return rows


def _unwritten(options: OutputOptions) -> str:
    if options.output is None:
        return ""
    before = ", which is still what it was before" if options.output.exists() else ""
    return f"nothing was written to {options.output}{before}"


# ---- the end of research -----------------------------------------------------------------------


def end_files(result: ResearchResult, options: OutputOptions, console: Console | None) -> int:
    status = EXIT[result.status]
    usable = status in USABLE
    if options.as_json:
        print_json(result.to_dict())
    elif usable and result.patch and not options.output and not result.behind:
        show_text(result.patch, bare=options.quiet)
    write_page(result, options.html)
    if not options.quiet:
        print_summary(_summary(result), console)
        if result.patch and (result.improved or result.status == "accepted"):
            print_message(f"to use it: autoreason export {result.run} --patch | git apply")
    else:
        steps = how_to_go_on(result.run, result.story, has_text=False)
        sentence = f"autoreason: {result.conclusion}{f'; {steps}' if status else ''}"
        print_message("\n".join(wrap(sentence, shutil.get_terminal_size().columns)))
    if result.behind and (options.output or not options.as_json):
        where = f"written to {options.output}" if options.output else "printed"
        found = "found the result worse than the start" if result.worse else _BEHIND
        print_message(
            f"nothing is {where}, because the end test {found}; "
            f"`autoreason export {result.run} --patch` has it all the same"
        )
    elif usable and options.output:
        # Last, so that a folder that cannot be written takes nothing else with it.
        _write_files(result, options.output)
    if options.output and not result.finished:
        print_message(f"`autoreason resume {result.run}` will write the files to {options.output}")
    claimed = result.improved or result.status == "accepted"
    return status or (0 if claimed else NO_GAIN)


def _write_files(result: ResearchResult, folder: Path) -> None:
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
