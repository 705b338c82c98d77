"""The commands in the order of help; each command's module is imported only when it is called."""

from __future__ import annotations

import importlib

import click

from autoreason.models.examples import with_examples

SECTIONS = {
    "Write": ("run", "resume", "fork"),
    "Write programs": ("solve", "check", "problems"),
    "Improve what has a number": ("research",),
    "Look": ("runs", "show", "watch", "export", "replay"),
    "Compare and study": (
        *("advise", "judge", "compare", "rejudge", "certify"),
        *("audit", "pairs", "rate", "simulate", "lab"),
    ),
    "Learn from outcomes": ("knowledge", "outcome", "ab"),
    "Steer from another terminal": ("guide", "accept", "stop"),
    "Set up": ("models", "prompts", "journal", "doctor"),
}
_MODULES = {"guide": "steer", "accept": "steer", "stop": "steer"}
"""Commands that are not in a module of their own name."""
_NAMES = [name for section in SECTIONS.values() for name in section]
_FOLDER = __file__.removesuffix("group.py") + "commands/"


def short_help(command: str) -> str:
    """The first line of a command's docstring, without importing its module."""
    # Importing pathlib would make help slower by a tenth.
    with open(f"{_FOLDER}{_MODULES.get(command, command)}.py", encoding="utf-8") as file:  # noqa: PTH123
        source = file.read()
    docstring = source.partition(f"\ndef {command}(")[2].partition('"""')[2]
    return docstring.partition("\n")[0].removesuffix('"""')


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All commands, in the order they are taught."""
        return list(_NAMES)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As always; a mistyped name is answered with those it may have been."""
        if args[0] not in _NAMES and not args[0].startswith("-"):
            from difflib import get_close_matches

            alike = get_close_matches(args[0], _NAMES)
            meant = f" Did you mean {' or '.join(alike)}?" if alike else ""
            if args[0].startswith("config"):
                meant = (
                    " Your defaults are a file: `autoreason doctor` says where and what is in it."
                )
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module a command lives in."""
        if cmd_name not in _NAMES:
            return None
        module = importlib.import_module(
            f"autoreason.cli.commands.{_MODULES.get(cmd_name, cmd_name)}"
        )
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without loading them."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, short_help(name)) for name in commands])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from autoreason.version import __version__

        click.echo(f"autoreason {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Every command explains itself: autoreason COMMAND --help",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
@with_examples
def cli() -> None:
    """Make a draft as good as a model can make it, and know when to stop.

    In each pass the text as it stands (A) meets a revision made against a critique (B) and a
    synthesis of both (AB); fresh judges rank the three blind. A run ends when A survives three times
    in a row; then a panel picks the text to deliver, and fresh judges compare it with the first draft.

    \b
      autoreason run "Write a toast for my sister's wedding"
      autoreason run brief.md -m {model} > text.md
      cat brief.md | autoreason run - --cost-limit 0.50 | pandoc -o text.docx
    """
