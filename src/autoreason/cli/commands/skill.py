"""`autoreason skill`: what a coding agent needs to use autoreason, put where it looks, or shown."""

from __future__ import annotations

from pathlib import Path

import click

from autoreason.agents import skill as agents
from autoreason.cli.command import Answer, Group
from autoreason.cli.options import group, option
from autoreason.files import home_folder


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
def install(program: str, project: bool, force: bool) -> Answer:
    """Write the skill, and what it needs, to where the program looks; other is .agents/skills."""
    folder = Path() if project else home_folder()
    files = [str(path) for path in agents.install(program, folder, force=force)]
    return Answer({"files": files}, files, [f"autoreason: {agents.THEN[program]}"])


@skill.command()
def show() -> None:
    """Print the skill, for any agent."""
    click.echo((agents.SKILL / "SKILL.md").read_text("utf-8"), nl=False)
