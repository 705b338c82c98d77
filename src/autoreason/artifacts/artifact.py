"""An artifact: its paths, its files, what a proposal does to them, and what of them counts. Pure but for reading."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

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
        return "is not a path"
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
    fixed = list(takewhile(lambda part: not _WILD & set(part), pattern.split("/")[:-1]))
    for place, folders, names in os.walk(folder.joinpath(*fixed)):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _SKIPPED
        )
        below = Path(place).relative_to(folder)
        paths = ((below / name).as_posix() for name in sorted(names))
        yield from (path for path in paths if matches(path, (pattern,)))


def check_file(folder: Path, name: str, key: str) -> None:
    """Refuse what is not a regular file, or is reached through a link."""
    if fault := path_fault(name):
        raise InvalidInput(f"`{key}`: {name!r} {fault}")
    at = folder
    for part in name.split("/"):
        at = at / part
        if at.is_symlink():
            link = at.relative_to(folder).as_posix()
            raise InvalidInput(f"`{key}`: {link} is a link; name the file itself")
    if at.is_dir():
        raise InvalidInput(f"`{key}`: {name} is a folder; name its files, such as {name}/*.py")
    if not at.is_file():
        raise InvalidInput(f"`{key}`: there is no file {name} in {folder}; check the name")


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
    raise InvalidInput(f"`{key}`: {name} is over {limit // 1000:,} kB; name a smaller file")


def load_artifact(folder: Path, patterns: Sequence[str]) -> Files:
    """The artifact at the start: the texts of all files that the patterns stand for."""
    files: Files = {}
    total = 0
    for name in find_files(folder, patterns, "artifact"):
        data = read_bytes(folder, name, "artifact", MAX_FILE)
        total += len(data)
        try:
            files[name] = data.decode()
        except UnicodeDecodeError:
            files[name] = "\0"
        if "\0" in files[name]:
            raise InvalidInput(f"`artifact`: {name} is not UTF-8 text; name text files")
    if total > MAX_ARTIFACT:
        raise InvalidInput(
            f"`artifact`: its files are over {MAX_ARTIFACT // 1_000_000} MB in sum; name fewer"
        )
    return files


Changes = dict[str, str | None]
"""Paths with their new texts; None where a file is removed."""
_QUOTED = 80
_NO_NEWLINE = "\\ No newline at end of file\n"


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


_NAMED_VALUE = re.compile(
    r"""(?<!\w)(?P<name>\w{1,80})(?P<link>["']?\]?(?:: [\w.]{1,40})?[ \t]{0,20}(?:[=:(][ \t]{0,20}|[ \t]))"""
    r"""(?:[-+]?\d[\w.]{0,80}|None\b|(?P<quote>["'])\w{0,80}(?P=quote)|[\[(][-+\d., ]{0,200}[\])])"""
)
_SEED_NAME = re.compile(
    r"\w*(?:seed|random_state|rng)\w*|Random|RandomState|PRNGKey", re.IGNORECASE
)
_SEED_LINE = re.compile(
    r"^[ \t]*(?:\w{1,80}\.){0,9}\w{0,80}(?:seed|rng)\w{0,80}(?: = |\(\)) *\n", re.IGNORECASE | re.M
)
"""A statement that does nothing but give a seed, whose value is left out."""
_COMMENTS = {
    suffix: mark
    for mark, suffixes in (
        ("#", ".cfg .ini .jl .pl .py .r .rb .sh .toml .yaml .yml"),
        ("//", ".c .cc .cpp .cu .go .h .hpp .java .js .kt .rs .swift .ts"),
    )
    for suffix in suffixes.split()
}
_PROSE = frozenset({".md", ".rst", ".txt"})
_MAX_YAML = 20_000
"""Characters. The reader that is written in C would take more, but crashes on nested brackets."""


def normal_form(files: Files, *, seeds: bool = True) -> dict[str, str]:
    """Each file in a form that comments and formatting do not change; `seeds` says whether seeds do."""
    return {path: _normal_file(path, text, seeds) for path, text in files.items()}


def fingerprint(files: Files) -> str:
    """The same for artifacts that differ in comments, formatting and seeds at most."""
    form = json.dumps(normal_form(files, seeds=False), sort_keys=True)
    return hashlib.sha256(form.encode(errors="surrogatepass")).hexdigest()


# Most files of an artifact stay the same from proposal to proposal.
@lru_cache(maxsize=512)
def _normal_file(path: str, text: str, seeds: bool) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            form = _parsed_form(suffix, text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, LookupError):
        # It does not parse, or is no data: what is left are its lines.
        form = _lines(suffix, text)
    return form if seeds else _SEED_LINE.sub("", _NAMED_VALUE.sub(_without_seed, form + "\n"))


def _without_seed(found: re.Match[str]) -> str:
    return f"{found['name']}{found['link']}" if _SEED_NAME.fullmatch(found["name"]) else found[0]


def _parsed_form(suffix: str, text: str) -> str:
    value: Any = None
    match suffix:
        case ".py":
            tree = ast.parse(text)
            return ast.unparse(tree if "__doc__" in text else _Docstrings().visit(tree))
        case ".json":
            value = json.loads(text)
        case ".toml":
            value = tomllib.loads(text)
        # An anchor can stand for gigabytes, and nested brackets take minutes.
        case ".yaml" | ".yml" if (
            "&" not in text and len(text) <= _MAX_YAML and len(re.findall(r"[\[{]", text)) <= 1000
        ):
            from autoreason.bounded_yaml import load_yaml

            value = load_yaml(text)
        case _:
            raise ValueError(suffix)
    return json.dumps(value, sort_keys=True, default=repr)


class _Docstrings(ast.NodeTransformer):
    """Leaves out texts that stand alone: docstrings, and comments written as one."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        value = node.value
        alone = isinstance(value, ast.Constant) and isinstance(value.value, str)
        return None if alone else self.generic_visit(node)


def _lines(suffix: str, text: str) -> str:
    if suffix in _PROSE:
        return " ".join(text.split())
    mark = _COMMENTS.get(suffix, "\n")
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(
        line
        for line in lines
        if line and (line.startswith("#!") or not line.lstrip().startswith(mark))
    )
