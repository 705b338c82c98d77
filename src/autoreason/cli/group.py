"""The commands in the order of help; the module of a command is imported only when it is called."""

from __future__ import annotations

import importlib
from typing import Any

import click

from autoreason.cli.command import Answer
from autoreason.models.examples import with_examples
from autoreason.version import __version__

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
    "audit": "Say what a record is worth, without calling a model.",
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
    **dict.fromkeys(("solve", "problems"), "programs"),
    **dict.fromkeys(("show", "export"), "records"),
    **dict.fromkeys(("advise", "judge", "compare", "certify"), "judging"),
    **dict.fromkeys(("audit", "simulate", "lab"), "experiments"),
    **dict.fromkeys(("models", "prompts", "doctor"), "setup"),
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
    if isinstance(found, Answer):
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
