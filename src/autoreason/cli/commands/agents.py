"""What a coding agent needs to use autoreason: a skill, put where it looks, and a server that it starts."""

from __future__ import annotations

import sys
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import click

from autoreason.agents import skill as agents
from autoreason.cli.command import Command, Group, Output
from autoreason.cli.options import field_option, group, option
from autoreason.errors import InvalidInput
from autoreason.files import home_folder
from autoreason.settings import Budget, limit_remedy


@click.group(cls=Group)
def skill() -> None:
    """Let a coding agent use autoreason, with its own model."""


@skill.command(shares="as_json")
@group(
    "Where",
    option(f"--for {'|'.join(agents.PROGRAMS)}", "The program.", name="program", default="other"),
    option("--project", "In this folder, not in your home folder."),
    option("--force", "Replace files that are not as they are here."),
)
def install(program: str, project: bool, force: bool) -> Output:
    """Write the skill, and what it needs, to where the program looks; other is .agents/skills."""
    folder = Path() if project else home_folder()
    files = [str(path) for path in agents.install(program, folder, force=force)]
    notes = [f"autoreason: {agents.THEN[program]}"]
    if find_spec("mcp") is None:
        notes.append("autoreason: the MCP server needs `pip install '.[mcp]'` in the clone")
    return Output({"files": files}, files, notes)


@skill.command()
def show() -> None:
    """Print the skill, for any agent."""
    click.echo((agents.SKILL / "SKILL.md").read_text("utf-8"), nl=False)


@click.command(cls=Command, shares="journal")
@group(
    "Limits", field_option(Budget, "cost", "--cost-limit USD", help="For all its runs together.")
)
def mcp(cost_limit: Decimal | None, journal: str | None) -> None:
    """Serve a coding agent over MCP, which starts this.

    No key is needed: contexts of the agent answer. Models that may cost money are refused without
    --cost-limit; runs with them go on in this process, and pause when it ends.

    \b
      claude mcp add autoreason -- autoreason mcp
    """
    import asyncio

    from autoreason.run.record import use_journal

    try:
        from autoreason.agents.canary import restore
        from autoreason.agents.mcp_server import serve
    except ModuleNotFoundError:
        raise InvalidInput("MCP needs its SDK; run `pip install '.[mcp]'` in the clone") from None
    if sys.stdin.isatty():
        raise InvalidInput("an agent starts this, and nobody types here; see docs/host.md")
    if remedy := limit_remedy(cost_limit):
        raise InvalidInput(f"--cost-limit is {cost_limit}; {remedy} or leave it out")
    restore()
    with use_journal(journal, create=True) as book:
        asyncio.run(serve(book, cost_limit))
