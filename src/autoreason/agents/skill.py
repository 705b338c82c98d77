"""The skill for coding agents, and where each of them looks for it."""

from __future__ import annotations

from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.files import write_atomically
from autoreason.journal.sqlite import make_folder

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
_SERVER = "`{} autoreason{} autoreason mcp` gives it the two tools that answer"
THEN = {
    "claude-code": "in a new session of Claude Code, say “use autoreason”",
    "codex": _SERVER.format("codex mcp add", " --"),
    "gemini-cli": _SERVER.format("gemini mcp add", ""),
    "other": "`autoreason mcp` is the server of MCP that its subagents need",
}
"""What is still to be done."""


def install(program: str, folder: Path, *, force: bool = False) -> list[Path]:
    """Write what a program needs below a home or a project: all its files, or none where one was changed."""
    files = {
        folder / place / path.relative_to(source): path.read_bytes()
        for place, source in PROGRAMS[program].items()
        for path in sorted(source.rglob("*"))
        if path.is_file()
    }
    for path, new in files.items():
        if not force and path.exists() and path.read_bytes() != new:
            differs = "is there already and not as it is here; look at it, then replace it"
            raise InvalidInput(f"{path} {differs} with `force`")
    for path, new in files.items():
        make_folder(path.parent)
        write_atomically(path, new)
    return [*files]
