"""An artifact: its files, what a proposal does to them, what of them counts, and how they are evaluated."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import unified_diff
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from msgspec import Struct

from autoreason.errors import InvalidInput, MetricFailed
from autoreason.exchange import Query
from autoreason.keys import Key

Files = dict[str, str]
"""An artifact: texts by path, relative to the task's folder, with `/` between folders."""


class EvaluationOutcome(StrEnum):
    """How an evaluation ended. Only `ok` has a value; `evaluator_error` says nothing about the artifact."""

    OK = "ok"
    INVALID = "invalid"
    FAILED = "failed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    EVALUATOR_ERROR = "evaluator_error"


class Evaluation(Struct, frozen=True, kw_only=True):
    """What is to be measured: an artifact, with this seed, on these items."""

    files: Files
    seed: int
    """`AUTOREASON_SEED`; artifacts that are compared share it evaluation by evaluation."""
    items: tuple[int, ...] = ()
    """Items by their place in the file, from 0; none where the task has none."""
    sealed: bool = False


class Measurement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    outcome: EvaluationOutcome
    value: float | None = None
    """The number that decides, as the evaluator returned it; None unless the outcome is `ok`."""
    metrics: dict[str, float] = {}
    """Every number that the evaluator returned, by name."""
    by_item: tuple[float, ...] = ()
    """One number for each item, where the evaluator returned them."""
    seconds: float = 0.0
    """By the clock."""
    tail: str = ""
    """The end of what was printed; never from a evaluation of sealed items."""
    detail: str = ""
    shared: int = 0
    """Runs of eight words that the artifact shares with an item, or with a sealed one, and the start does not."""
    level: str = ""
    """How the artifact was kept from everything else: the level of the sandbox."""
    opened: int = 0
    """How many end tests have opened the sealed set, this one included; 0 on other items."""
    repeated: bool = False
    """Known from an earlier evaluation of the same artifact with the same seed and items, and not charged again."""


class EvaluationQuery(Query[Measurement], frozen=True, kw_only=True):
    """One evaluation: recorded, so that it is never paid for twice."""

    kind = "evaluation"
    evaluation: Evaluation


class FinalEvaluationQuery(EvaluationQuery, frozen=True, kw_only=True):
    """An evaluation of the playoff or the end test, which are made whatever ended the search."""

    free = False
    set_aside = True


class KnownEvaluationQuery(EvaluationQuery, frozen=True, kw_only=True):
    """An evaluation that was made under another key; the same question as any other, so its answer may be on record."""

    deferred = True
    known: Measurement | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EvaluationQuery) and (self.key, self.evaluation) == (
            other.key,
            other.evaluation,
        )


class Evaluator(Protocol):
    """Measures artifacts; it alone has the items and the sealed set."""

    async def measure(self, evaluation: Evaluation) -> Measurement:
        """Make one evaluation."""
        ...


class OrderQuery(Query[int], frozen=True, kw_only=True):
    """How many decisions were made before this moment; one that `decides` is the next itself."""

    kind = "order"
    deferred = True
    decides: bool = False


class Orders:
    def __init__(self, recorded: Iterable[OrderQuery] = ()) -> None:
        self._decided = sum(query.decides for query in recorded)

    def answer(self, query: OrderQuery) -> int:
        """The place of a question that is new."""
        before = self._decided
        self._decided += query.decides
        return before


_ATTEMPTS = 3


