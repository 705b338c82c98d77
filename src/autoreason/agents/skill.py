"""The skill for coding agents, and where each of them looks for it."""

from __future__ import annotations

from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.files import named, write_atomically

_HERE = Path(__file__).parent
SKILL = _HERE / "plugin/skills/autoreason"
_SHARED = {".agents/skills/autoreason": SKILL}
PROGRAMS = {
    "claude-code": {".claude/skills/autoreason": _HERE / "plugin"},
    "codex": {**_SHARED, ".codex/agents": _HERE / "codex"},
    "gemini-cli": {**_SHARED, ".gemini/agents": _HERE / "gemini-cli"},
    "other": _SHARED,
}
"""Folders of ours, by their places below a home or a project."""
THEN = {
    "claude-code": "begin a new session, and say “use autoreason”",
    "codex": "run `codex mcp add autoreason -- autoreason mcp`, for the tools of its subagents",
    "gemini-cli": "run `gemini mcp add autoreason autoreason mcp`, for the tools of its subagents",
    "other": "its subagents need the tools of the MCP server `autoreason mcp`",
}


def install(program: str, folder: Path, *, force: bool = False) -> list[Path]:
    """Write what a program needs below a home or a project: all its files, or none where one was changed."""
    files = {
        folder / place / path.relative_to(source): path.read_bytes()
        for place, source in PROGRAMS[program].items()
        for path in sorted(source.rglob("*"))
        if path.is_file()
    }
    for path, new in files.items():
        if not (up := next(each for each in path.parents if each.exists())).is_dir():
            raise InvalidInput(f"{up} is not a folder; move it")
        if not force and path.exists() and path.read_bytes() != new:
            raise InvalidInput(f"{path} was changed; look at it, then replace it with `force`")
    for path, new in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with named(path):
            write_atomically(path, new)
    return [*files]
