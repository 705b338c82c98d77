"""`autoreason prompts`: what models are asked, and the variables that a user's prompt may use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.prompts import PromptSet

_which = options.group(
    "Options",
    options.flag("--programs", help="The prompts for programs, which `solve` uses."),
    options.flag("--research", help="The prompts for artifacts, which `research` uses."),
    options.flag("--small", help="The prompts in few words, which small models get."),
)


def _built_in(*, programs: bool, research: bool, small: bool) -> PromptSet:
    from autoreason.prompts import SMALL, load

    if programs and research:
        raise InvalidInput("--programs and --research are two sets of prompts; name one of them")
    writes = "programs" if programs else "files" if research else None
    return load(SMALL if small else None, writes=writes)


@click.group(cls=HelpfulGroup)
def prompts() -> None:
    """Show the prompts and their variables, or export them.

    Each role has one Markdown file, a Jinja template. Files in a folder of your own, given with
    --prompts, take the place of ours by name. A prompt must show its required variables.

    \b
      autoreason prompts list
      autoreason prompts show judge
      autoreason prompts show critic --small
      autoreason prompts export mine
      autoreason run brief.md --prompts mine
    """


@prompts.command("list", cls=Paged, short_help="List the prompts.")
@_which
@options.json_option
def list_(as_json: bool, **which: bool) -> None:
    """List the prompts with the variables each takes; those it must show have a star."""
    from autoreason.cli.views.console import print_table, stdout_console
    from autoreason.cli.views.outcome import print_json
    from autoreason.report.table import Table, words

    found = {name: _variables(source) for name, source in _built_in(**which).sources.items()}
    if as_json:
        print_json(found)
        return
    starred = {
        name: [f"{each['name']}{'*' if each['required'] else ''}" for each in variables]
        for name, variables in found.items()
    }
    rows = [(name, ", ".join(variables) or "-") for name, variables in starred.items()]
    print_table(stdout_console(), Table(words("prompt", "variables"), rows, headings=False))


@prompts.command(cls=Paged, short_help="Show one prompt and its variables.")
@click.argument("name")
@_which
@options.json_option
def show(name: str, as_json: bool, **which: bool) -> None:
    """Show a prompt as it stands, and what each of its variables contains."""
    from autoreason.cli.views.outcome import print_json

    source = _built_in(**which).only([name]).sources[name]
    variables = _variables(source)
    if as_json:
        print_json({"name": name, "variables": variables, "source": source})
        return
    width = max((len(each["name"]) for each in variables), default=0)
    for each in variables:
        must = " (required)" if each["required"] else ""
        print(f"{each['name']:{width}}  {each['meaning']}{must}")
    print("\n" * bool(variables) + source.partition("-#}\n")[2], end="")


@prompts.command(cls=HelpfulCommand, short_help="Write the prompts into a folder.")
@click.argument("folder", type=options.FILE)
@_which
@click.option("--force", is_flag=True, help="Overwrite prompts that are there.")
def export(folder: Path, force: bool, **which: bool) -> None:
    """Write the prompts into a folder, to be changed and given with --prompts.

    Keep only those you change: what is not there is taken from ours.
    """
    chosen = _built_in(**which)
    chosen.write(folder, force=force)
    print(f"{numbers.count(len(chosen.sources), 'prompt')} written to {folder}", file=sys.stderr)


def _variables(source: str) -> list[dict[str, Any]]:
    from autoreason.prompts import takes
    from autoreason.prompts.overrides import VARIABLES

    taken = takes(source)
    required = {name.partition(".")[0] for name in taken.required}
    return [
        {"name": name, "required": name in required, "meaning": VARIABLES[name].meaning}
        for name in sorted(taken.all, key=lambda name: (name not in required, name))
    ]
