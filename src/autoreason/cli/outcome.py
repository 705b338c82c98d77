"""What commands end with: texts, reports, files and answers, where they go, and exit statuses."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import Struct

from autoreason.characters import without_controls
from autoreason.cli.command import in_journal, print_message, shared, with_flags
from autoreason.cli.lookup import writes_programs
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.files import check_folder, is_word_file, write
from autoreason.job_types import Lab
from autoreason.report.changes import FENCE
from autoreason.report.table import WIDEST, Table, wrap

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.artifacts.artifact import Changes
    from autoreason.cli.command import Output
    from autoreason.report.report import Report
    from autoreason.run.lab import PreparedLab
    from autoreason.run.prepared import PreparedRun
    from autoreason.run.research import MeasuredStart
    from autoreason.run.research_result import ResearchResult
    from autoreason.run.result import Result
    from autoreason.run.solution import Solution


EXIT = {
    **dict.fromkeys(("converged", "capped", "done", "accepted", "waiting"), 0),
    "budget": 3,
    "provider_failed": 4,
    "metric_failed": 4,
    "panel_failed": 5,
    "stopped": 130,
}
CONTRACT_BROKEN = 6
"""Exit status of a delivered text that breaks its contract, where that was asked for."""
UNSOLVED = NO_GAIN = 1
"""Exit status where the one program fails its tests, of a set no public one is passed, or research claims no gain."""
USABLE = (0, 3)
"""Exit statuses that come with a text on standard output."""
_LEAD = re.compile(r"\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+)?")
_NARROWEST = 20
_PAGE = "autoreason view last   as a page"
_BEHIND = "shows no gain, and the result did worse in it than the start, perhaps by chance"


class OutputOptions(Struct, frozen=True):
    output: Path | None = None
    as_json: bool = False
    progress: str | None = None
    """`live`, `lines` or `none`; None is live on a terminal."""
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
    from autoreason.report.report import pretty_json

    sys.stdout.write(pretty_json(value) + "\n")
    sys.stdout.flush()


def show_answer(answer: Output) -> None:
    if shared("as_json"):
        print_json(answer.value)
        return
    if answer.lines:
        from autoreason.cli.console import stdout_console

        console = stdout_console()
        for line in answer.lines:
            for each in line.to_rich(console.width) if isinstance(line, Table) else [line]:
                console.print(each, soft_wrap=True)
    print_message(*answer.notes)


def show_report(report: Report) -> None:
    """On standard output: of a report that has a summary only that, unless --evidence asks for all."""
    from autoreason.cli.console import stdout_console
    from autoreason.run.result import Result

    try:
        if shared("as_json"):
            print_json(report.to_dict())
        elif report.is_summarized and not shared("evidence"):
            lines = _summary(report) if isinstance(report, Result) else report.summary()
            print_summary(lines, stdout_console())
        else:
            stdout_console().print(report, soft_wrap=True)
    finally:
        # Last, so that a page that cannot be written takes nothing else with it.
        write_page(report, shared("html"))


def print_summary(lines: Iterable[str], console: Console | None) -> None:
    """Wrapped at words; the first line is the one to read."""
    width = min(WIDEST, console.width if console else shutil.get_terminal_size().columns)
    for at, line in enumerate(lines):
        for each in wrap_parts(without_controls(in_journal(line)), width) or [""]:
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
            lines += wrap(part, width, "  " * (len(part) - len(part.lstrip())))
    return lines


def _summary(result: Result, where: str = "") -> list[str]:
    """With the command that opens it as a page."""
    page = " · autoreason view last" if result.finished else ""
    return result.summary(f"{result.took}{where}{page}")


def write_page(report: Report, path: Path | None) -> None:
    if path is not None:
        write(path, report.to_html())
        print_message(f"written to {path}")


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
        in_code ^= bool(FENCE.match(line))
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

    report: Report
    if isinstance(prepared.settings.job, Lab):
        report = cast("PreparedLab", prepared).plan()
    else:
        estimate, noise = prepared.estimate(), None
        if measured:
            estimate, noise = replace(estimate, request=measured.request), measured.noise
        report = DryRun(prepared.task, prepared.settings, estimate, noise=noise)
    show_report(report)
    try:
        prepared.check_models()
    except InvalidInput as refusal:
        print_message(f"autoreason: a real run would be refused: {with_flags(str(refusal))}")
    return 0


# ---- the end of a run --------------------------------------------------------------------------


class Handover(NamedTuple):
    """What a run hands over when it ends or pauses, and what there is to say of that."""

    status: int
    text: str | None
    """For standard output or a file; None where that is nothing."""
    problem: str
    """The sentence that is printed even with -q; empty where all is well."""
    notes: Sequence[str] = ()
    """Sentences below the summary."""
    where: str = ""
    """Where the text is, behind what the run took."""


def end_run(result: Result, options: OutputOptions, console: Console | None) -> int:
    """Hand over what a run came to, say how it ended, and return the exit status."""
    story = result.story
    if story.writes is None and result.finished:
        show_report(result)
        unsolved = cast("Solution", result).unsolved if writes_programs(story) else ""
        if unsolved:
            print_message(f"autoreason: not solved: {unsolved}")
        return UNSOLVED if unsolved else 0
    if result.status == "waiting":
        ending = Handover(0, None, result.conclusion)
    elif story.writes == "files":
        ending = _end_files(cast("ResearchResult", result), options)
    elif story.writes == "programs":
        ending = _end_program(cast("Solution", result), options)
    else:
        ending = _end_text(result, options)
    file = options.output if story.writes != "files" and ending.text is not None else None
    notes = [*ending.notes]
    if options.output and not result.finished and story.writes != "files":
        notes.append(f"with -o {options.output} it writes the result there")
    with _explain_failure(result, str(file)):
        if file and is_word_file(file):
            from autoreason.run.word_files import write_word_file

            notes += write_word_file(ending.text or "", file, story.task)
        elif file:
            write(file, ending.text or "")
    with _explain_failure(result, "to standard output"):
        if options.as_json:
            print_json(result.to_dict())
        elif ending.text is not None and not options.output:
            show_text(ending.text, options.quiet, prose=story.writes == "text")
    if not options.quiet:
        # What it wrote is out: it has not failed where no one reads standard error.
        with suppress(OSError):
            print_summary([*_summary(result, ending.where), *_next_commands(result)], console)
            print_message(*notes, *([f"written to {file}"] if file else []))
    elif ending.problem:
        print_message(f"autoreason: {ending.problem}")
    with _explain_failure(result, str(options.html)):
        write_page(result, options.html)
    if story.writes == "files" and ending.text is not None and options.output:
        # Last, so that a folder that cannot be written takes nothing else with it.
        with _explain_failure(result, str(options.output)):
            _write_files(cast("ResearchResult", result).changes, options.output)
    return ending.status


def _next_commands(result: Result) -> list[str]:
    if not result.finished or result.story.writes != "text":
        return []
    changed = result.story.draft and result.origin != "draft" and not result.alternatives
    hints = [*(["autoreason show --diff    what changed"] if changed else []), _PAGE]
    # With the option that names a journal, two do not fit into one line.
    return ["", *(hints if shared("journal") else ["        ".join(hints)])]


@contextmanager
def _explain_failure(result: Result, where: str) -> Iterator[None]:
    """Where the text cannot be written, say that the journal has it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, InvalidInput) as error:
        why = f"cannot write {where}: {error.strerror}" if isinstance(error, OSError) else error
        of_files = result.story.writes == "files"
        see = f"export {result.run} --patch" if of_files else f"show {result.run} --text"
        raise AutoreasonError(f"{why}; the result is kept, see `autoreason {see}`") from None


