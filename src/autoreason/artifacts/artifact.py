"""An artifact, what a proposal does to it, and the difference of two as a patch that `git apply` accepts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from itertools import islice
from textwrap import dedent, indent

from msgspec import Struct
from msgspec.structs import replace

from autoreason.artifacts.artifact_paths import matches, path_fault
from autoreason.artifacts.measurement import Files

Changes = dict[str, str | None]
"""Paths with their new texts; None where a file is removed."""
_QUOTED = 80
_MAX_PLACES = 20
"""Places that are compared with a passage which lacks its margin."""
_NO_NEWLINE = "\\ No newline at end of file\n"


class ProposalError(ValueError):
    """A proposal cannot be read or applied; the sentence can be sent back to the one who wrote it."""


class Edit(Struct, frozen=True, kw_only=True):
    """One step of a proposal."""

    path: str
    search: str | None = None
    """What is replaced, which occurs exactly once; None replaces or creates the whole file."""
    text: str | None = None
    """What takes its place; None removes the file."""


def apply_edits(files: Files, edits: Iterable[Edit], patterns: Sequence[str]) -> Files:
    """The artifact after all edits, in their order; only what the patterns allow is written."""
    after = dict(files)
    for given in edits:
        edit = _with_meant_path(given, after, patterns)
        if fault := path_fault(edit.path):
            raise ProposalError(f"{edit.path!r} {fault}")
        if not matches(edit.path, patterns):
            raise ProposalError(
                f"{edit.path} is not part of the artifact; only {', '.join(patterns)} may be changed"
            )
        if edit.text is None:
            if edit.path not in after:
                raise ProposalError(f"there is no {edit.path} to remove")
            del after[edit.path]
        elif edit.search is None:
            after[edit.path] = edit.text
        else:
            after[edit.path] = _replace(after, edit.path, edit.search, edit.text)
    if not after:
        raise ProposalError("that removes the whole artifact")
    return dict(sorted(after.items()))


def file_meant(path: str, files: Files) -> str:
    """The file that a path means: itself, or the only one of that name in another folder; empty where there is none."""
    if path in files:
        return path
    name = "" if path_fault(path) else path.rpartition("/")[2]
    named = [each for each in files if name and each.rpartition("/")[2] == name]
    return named[0] if len(named) == 1 else ""


def _with_meant_path(edit: Edit, files: Files, patterns: Sequence[str]) -> Edit:
    """An edit of the file that it means, where it cannot be for a new one; what is removed is named exactly."""
    new = edit.search is None and matches(edit.path, patterns)
    if edit.text is None or new or path_fault(edit.path):
        return edit
    return replace(edit, path=file_meant(edit.path, files) or edit.path)


def _replace(files: Files, path: str, search: str, text: str) -> str:
    if path not in files:
        raise ProposalError(
            f"there is no {path} to replace something in; the files are {', '.join(files)}"
        )
    whole = files[path]
    if "\r\n" in whole:
        search, text = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (search, text))
    if not search.strip():
        raise ProposalError(f"what is to be replaced in {path} is empty; copy it from the file")
    times = count_passages(whole, search)
    if times == 0 and (found := _indented(whole, search, text)):
        (search, text), times = found, 1
    if times == 1:
        return whole.replace(search, text)
    quoted = search.strip().splitlines()[0].strip()[:_QUOTED]
    if times == 0:
        raise ProposalError(
            f"{path} has no such passage, beginning with {quoted!r}; copy it exactly, with its indentation"
        )
    raise ProposalError(
        f"the passage beginning with {quoted!r} occurs {times} times in {path}; "
        "add the lines around it until it occurs once"
    )


def _indented(whole: str, search: str, text: str) -> tuple[str, str] | None:
    """A passage that lacks only its margin, and its replacement, with the margin of the one place where it is."""
    sought = dedent(search).strip("\n").split("\n")
    lines, number = whole.split("\n"), len(sought)
    found = [
        at
        for at in islice(_places(lines, sought), _MAX_PLACES)
        if dedent("\n".join(lines[at : at + number])).split("\n") == sought
    ]
    if len(found) != 1 or not sought[0].strip():
        return None
    place = "\n".join(lines[found[0] : found[0] + number])
    first = _margin(sought[0])
    margin, own = (
        _margin(each)[: len(_margin(each)) - len(first)] for each in (place, search.strip("\n"))
    )
    kept = [line.removeprefix(own) for line in text.strip("\n").split("\n")]
    new = indent("\n".join(kept), margin)
    # A passage that occurs within other lines, too, is not the only one.
    return (place, new) if count_passages(whole, place) == 1 else None


def _places(lines: list[str], sought: list[str]) -> Iterator[int]:
    """Where lines are, whatever their margins; in linear time, for models repeat a line a thousand times."""
    text, passage = ("\n".join(["", *map(str.lstrip, each), ""]) for each in (lines, sought))
    at = text.find(passage)
    while at >= 0:
        yield text.count("\n", 0, at)
        at = text.find(passage, at + 1)


def _margin(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def count_passages(text: str, passage: str) -> int:
    """How often a passage occurs, also where it overlaps itself."""
    times, at = 0, text.find(passage)
    while at >= 0:
        times, at = times + 1, text.find(passage, at + 1)
    return times


def changes_between(before: Files, after: Files) -> Changes:
    """What leads from one artifact to another."""
    removed: Changes = {path: None for path in before if path not in after}
    return removed | {path: text for path, text in after.items() if before.get(path) != text}


def with_changes(files: Files, changes: Changes) -> Files:
    """An artifact after a recorded change."""
    after = {**files, **changes}
    return {path: text for path, text in sorted(after.items()) if text is not None}


def as_text(files: Files) -> str:
    """An artifact as one text; of several files each under its path."""
    if len(files) == 1:
        return next(iter(files.values()))
    return "\n".join(f"==> {path} <==\n{text}" for path, text in files.items())


def make_patch(before: Files, after: Files, prefix: str = "") -> str:
    """What leads from one artifact to the other; `prefix` is the folder of its paths, with a `/`."""
    paths = sorted({*before, *after})
    return "".join(
        part
        for path in paths
        if before.get(path) != after.get(path)
        for part in _patch_file(f"{prefix}{path}", before.get(path), after.get(path))
    )


def _patch_file(path: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = _quote(f"a/{path}"), _quote(f"b/{path}")
    yield f"diff --git {old} {new}\n"
    if before is None:
        yield "new file mode 100644\n"
    elif after is None:
        yield "deleted file mode 100644\n"
    # A tab ends a name that contains a space.
    end = "\t" if " " in path else ""
    lines = unified_diff(
        _lines_of(before),
        _lines_of(after),
        f"{old}{end}" if before is not None else "/dev/null",
        f"{new}{end}" if after is not None else "/dev/null",
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"


def _lines_of(text: str | None) -> list[str]:
    """Lines with their ends; unlike `splitlines`, git knows no other end than a line feed."""
    lines = [f"{line}\n" for line in (text or "").split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"' if '"' in name else name
