"""Reads a research task: its front matter, the artifact, and what measures it."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import msgspec
from msgspec import Meta, Struct

from autoreason.artifacts.artifact_paths import (
    check_file,
    find_files,
    load_artifact,
    matches,
    path_fault,
    read_bytes,
)
from autoreason.artifacts.conditions import broken_constraint, check_constraint, check_guard
from autoreason.artifacts.measurement import Files
from autoreason.artifacts.research_task import Better, EvaluationSource, LookLimits, ResearchTask
from autoreason.artifacts.tuning import check_knobs
from autoreason.errors import InvalidInput, plainly
from autoreason.task import Task, check_keys, check_task, read_source, split_front_matter

_MAX_NEEDED = 64_000_000
_MAX_ITEMS = 64_000_000
_FUNCTION = re.compile(r"(?P<file>[^\s:]+\.py):(?P<name>\w+)")
_SCRIPT = re.compile(r"[^-=\s][^=\s]*\.(?:py|sh|js|ts|rb|pl|lua|jl|R|php)")
_TIMES = re.compile(r"(?:.*_)?(?:seconds|milliseconds|s|ms|us|ns)", re.IGNORECASE)


class TaskKeys(Struct, frozen=True, kw_only=True):
    """The front matter of a research task."""

    artifact: str | list[str] = []
    evaluate: str = ""
    better: str = "higher"
    metric: str = "score"
    items: str = ""
    sealed: str = ""
    per_look: Annotated[int, Meta(ge=0)] = 0
    needs: str | list[str] = []
    mounts: str | list[str] = []
    limits: LookLimits = LookLimits()
    constraints: str | list[str] = []
    guard: dict[str, str] = {}
    looks: Annotated[int, Meta(ge=1, le=100)] | None = None
    tolerance: Annotated[float, Meta(ge=0)] = 0.0
    target: float | None = None
    judge: str = ""
    timed: bool | None = None
    show_evaluator: bool = False


class ResearchFile(NamedTuple):
    """A research task as it was read."""

    task: Task
    """What is recorded: no item, and the evaluator's source only where the task shows it."""
    evaluation: EvaluationSource
    notes: tuple[str, ...]
    """What was concluded without being asked for, in sentences."""


def read_research_task(
    source: str, *, evaluate: str | None = None, caller_measures: bool = False
) -> ResearchFile:
    """Read a task from a Markdown file, whose folder has the files it names, or from text, with the current one's.

    `evaluate` takes the place of the task's own; where the caller measures, none is needed.
    """
    name, text = read_source(source, "task")
    known = TaskKeys.__struct_fields__
    raw, brief = split_front_matter(name, text, known)
    check_keys(map(str, raw), name, known)
    if evaluate is not None:
        raw["evaluate"] = evaluate
    if not brief.strip():
        raise InvalidInput(f"{name} has no goal; say below the front matter what is to be improved")
    is_file = name == source and name != "-"
    path = Path(name).expanduser() if is_file else Path()
    try:
        reading = _Reading(_convert(raw), (path.parent if is_file else path).resolve())
        return reading.read(brief.strip(), path.name, caller_measures)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


def read_evaluator(evaluate: str, folder: Path) -> EvaluationSource:
    """A command or a function alone, with the files of the folder that it names."""
    reading = _Reading(TaskKeys(evaluate=evaluate), folder)
    files = reading._contents(reading._evaluator_files())
    return EvaluationSource(evaluate=evaluate, files=files)


