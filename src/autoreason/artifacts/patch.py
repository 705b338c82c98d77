"""The difference of two artifacts as a patch that `git apply` accepts. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from autoreason.artifacts.measurement import Files

_NO_NEWLINE = "\\ No newline at end of file\n"


def make_patch(before: Files, after: Files, prefix: str = "") -> str:
    """What leads from one artifact to the other; `prefix` is the folder of its paths, with a `/`."""
    paths = sorted({*before, *after})
    return "".join(
        part
        for path in paths
        if before.get(path) != after.get(path)
        for part in _file(f"{prefix}{path}", before.get(path), after.get(path))
    )


def _file(path: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = _quote(f"a/{path}"), _quote(f"b/{path}")
    yield f"diff --git {old} {new}\n"
    if before is None:
        yield "new file mode 100644\n"
    elif after is None:
        yield "deleted file mode 100644\n"
    # A tab ends a name that contains a space.
    end = "\t" if " " in path else ""
    lines = unified_diff(
        _lines(before),
        _lines(after),
        f"{old}{end}" if before is not None else "/dev/null",
        f"{new}{end}" if after is not None else "/dev/null",
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"


def _lines(text: str | None) -> list[str]:
    """Lines with their ends; unlike `splitlines`, git knows no other end than a line feed."""
    lines = [f"{line}\n" for line in (text or "").split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"' if '"' in name else name