class EvaluationService:
    """Answers evaluations; where the evaluator itself fails three times in a row, the run pauses.

    So it does after `max_without` evaluations in a row without a value, where a number is given; and at the
    last evaluation of a text that needs one and got none.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        max_without: int | None = None,
        needs_value: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._evaluator = evaluator
        self._max_without = max_without
        self._needs_value = needs_value
        """Of the key of an evaluation: whether it is the last at a text that needs a value."""
        self._without = 0
        self._valued: Key | None = None
        """The text that had a value last, by the key of its evaluations."""

    async def answer(self, query: Query[Any]) -> Any:
        """Evaluate, and again where the evaluator itself failed."""
        assert isinstance(query, EvaluationQuery), query
        detail = ""
        for _ in range(_ATTEMPTS):
            measurement = await self._evaluator.measure(query.evaluation)
            if measurement.outcome is not EvaluationOutcome.EVALUATOR_ERROR:
                self._count(query.key, measurement)
                return measurement
            detail = measurement.detail or detail
        raise MetricFailed(
            f"the evaluator could not be run {_ATTEMPTS} times in a row ({detail or 'no reason given'}); "
            "what was measured is kept"
        )

    def _count(self, key: str, measurement: Measurement) -> None:
        """Pause before an evaluation is recorded that is one too many without a value, so that it is taken again."""
        text = Key.parse(key).before("evaluation")
        if measurement.outcome is EvaluationOutcome.OK:
            self._without, self._valued = 0, text
            return
        self._without += 1
        lacking = self._needs_value(key) and self._valued != text
        if lacking or self._without == self._max_without:
            why = measurement.detail or measurement.outcome
            times = "" if self._without == 1 else f" {self._without} times in a row, the last time"
            raise MetricFailed(
                f"the metric gave no number{times} because: {why}; what was measured is kept"
            )


MAX_FILE = 100_000
MAX_ARTIFACT = 1_000_000
_WILD = frozenset("*?[")
_SKIPPED = ("__pycache__", "node_modules")
_MAX_NAME = 255
"""Bytes of one name in a path."""


def path_fault(path: str) -> str:
    """Why a path cannot be one of an artifact, in words; empty where it can."""
    parts = path.split("/")
    plain = path == path.strip() and path.isprintable() and str(PurePosixPath(path)) == path
    if not plain or max(len(part.encode(errors="replace")) for part in parts) > _MAX_NAME:
        return "is not the path of a file; write it in its shortest form"
    if path.startswith(("/", "~")) or "\\" in path or path[1:2] == ":" or ".." in parts:
        return "leads out of the task's folder; write it from there, with `/`"
    if ".git" in path.lower().split("/"):
        return "is in git's own folder; name a file of the artifact"
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
    fits = path[0] == pattern[0] or (not shy and fnmatchcase(path[0], pattern[0]))
    return fits and _match(path[1:], pattern[1:])


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
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
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
    if not at.is_file():
        raise InvalidInput(f"`{key}`: there is no file {name} in {folder}; check the name")


def read_bytes(folder: Path, name: str, key: str, limit: int) -> bytes:
    """A file's content; of one that is too large no more than the limit is read."""
    try:
        with (folder / name).open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise InvalidInput(f"`{key}`: cannot read {name}: {error.strerror}") from None
    if len(data) > limit:
        raise InvalidInput(f"`{key}`: {name} is over {limit // 1000:,} kB; name a smaller file")
    return data


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
            f"`artifact`: over {MAX_ARTIFACT // 1_000_000} MB in sum; name fewer files"
        )
    return files


Changes = dict[str, str | None]
"""Paths with their new texts; None where a file is removed."""
_NO_NEWLINE = "\\ No newline at end of file\n"


def changes_between(before: Files, after: Files) -> Changes:
    removed: Changes = {path: None for path in before if path not in after}
    return removed | {path: text for path, text in after.items() if before.get(path) != text}


def with_changes(files: Files, changes: Changes) -> Files:
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
_SEED_NAME = re.compile(r"\w*(?:seed|random_state|rng)\w*|Random|RandomState|PRNGKey", re.I)
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
    form = _lines(suffix, text)
    if suffix == ".py":
        # One that does not parse has its lines alone.
        with (
            warnings.catch_warnings(),
            suppress(ValueError, SyntaxError, RecursionError, MemoryError),
        ):
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            form = ast.unparse(tree if "__doc__" in text else _Docstrings().visit(tree))
    return form if seeds else _SEED_LINE.sub("", _NAMED_VALUE.sub(_without_seed, form + "\n"))


def _without_seed(found: re.Match[str]) -> str:
    return f"{found['name']}{found['link']}" if _SEED_NAME.fullmatch(found["name"]) else found[0]


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
    # White space counts at the beginning of a line alone, and once within it.
    lines = (re.sub(r"(?<=\S)\s+", " ", line).rstrip() for line in text.splitlines())
    return "\n".join(
        line
        for line in lines
        if line and (line.startswith("#!") or not line.lstrip().startswith(mark))
    )