def _convert(raw: dict[str, Any]) -> TaskKeys:
    raw = {key: value for key, value in raw.items() if value is not None}
    if isinstance(limits := raw.get("limits"), dict):
        check_keys(map(str, limits), "`limits`", LookLimits.__struct_fields__)
    try:
        # YAML reads 1e-4 as text.
        keys = msgspec.convert(raw, TaskKeys, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInput(plainly(error)) from None
    if keys.better not in get_args(Better):
        raise InvalidInput(f"`better` is {keys.better!r}; say higher or lower")
    if not keys.metric.strip() or not keys.metric.isprintable():
        raise InvalidInput("`metric` is empty; name the number that decides")
    for key in ("tolerance", "target"):
        if not isfinite(getattr(keys, key) or 0.0):
            raise InvalidInput(f"`{key}` must be a finite number")
    for name, condition in keys.guard.items():
        check_guard(name, condition)
    return keys


class _Reading:
    """One task being read."""

    def __init__(self, keys: TaskKeys, folder: Path) -> None:
        self.keys = keys
        self.folder = folder

    def read(self, brief: str, task_name: str, caller_measures: bool) -> ResearchFile:
        keys = self.keys
        patterns = _list(keys.artifact)
        if not patterns:
            raise InvalidInput("there is no `artifact`; name the files that may be changed")
        files = load_artifact(self.folder, patterns)
        evaluator = [] if caller_measures and not keys.evaluate else self._evaluator_files()
        needs = find_files(self.folder, _list(keys.needs), "needs")
        self._keep_apart(files, [task_name, *evaluator, *needs, keys.items, keys.sealed])
        constraints = _list(keys.constraints)
        for each in constraints:
            check_constraint(each, files)
        if fault := broken_constraint(constraints, files):
            raise InvalidInput(f"the start breaks a constraint: {fault}; change one of them")
        items, sealed = self._items("items"), self._items("sealed")
        self._check_items(items, sealed)
        timed = keys.timed
        notes = [note for note in (check_knobs(files),) if note]
        if timed is None and (timed := bool(_TIMES.fullmatch(keys.metric))):
            notes.append(
                f"{keys.metric} reads as a time, so looks are taken one at a time, in turn with the "
                "incumbent's; say `timed: false` if it is none"
            )
        work = ResearchTask(
            files=files,
            artifact=tuple(patterns),
            evaluate=keys.evaluate,
            better="lower" if keys.better == "lower" else "higher",
            metric=keys.metric,
            timed=bool(timed),
            items=len(items),
            per_look=keys.per_look,
            sealed=len(sealed),
            limits=keys.limits,
            constraints=tuple(constraints),
            guard=keys.guard,
            looks=keys.looks,
            tolerance=keys.tolerance,
            target=keys.target,
            judge=keys.judge,
            evaluator_source=self._shown(evaluator) if keys.show_evaluator else "",
        )
        source = EvaluationSource(
            evaluate=keys.evaluate,
            files=self._contents([*evaluator, *needs]),
            items=items,
            sealed=sealed,
            limits=keys.limits,
            metric=keys.metric,
            mounts=self._mounts(),
            folder=str(self.folder),
        )
        return ResearchFile(check_task(Task(brief=brief, work=work)), source, tuple(notes))

    def _evaluator_files(self) -> list[str]:
        """The files in the task's folder that `evaluate` names."""
        evaluate = self.keys.evaluate
        if function := _FUNCTION.fullmatch(evaluate.strip()):
            self._check_function(function["file"], function["name"])
            return [function["file"]]
        try:
            words = shlex.split(evaluate)
        except ValueError:
            raise InvalidInput("`evaluate` has a quotation mark that is not closed") from None
        if not words:
            raise InvalidInput(
                "there is no `evaluate`; name a command, such as `python evaluate.py`, "
                "or a function, as evaluate.py:score"
            )
        names = [word.removeprefix("./") for word in words]
        found = [
            name
            for name in names
            if _SCRIPT.fullmatch(name) or (not path_fault(name) and (self.folder / name).is_file())
        ]
        for name in found:
            self._check_path(name, "evaluate")
        if names[0] not in found and not shutil.which(words[0]):
            raise InvalidInput(f"`evaluate`: there is no program {words[0]} here; check the name")
        return list(dict.fromkeys(found))

    def _check_path(self, name: str, key: str) -> None:
        if fault := path_fault(name):
            raise InvalidInput(f"`{key}`: {name!r} {fault}")
        check_file(self.folder, name, key)

    def _check_function(self, file: str, name: str) -> None:
        self._check_path(file, "evaluate")
        try:
            tree = ast.parse(read_bytes(self.folder, file, "evaluate", _MAX_NEEDED))
        except (SyntaxError, ValueError, RecursionError):
            raise InvalidInput(f"`evaluate`: {file} is not valid Python; correct it") from None
        defined = [each.name for each in tree.body if isinstance(each, ast.FunctionDef)]
        if name not in defined:
            raise InvalidInput(f"`evaluate`: {file} defines no function {name}; check the name")

    def _keep_apart(self, files: Files, others: Sequence[str]) -> None:
        """What measures must not be what is measured."""
        for name in others:
            if name and (name in files or matches(name, _list(self.keys.artifact))):
                raise InvalidInput(
                    f"`artifact`: {name} belongs to the task or to its measurement, "
                    "which no proposal may change; name the files one by one"
                )

    def _contents(self, names: Sequence[str]) -> dict[str, bytes]:
        return {name: read_bytes(self.folder, name, "needs", _MAX_NEEDED) for name in names}

    def _shown(self, evaluator: Sequence[str]) -> str:
        sources = [read_bytes(self.folder, name, "evaluate", _MAX_NEEDED) for name in evaluator]
        return "\n".join(source.decode(errors="replace") for source in sources)

    def _items(self, key: str) -> tuple[Any, ...]:
        """JSON lines where the name says so, else lines of text."""
        name = getattr(self.keys, key)
        if not name:
            return ()
        self._check_path(name, key)
        try:
            text = read_bytes(self.folder, name, key, _MAX_ITEMS).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidInput(
                f"`{key}`: {name} is not UTF-8 text; save it as plain text"
            ) from None
        lines = [(at, line.strip()) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
        if not lines:
            raise InvalidInput(f"`{key}`: {name} is empty; write one item on each line")
        if name.endswith(".json"):
            raise InvalidInput(
                f"`{key}`: {name} is one JSON value; write JSON lines, as items.jsonl"
            )
        if not name.endswith((".jsonl", ".ndjson")):
            return tuple(line for _, line in lines)
        return tuple(_read_line(line, f"`{key}`: {name} line {at}") for at, line in lines)

    def _check_items(self, items: Sequence[Any], sealed: Sequence[Any]) -> None:
        if (self.keys.per_look or sealed) and not items:
            key = "per_look" if self.keys.per_look else "sealed"
            raise InvalidInput(f"`{key}` needs `items`; name a file of them")
        if self.keys.per_look > len(items):
            raise InvalidInput(
                f"`per_look` is {self.keys.per_look}, but there are only {len(items)} items"
            )
        known = set(map(_normal, items))
        shared = [at for at, item in enumerate(sealed, 1) if _normal(item) in known]
        if shared:
            raise InvalidInput(
                f"{len(shared)} of {len(sealed)} sealed items are among the items too, the first is "
                f"number {shared[0]} of {self.keys.sealed}; the end test would prove nothing, so remove "
                "them from one of the files"
            )

    def _mounts(self) -> tuple[str, ...]:
        for name in _list(self.keys.mounts):
            path = Path(name)
            if not path.is_absolute() or not path.exists():
                raise InvalidInput(f"`mounts`: {name!r} is no absolute path of this machine")
            if path.resolve() in (self.folder, *self.folder.parents):
                raise InvalidInput(
                    f"`mounts`: {name} contains the task's folder, and so its items; name less of it"
                )
        return tuple(_list(self.keys.mounts))


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) and value else list(value)


def _read_line(line: str, where: str) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        raise InvalidInput(f"{where} is not JSON; write one JSON value on each line") from None


def _normal(item: Any) -> str:
    """An item in a form in which letter case and white space do not count."""
    text = item if isinstance(item, str) else msgspec.json.encode(item, order="sorted").decode()
    return " ".join(text.casefold().split())
