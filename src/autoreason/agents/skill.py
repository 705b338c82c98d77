"""The skill for coding agents, and where each of them looks for it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from autoreason.errors import InvalidInput
from autoreason.files import write
from autoreason.journal.sqlite import make_folder

_HERE = Path(__file__).parent
_SKILL = _HERE / "plugin/skills/autoreason"


class Program(NamedTuple):
    """What a coding agent is given: our files or folders, and their places below a home or a project."""

    files: dict[str, Path]
    then: str
    in_projects: bool = True


_SHARED = {".agents/skills/autoreason": _SKILL}
PROGRAMS = {
    "claude-code": Program(
        {".claude/skills/autoreason": _HERE / "plugin"},
        "a new session of Claude Code loads it as a plugin; say “use autoreason”",
    ),
    "codex": Program(
        {**_SHARED, ".codex/agents/answerer.toml": _HERE / "codex/answerer.toml"},
        "run `codex mcp add autoreason -- autoreason mcp`; then say “use $autoreason” in a new session",
    ),
    "gemini-cli": Program(
        {**_SHARED, ".gemini/extensions/autoreason": _HERE / "gemini-cli"},
        "a new session of Gemini CLI loads it; say “use autoreason”",
        in_projects=False,
    ),
    "other": Program(
        _SHARED, "give your agent the MCP server `autoreason mcp`, for answers from fresh contexts"
    ),
}


def text() -> str:
    """The skill as it stands, for any agent."""
    return (_SKILL / "SKILL.md").read_text("utf-8")


def install(name: str, folder: Path, *, in_project: bool, force: bool = False) -> list[Path]:
    """Write what a program needs below a home or a project; the files, all of them or none.

    A file that is there with other content is replaced only with `force`.
    """
    program = PROGRAMS[name]
    if in_project and not program.in_projects:
        raise InvalidInput(f"{name} looks only in your home folder; leave out `project`")
    files: dict[Path, bytes] = {}
    for place, source in program.files.items():
        for path in [source] if source.is_file() else sorted(source.rglob("*")):
            if path.is_file():
                files[folder / place / path.relative_to(source)] = path.read_bytes()
    changed = [path for path, new in files.items() if path.exists() and path.read_bytes() != new]
    if changed and not force:
        raise InvalidInput(
            f"{changed[0]} is there already and not as it is here; look at it, then replace it with `force`"
        )
    for path, new in files.items():
        make_folder(path.parent)
        write(path, new)
    return list(files)
