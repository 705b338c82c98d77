"""Paths of a task: relative to its folder, as they are written in its front matter, read without links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from autoreason.artifacts.measurement import Files
from autoreason.errors import InvalidInput

MAX_FILE = 100_000
MAX_ARTIFACT = 1_000_000
_WILD = frozenset("*?[")
_SKIPPED = ("__pycache__", "node_modules")
_MAX_NAME = 255
"""Bytes of one name in a path."""


def path_fault(path: str) -> str:
    """Why a path cannot be one of an artifact, in words; empty where it can."""
    if not path or path != path.strip() or not path.isprintable():
        return "is no path"
    if max(len(part.encode(errors="replace")) for part in path.split("/")) > _MAX_NAME:
        return "has a name that is too long for a file"
    if path.startswith(("/", "~")) or "\\" in path or path[1:2] == ":":
        return "is not relative to the task's folder; write it with `/`, from there"
    if ".." in path.split("/"):
        return "leads out of the task's folder; name only what is inside"
    if ".git" in path.lower().split("/"):
        return "is in git's own folder; name a file of the artifact"
    if str(PurePosixPath(path)) != path:
        return "is not in its shortest form; leave out `./`, `//` and a `/` at the end"
    return ""


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns stands for this path; `**` is any number of folders."""
    return any(_match(path.split("/"), pattern.split("/")) for pattern in patterns)


def _match(path: Sequence[str], pattern: Sequence[str]) -> bool:
    if not path or not pattern:
        return not path and (not pattern or list(pattern) == ["**"])
    # A wildcard does not mean what is hidden, and no one wants to improve what tools leave behind.
    shy = path[0].startswith(".") or path[0] in _SKIPPED
    if pattern[0] == "**":
        return _match(path, pattern[1:]) or (not shy and _match(path[1:], pattern))
    named = path[0] == pattern[0]
    return (named or (not shy and fnmatchcase(path[0], pattern[0]))) and _match(
        path[1:], pattern[1:]
    )


def find_files(folder: Path, patterns: Iterable[str], key: str) -> list[str]:
    """The files that the patterns under a key stand for, each a regular file below the folder."""
    found: list[str] = []
    for pattern in patterns:
        if fault := path_fault(pattern):
            raise InvalidInput(f"`{key}`: {pattern!r} {fault}")
        names = list(_walk(folder, pattern)) if _WILD & set(pattern) else [pattern]
        if not names:
            raise InvalidInput(f"`{key}`: no file matches {pattern!r} in {folder}; check the name")
        for name in names:
            check_file(folder, name, key)
        found += names
    return list(dict.fromkeys(found))


def _walk(folder: Path, pattern: str) -> Iterator[str]:
    """Files that match, without following links; only folders that can contain one are opened."""
    fixed = []
    for part in pattern.split("/")[:-1]:
        if _WILD & set(part):
            break
        fixed.append(part)
    for place, folders, names in os.walk(folder.joinpath(*fixed)):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _SKIPPED
        )
        below = Path(place).relative_to(folder).as_posix()
        for name in sorted(names):
            path = name if below == "." else f"{below}/{name}"
            if matches(path, (pattern,)):
                yield path


def check_file(folder: Path, name: str, key: str) -> None:
    """Refuse what is no regular file, or is reached through a link."""
    at = folder
    for part in name.split("/"):
        at = at / part
        try:
            mode = at.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            raise InvalidInput(f"`{key}`: there is no {name} in {folder}; check the name") from None
        except OSError as error:
            raise InvalidInput(f"`{key}`: cannot read {name}: {error.strerror}") from None
        if stat.S_ISLNK(mode):
            link = at.relative_to(folder).as_posix()
            raise InvalidInput(f"`{key}`: {link} is a link; name the file itself")
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"`{key}`: {name} is a folder; name its files, such as {name}/*.py")
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"`{key}`: {name} is no regular file; name one")


def read_bytes(folder: Path, name: str, key: str, limit: int) -> bytes:
    """A file's content; one that is too large is refused without being read."""
    path = folder / name
    try:
        if path.stat().st_size <= limit:
            with path.open("rb") as file:
                data = file.read(limit + 1)
            if len(data) <= limit:
                return data
    except OSError as error:
        raise InvalidInput(f"`{key}`: cannot read {name}: {error.strerror}") from None
    raise InvalidInput(f"`{key}`: {name} is over {_size(limit)}; name a smaller file")


def load_artifact(folder: Path, patterns: Sequence[str]) -> Files:
    """The artifact at the start: the texts of all files that the patterns stand for."""
    names = find_files(folder, patterns, "artifact")
    files: Files = {}
    total = 0
    for name in names:
        data = read_bytes(folder, name, "artifact", MAX_FILE)
        total += len(data)
        if total > MAX_ARTIFACT:
            raise InvalidInput(
                f"`artifact`: its files are over {_size(MAX_ARTIFACT)} in sum; name fewer"
            )
        try:
            files[name] = data.decode()
        except UnicodeDecodeError:
            raise InvalidInput(f"`artifact`: {name} is not UTF-8 text; name text files") from None
        if "\0" in files[name]:
            raise InvalidInput(f"`artifact`: {name} is a binary file; name text files")
    return files


def _size(limit: int) -> str:
    return f"{limit // 1000} kB" if limit < 1_000_000 else f"{limit // 1_000_000} MB"
