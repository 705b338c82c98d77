"""The way in: the commands in the order of help, and the one place where errors become sentences and exit statuses.

The module of a command is imported only when it is called.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, TextIO

import click

from autoreason.cli.command import Output, print_message
from autoreason.errors import (
    AutoreasonError,
    InvalidInput,
    JournalError,
    UnusableStart,
    WritingFailed,
)
from autoreason.models.examples import with_examples
from autoreason.version import __version__

UNUSABLE_START = 6
NOT_WRITTEN = 7
INTERRUPTED = 130
BROKEN_PIPE = 141
SECTIONS = {
    "Write a text": {
        "run": "Write a text and improve it while judges see a gain.",
        "resume": "Go on with a run that paused or was killed.",
    },
    "See what came of it": {
        "view": "Open the page of a run, or a list of runs, in a browser.",
        "show": "Show what happened in a run, or follow it live.",
        "runs": "List runs and take care of the journal they are in.",
    },
    "Choose": {
        "judge": "Which text is best? Fresh judges rank them blind.",
        "compare": "Does refining help? Compare ways to write a text.",
    },
    "Programs, scores and records": {
        "solve": "Write programs for problems with tests, and score them.",
        "research": "Improve a program, config or prompt against a score.",
        "knowledge": "Check, search, test and add to records of your own.",
    },
}
"""What the first screen shows, and the first sentence of its help, so that a list of them loads none."""
OTHERS = {
    "advise": "Should a brief be run at all, and how?",
    "tell": "Guide, accept or stop a run from another terminal.",
    "fork": "Start a new run from a text of an old one.",
    "export": "Write runs into files: a folder, a site, a patch, pairs.",
    "rate": "Let people rate texts blind, and count what they say.",
    "host": "Let a coding agent answer what a run asks.",
    "skill": "Let a coding agent use autoreason, with its own model.",
    "mcp": "Serve a coding agent over MCP, which starts this.",
    "certify": "Measure a judge before it is trusted.",
    "audit": "Check whether a record is reliable; no model is called.",
    "lab": "Run experiments: tasks by methods, planned and reported.",
    "simulate": "Try the rules in worlds where the truth is known.",
    "problems": "Show, convert and check sets of problems.",
    "models": "Show providers, keys and local models; list and pull.",
    "prompts": "Show the prompts and their variables, or export them.",
    "doctor": "Check this machine and say how to fix it.",
}
"""The commands that it only names."""
_MODULES = {
    **dict.fromkeys(("run", "resume", "fork", "tell"), "writing"),
    "view": "runs",
    **dict.fromkeys(("solve", "problems", "research"), "programs"),
    **dict.fromkeys(("show", "export"), "records"),
    **dict.fromkeys(("advise", "judge", "compare", "certify", "rate"), "judging"),
    **dict.fromkeys(("audit", "simulate", "lab"), "experiments"),
    **dict.fromkeys(("models", "prompts", "doctor"), "setup"),
    **dict.fromkeys(("skill", "mcp"), "agents"),
}
"""Where commands are that have no module of their own."""
_NAMES = [*(name for section in SECTIONS.values() for name in section), *OTHERS]


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_NAMES)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _NAMES and not args[0].startswith("-"):
            from difflib import get_close_matches

            alike = get_close_matches(args[0], _NAMES)
            meant = f" Did you mean {' or '.join(alike)}?" if alike else ""
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _NAMES:
            return None
        module = _MODULES.get(cmd_name, cmd_name)
        command = getattr(importlib.import_module(f"autoreason.cli.commands.{module}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<9}", text) for name, text in commands.items()])
        formatter.write_paragraph()
        formatter.write_text(f"Others: {', '.join(OTHERS)}")
        formatter.write_text("Of each: autoreason COMMAND --help; where there is more, --help-all")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Those that most commands share are listed by each of them."""
        self.format_commands(ctx, formatter)


