"""`autoreason skill`: what a coding agent needs to use autoreason, put where it looks, or shown."""

from __future__ import annotations

from pathlib import Path

import click

from autoreason.cli.command import Answer, Group
from autoreason.cli.options import group, option


@click.group(cls=Group)
def skill() -> None:
    """Let a coding agent use autoreason, with its own model.

    \b
      autoreason skill install --for claude-code
      autoreason skill install --for codex --project
      autoreason skill show
    """


@skill.command(shares="as_json")
@group(
    "Where",
    option(
        "--for claude-code|codex|gemini-cli|other",
        "The program; other is any that reads .agents/skills.",
        name="program",
        default="other",
    ),
    option("--project", "In this folder, not in your home folder."),
    option("--force", "Replace files that were changed, or are of another version."),
)
def install(program: str, project: bool, force: bool) -> Answer:
    """Write the skill, and what it needs, to where the program looks."""
    from autoreason.agents import skill

    folder = Path() if project else Path.home()
    files = skill.install(program, folder, in_project=project, force=force)
    written = [str(path) for path in files]
    return Answer({"files": written}, written, [f"autoreason: {skill.PROGRAMS[program].then}"])


@skill.command()
def show() -> None:
    """Print the skill, for any agent."""
    from autoreason.agents.skill import text

    click.echo(text(), nl=False)