def _end_text(result: Result, options: OutputOptions) -> Handover:
    status = EXIT[result.status]
    text = result.story.output if status in USABLE else None
    problem = f"{result.conclusion}; {result.how_to_go_on()}" if status else ""
    if result.violations and not status:
        problem = result.broken_contract()
        status = CONTRACT_BROKEN if options.fail_on_contract else status
    from autoreason.run.experience import find_experience

    story, notes = result.story, list[str]()
    if story.settings and story.task and result.finished:
        notes = find_experience(result.journal, story.settings, story.task, story.text)
    return Handover(status, text, problem, notes)


def _end_program(solution: Solution, options: OutputOptions) -> Handover:
    program, notes, problem = solution.story.text or None, [], ""
    if not solution.finished:
        again = f" -o {options.output}" if options.output else ""
        problem = f"{solution.conclusion}; {solution.how_to_go_on(again)}"
    elif program is None:
        problem = solution.solved[-1].reason if solution.solved else solution.reason
        if options.output:
            notes = [f"nothing was written to {options.output}"]
            problem = f"{problem}; {notes[0]}"
    elif solution.unsolved:
        problem = f"not solved: {solution.unsolved}"
    where = " · solution on standard output" if program and not options.output else ""
    status = UNSOLVED if solution.unsolved else EXIT[solution.status]
    return Handover(status, program, problem, notes, where)


def _end_files(result: ResearchResult, options: OutputOptions) -> Handover:
    status, notes = EXIT[result.status], []
    usable = status in USABLE and not result.behind
    claimed = result.improved or result.status == "accepted"
    if result.patch and claimed:
        notes.append(f"to use it: autoreason export {result.run} --patch | git apply")
    if result.behind:
        where = f"written to {options.output}" if options.output else "printed"
        found = "found the result worse than the start" if result.worse else _BEHIND
        notes.append(
            f"nothing is {where}, because the end test {found}; "
            f"`autoreason export {result.run} --patch` has it all the same"
        )
    problem = "" if claimed and not status else result.conclusion
    if status:
        problem = f"{problem}; {result.how_to_go_on()}"
        if options.output:
            notes.append(f"`autoreason resume` will write the files to {options.output}")
            problem = f"{problem}; {notes[-1]}"
    text = result.patch if usable and result.patch else None
    return Handover(status or (0 if claimed else NO_GAIN), text, problem, notes)


def _write_files(changes: Changes, folder: Path) -> None:
    check_folder(folder, changes)
    for path, text in changes.items():
        if text is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write(folder / path, text)
    removed = [path for path, text in changes.items() if text is None]
    written = ", ".join(path for path, text in changes.items() if text is not None)
    print_message(f"{written or 'no file'} written to {folder}")
    if removed:
        print_message(f"the result has no {', '.join(removed)} any more; remove it yourself")
