"""`autoreason prompts`: what models are asked, and the variables that a user's prompt may use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.prompts import PromptSet


def _built_in(*, programs: bool, research: bool, small: bool) -> PromptSet:
    from autoreason.prompts import SMALL, load

    if programs and research:
        raise InvalidInput("--programs and --research are two sets of prompts; name one of them")
    writes = "programs" if programs else "files" if research else None
    return load(SMALL if small else None, writes=writes)


@click.command(cls=Paged, shares="as_json")
@click.argument("name", required=False)
@options.group(
    "Which prompts",
    options.flag("--programs", help="The prompts for programs, which `solve` uses."),
    options.flag("--research", help="The prompts for artifacts, which `research` uses."),
    options.flag("--small", help="The prompts in few words, which small models get."),
)
@options.group(
    "Output",
    options.file("--export DIR", "folder", help="Write the prompts there, to be changed."),
    options.flag("--force", help="With --export: overwrite prompts that are there."),
)
def prompts(
    name: str | None, folder: Path | None, force: bool, as_json: bool, **which: bool
) -> None:
    """Show the prompts and their variables, or export them.

    Without NAME all prompts are listed with the variables each takes; those it must show have a
    star. With NAME that prompt is shown as it stands, and what each of its variables contains.

    Each role has one Markdown file, a Jinja template. Files in a folder of your own, given with
    --prompts, take the place of ours by name; keep only those you change.

    \b
      autoreason prompts
      autoreason prompts judge --small
      autoreason prompts --export mine
      autoreason run brief.md --prompts mine
    """
    chosen = _built_in(**which)
    if folder is not None:
        if name or as_json:
            raise InvalidInput("--export writes all prompts; leave the name and --json out")
        chosen.write(folder, force=force)
        written = numbers.count(len(chosen.sources), "prompt")
        print(f"{written} written to {folder}", file=sys.stderr)
    elif name is None:
        _list(chosen, as_json=as_json)
    else:
        _show(name, chosen.only([name]).sources[name], as_json=as_json)


def _list(chosen: PromptSet, *, as_json: bool) -> None:
    from autoreason.cli.views.console import print_table, stdout_console
    from autoreason.cli.views.outcome import print_json
    from autoreason.report.table import Table, words

    found = {name: _variables(source) for name, source in chosen.sources.items()}
    if as_json:
        print_json(found)
        return
    starred = {
        name: [f"{each['name']}{'*' if each['required'] else ''}" for each in variables]
        for name, variables in found.items()
    }
    rows = [(name, ", ".join(variables) or "-") for name, variables in starred.items()]
    print_table(stdout_console(), Table(words("prompt", "variables"), rows, headings=False))


def _show(name: str, source: str, *, as_json: bool) -> None:
    from autoreason.cli.views.outcome import print_json

    variables = _variables(source)
    if as_json:
        print_json({"name": name, "variables": variables, "source": source})
        return
    width = max((len(each["name"]) for each in variables), default=0)
    for each in variables:
        must = " (required)" if each["required"] else ""
        print(f"{each['name']:{width}}  {each['meaning']}{must}")
    print("\n" * bool(variables) + source.partition("-#}\n")[2], end="")


def _variables(source: str) -> list[dict[str, Any]]:
    from autoreason.prompts import takes
    from autoreason.prompts.overrides import VARIABLES

    taken = takes(source)
    required = {name.partition(".")[0] for name in taken.required}
    return [
        {"name": name, "required": name in required, "meaning": VARIABLES[name].meaning}
        for name in sorted(taken.all, key=lambda name: (name not in required, name))
    ]