def _show_result(found: Any, values: dict[str, Any]) -> int:
    """Show what a command returned, or drive the run that it prepared; the exit status."""
    if found is None or isinstance(found, int):
        return found or 0
    if isinstance(found, Output):
        from autoreason.cli.outcome import show_answer

        show_answer(found)
        return found.status
    report, status = found if isinstance(found, tuple) else (found, 0)
    assert isinstance(status, int)
    if hasattr(report, "run_async"):
        from autoreason.cli.runner import run_prepared

        return run_prepared(report, values)
    from autoreason.cli.outcome import show_report

    show_report(report)
    return status


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__, prog_name="autoreason", message="%(prog)s %(version)s", help="Print the version."
)
@click.pass_context
@with_examples
def cli(ctx: click.Context) -> None:
    """Write a text, and improve it while judges see a gain.

    In each round a critic names faults and the author rewrites. Every five rounds judges who do not know
    which text is which rank those from the first draft to the latest, and it goes on from the one they
    put first; it stops when that one stays first, or after 40 rounds. Then fresh judges compare the
    result with the first draft.

    \b
      autoreason run "Write a toast for my sister's wedding" -m {cheap}
      autoreason run brief.md -m {model} --cost-limit 1
      autoreason run brief.md -m {local} | pandoc -o text.docx
    """
    ctx.obj = _show_result


def main() -> None:
    # A start keeps nearly all it creates: at Python's 700 objects, garbage is looked for ninety times in vain.
    gc.set_threshold(100_000)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # A stream that the caller has closed is None: nothing is read from it or printed there.
        if getattr(sys, name) is None:
            # Not to be closed, like the streams that Python opens itself.
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8", closefd=False))
    # What was typed is UTF-8 also where the locale says that all text is ASCII.
    typed = [os.fsencode(each).decode("utf-8", "surrogateescape") for each in sys.argv[1:]]
    status = run_cli(typed)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _abandon(stream)
    # All is closed; on its way out Python would look through every object for garbage, several times.
    gc.freeze()
    sys.exit(status)


def run_cli(arguments: list[str]) -> int:
    """The exit status of one command."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A pipe carries the text as it is, whatever the locale; a terminal shows what it can.
        encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="replace")
    try:
        _start_log()
        _refuse_empty(arguments)
        status = cli.main(arguments, prog_name="autoreason", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as mistake:
        with suppress(OSError):
            mistake.show()
        return mistake.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _print_error("interrupted", INTERRUPTED)
    except WritingFailed as error:
        return _print_error(str(error), NOT_WRITTEN)
    except (InvalidInput, JournalError) as error:
        status = UNUSABLE_START if isinstance(error, UnusableStart) else 2
        return _print_error(str(error), status)
    except AutoreasonError as error:
        return _print_error(str(error), 1)
    except BrokenPipeError:
        _abandon(sys.stdout)
        return BROKEN_PIPE
    except OSError as error:
        if error.filename:
            return _print_error(f"cannot use {error.filename}: {error.strerror}; name another", 2)
        return _print_error(f"cannot write to standard output: {error.strerror or error}", 1)
    return status if isinstance(status, int) else 0


def _start_log() -> None:
    level = os.environ.get("AUTOREASON_LOG", "")
    if not level:
        return
    if level.lower() not in ("debug", "info"):
        raise InvalidInput(f"AUTOREASON_LOG is `{level}`; set it to debug or info, or unset it")
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("autoreason")
    log.setLevel(level.upper())
    log.addHandler(handler)


def _refuse_empty(arguments: list[str]) -> None:
    """An empty name is a variable that was not set, never a wish for the default."""
    for before, given in zip(["autoreason", *arguments], arguments, strict=False):
        option, equals, value = given.partition("=")
        inside = equals and option.startswith("--")
        if not (value if inside else given).strip():
            raise InvalidInput(
                f"what is given after {option if inside else before} is empty; give a value or leave it out "
                "(perhaps a variable of your shell is not set)"
            )


def _abandon(stream: TextIO) -> None:
    """Its reader has left: write nothing to it again, not even on the way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print_error(sentence: str, status: int) -> int:
    with suppress(OSError):
        print_message(f"autoreason: {sentence}")
    return status


if __name__ == "__main__":
    main()
