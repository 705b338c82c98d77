"""A research task: the goal in prose, and in its front matter what is improved, and against what."""

from __future__ import annotations

import ast
import json
import operator
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from autoreason.artifacts.artifact import (
    Evaluation,
    EvaluationOutcome,
    EvaluationQuery,
    Files,
    Measurement,
    check_file,
    find_files,
    load_artifact,
    matches,
    path_fault,
    read_bytes,
)
from autoreason.errors import InvalidInput
from autoreason.exchange import Query
from autoreason.fields import check_known, plainly
from autoreason.task import (
    Metric,
    MetricRole,
    Task,
    Work,
    check_task,
    read_source,
    split_front_matter,
)

Better = Literal["higher", "lower"]


class EvaluationLimits(Struct, frozen=True, kw_only=True):
    """What one evaluation may use."""

    seconds: Annotated[float, Meta(gt=0, le=86_400)] = 60.0
    """By the clock; then every process of the evaluation is killed."""
    memory_mb: Annotated[int, Meta(ge=16, le=1_000_000)] = 2048
    processes: Annotated[int, Meta(ge=1, le=10_000)] = 64
    disk_mb: Annotated[int, Meta(ge=1, le=100_000)] = 256
    """What the evaluation may write, in a folder that is removed after it."""


class EvaluationSource(Struct, frozen=True, kw_only=True):
    """The evaluator's files with the items it measures on; none is recorded, and its own process alone opens it."""

    evaluate: str
    """A command, or `file.py:function`; its files are among `files`."""
    files: dict[str, bytes] = {}
    """By path, relative to the task's folder: what `evaluate` names and what `needs` adds."""
    items: tuple[Any, ...] = ()
    """Values of JSON lines, or lines of text."""
    sealed: tuple[Any, ...] = ()
    limits: EvaluationLimits = EvaluationLimits()
    metric: str = "score"
    mounts: tuple[str, ...] = ()
    """Folders and files of the system that an evaluation may read, by absolute path."""
    folder: str = ""
    """The task's own, which no artifact sees."""


class TaskTerms(Struct, frozen=True, kw_only=True):
    """What the front matter of a task says and its record has, too."""

    artifact: tuple[str, ...] = ()
    """Paths and globs that a proposal may write to."""
    evaluate: str = ""
    """A command, or `file.py:function`; empty where the caller measures."""
    better: Better = "higher"
    metric: str = "score"
    """Which number decides where the evaluator returns several."""
    per_evaluation: Annotated[int, Meta(ge=0)] = 0
    """Items drawn for each evaluation; 0 is all of them, a fixed set."""
    limits: EvaluationLimits = EvaluationLimits()
    constraints: tuple[str, ...] = ()
    """In words, for the proposer; sizes such as `pack.py <= 20 kB` are checked by code."""
    guard: dict[str, str] = {}
    """Other numbers that must hold, such as `{"p50_ms": "<= 5"}`; decided before the metric."""
    repeats: Annotated[int, Meta(ge=1, le=100)] | None = None
    """The most evaluations of a candidate; None is the default."""
    tolerance: Annotated[float, Meta(ge=0)] = 0.0
    """A gain that is no more than this is none."""
    target: float | None = None
    """The run ends when the incumbent's mean reaches it."""
    judge: str = ""
    """What blind judges are asked to prefer where the metric cannot decide; empty where none are asked."""


class ResearchTask(Work, TaskTerms, frozen=True, kw_only=True, tag_field="type", tag=True):
    """What is improved and how it is measured; the evaluator's own files are named by their digest alone."""

    name = "research tasks"

    files: Files
    origin: Files = {}
    """Of a fork: the artifact at the start of the first run, which is on disk; empty where that is the start."""
    evaluation: str = ""
    """The digest under which evaluator, items and sealed set are saved; empty where the caller measures."""
    timed: bool = False
    """The number is a time: evaluations are made one at a time, in turn with the incumbent's."""
    items: int = 0
    sealed: int = 0
    opened: int = 0
    """How often this sealed set was opened before this run."""
    evaluator_source: str = ""
    """The evaluator's source, where the task lets the proposer read it."""
    unchecked: str = ""
    """Why it is not known whether the artifact could write its own score; empty where it could not."""

    @property
    def sign(self) -> int:
        """What a number is multiplied by so that higher is better."""
        return 1 if self.better == "higher" else -1

    @property
    def draws_items(self) -> bool:
        """Whether items are drawn anew for every evaluation, because there are more than an evaluation takes."""
        return 0 < self.per_evaluation < self.items


def research_of(task: Task | None) -> ResearchTask | None:
    """The research a task asks for; None where it asks for something else."""
    work = task.work if task else None
    return work if isinstance(work, ResearchTask) else None


def digest_of(source: EvaluationSource) -> str:
    return sha256(encode_source(source)).hexdigest()


def encode_source(source: EvaluationSource) -> bytes:
    # Items as JSON, whose integers have no limit.
    items, sealed = (tuple(map(json.dumps, each)) for each in (source.items, source.sealed))
    source = replace(source, items=items, sealed=sealed)
    return msgspec.msgpack.encode(source, order="deterministic")


_GUARD = re.compile(r"\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
"""What a number must be, as `<= 5`."""
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_SIZE = re.compile(r"\s*(\S(?:.*\S)?)\s*<=\s*((\d+(?:\.\d+)?)\s*(b|bytes?|ki?b|mi?b))\s*", re.I)
"""What a file may have, as `pack.py <= 20 kB`."""
_UNITS = {"b": 1, "kb": 1_000, "kib": 1_024, "mb": 1_000_000, "mib": 1_048_576}
_COMPARISON = re.compile(r"(?:[<>]=?|[=!]=|≤|≥)\s*[-+.]?\d")


def value_within(condition: str) -> float:
    found = _GUARD.fullmatch(condition)
    return float(found[2]) + (1 if ">" in found[1] else -1) if found else 0.0


def broken_guard(guard: Mapping[str, str], evaluations: Iterable[Measurement]) -> str:
    """The first guard that the mean of the evaluations breaks, in words; empty where all hold."""
    evaluations = list(evaluations)
    for name, condition in guard.items():
        found = _GUARD.fullmatch(condition)
        values = [each.metrics[name] for each in evaluations if name in each.metrics]
        if not values:
            return f"the evaluator returned no {name}, which the guard needs"
        mean = fmean(values)
        if found and not _COMPARE[found[1]](mean, float(found[2])):
            return f"{name} is {mean:g}, the guard is {condition.strip()}"
    return ""


def check_constraints(constraints: Iterable[str], files: Files) -> None:
    """Refuse a comparison that is not a size of one of the files, and one that they break."""
    for each in constraints:
        size = _SIZE.fullmatch(each)
        if not size and _COMPARISON.search(each):
            raise InvalidInput(
                f"`constraints`: {each!r} cannot be checked; write a size as `pack.py <= 20 kB`, "
                "another number as a `guard`, and anything else in words"
            )
        if size and not any(matches(path, (size[1],)) for path in files):
            raise InvalidInput(f"`constraints`: {size[1]!r} is not in the artifact; check the name")
        if fault := broken_constraint([each], files):
            raise InvalidInput(f"the start breaks a constraint: {fault}; change one of them")


def broken_constraint(constraints: Iterable[str], files: Files) -> str:
    """The first size that the files exceed, in words; empty where they keep all."""
    for size in filter(None, map(_SIZE.fullmatch, constraints)):
        name, words, number, unit = size.groups()
        limit = float(number) * _UNITS["b" if unit.lower().startswith("byte") else unit.lower()]
        for path, text in files.items():
            if matches(path, (name,)) and len(text.encode()) > limit:
                return f"{path} has {len(text.encode()):,} bytes, allowed are {words}"
    return ""


_MAX_NEEDED = 64_000_000
_LISTS = ("artifact", "needs", "mounts", "constraints")
_FUNCTION = re.compile(r"([^\s:]+\.py):(\w+)")
_SCRIPT = re.compile(r"[^-=\s][^=\s]*\.(?:py|sh|js|ts|rb|pl|lua|jl|R|php)")
_TIMES = re.compile(r"(?:.*_)?(?:seconds|milliseconds|s|ms|us|ns)", re.IGNORECASE)


class TaskKeys(TaskTerms, frozen=True, kw_only=True):
    items: str = ""
    sealed: str = ""
    needs: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    timed: bool | None = None
    show_evaluator: bool = False


class ResearchFile(NamedTuple):
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
    check_known(map(str, raw), known, f"{name}: unknown key")
    if evaluate is not None:
        raw["evaluate"] = evaluate
    if not brief.strip():
        raise InvalidInput(f"{name} has no goal; say below the front matter what is to be improved")
    # Without a file, that of the current folder.
    path = Path(name).expanduser() if name == source else Path()
    try:
        reading = _Reading(_convert(raw), path.parent.resolve())
        return reading.read(brief.strip(), path.name, caller_measures)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


def _convert(raw: dict[str, Any]) -> TaskKeys:
    raw = {key: value for key, value in raw.items() if value is not None}
    # Lists may be one text.
    texts = {key: [raw[key]] for key in _LISTS if isinstance(raw.get(key), str) and raw[key]}
    if isinstance(limits := raw.get("limits"), dict):
        fields = EvaluationLimits.__struct_fields__
        check_known(map(str, limits), fields, "`limits`: unknown key")
    try:
        # YAML reads 1e-4 as text.
        keys = msgspec.convert(raw | texts, TaskKeys, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInput(plainly(error, TaskKeys)) from None
    if not isfinite(keys.tolerance + (keys.target or 0.0)):
        raise InvalidInput("`target` and `tolerance` must be finite numbers")
    for name, condition in keys.guard.items():
        if not _GUARD.fullmatch(condition):
            raise InvalidInput(f'`guard`: {name} is {condition!r}; write it like "<= 5"')
    return keys


class _Reading:
    def __init__(self, keys: TaskKeys, folder: Path) -> None:
        self.keys = keys
        self.folder = folder

    def read(self, brief: str, task_name: str, caller_measures: bool) -> ResearchFile:
        # It reads replies of models, of which the evaluator's process knows nothing.
        from autoreason.artifacts.proposals import check_knobs

        keys = self.keys
        if not keys.artifact:
            raise InvalidInput("there is no `artifact`; name the files that may be changed")
        files = load_artifact(self.folder, keys.artifact)
        evaluator = [] if caller_measures and not keys.evaluate else self.evaluator_files()
        needs = find_files(self.folder, keys.needs, "needs")
        for name in filter(None, [task_name, *evaluator, *needs, keys.items, keys.sealed]):
            if name in files or matches(name, keys.artifact):
                raise InvalidInput(
                    f"`artifact`: {name} belongs to the task or to its measurement, "
                    "which no proposal may change; name the files one by one"
                )
        check_constraints(keys.constraints, files)
        items, sealed = self._items("items"), self._items("sealed")
        self._check_items(items, sealed)
        timed = keys.timed
        notes = [note for note in (check_knobs(files),) if note]
        if timed is None and (timed := bool(_TIMES.fullmatch(keys.metric))):
            notes.append(
                f"{keys.metric} reads as a time, so evaluations are made one at a time, in turn with the "
                "incumbent's; say `timed: false` if it is not one"
            )
        contents = self.contents([*evaluator, *needs])
        shown = (contents[name].decode(errors="replace") for name in evaluator)
        work = ResearchTask(
            **{name: getattr(keys, name) for name in TaskTerms.__struct_fields__},
            files=files,
            timed=bool(timed),
            items=len(items),
            sealed=len(sealed),
            evaluator_source="\n".join(shown) if keys.show_evaluator else "",
        )
        source = EvaluationSource(
            evaluate=keys.evaluate,
            files=contents,
            items=items,
            sealed=sealed,
            limits=keys.limits,
            metric=keys.metric,
            mounts=self._mounts(),
            folder=str(self.folder),
        )
        return ResearchFile(check_task(Task(brief=brief, work=work)), source, tuple(notes))

    def evaluator_files(self) -> list[str]:
        """The files in the task's folder that `evaluate` names."""
        evaluate = self.keys.evaluate
        if function := _FUNCTION.fullmatch(evaluate.strip()):
            file, name = function.groups()
            check_file(self.folder, file, "evaluate")
            try:
                body = ast.parse(read_bytes(self.folder, file, "evaluate", _MAX_NEEDED)).body
            except (SyntaxError, ValueError, RecursionError):
                body = []
            if name not in (each.name for each in body if isinstance(each, ast.FunctionDef)):
                raise InvalidInput(
                    f"`evaluate`: {file} is not valid Python that defines a function {name}; correct one of them"
                )
            return [file]
        try:
            words = [word.removeprefix("./") for word in shlex.split(evaluate)]
        except ValueError:
            words = []
        if not words:
            raise InvalidInput(
                "`evaluate` is not a command, such as `python evaluate.py`, and not a function, as "
                "evaluate.py:score; name one, with every quotation mark closed"
            )
        found = [
            name
            for name in words
            if _SCRIPT.fullmatch(name) or (not path_fault(name) and (self.folder / name).is_file())
        ]
        for name in found:
            check_file(self.folder, name, "evaluate")
        if words[0] not in found and not shutil.which(words[0]):
            raise InvalidInput(f"`evaluate`: there is no program {words[0]} here; check the name")
        return list(dict.fromkeys(found))

    def contents(self, names: Sequence[str]) -> dict[str, bytes]:
        return {name: read_bytes(self.folder, name, "needs", _MAX_NEEDED) for name in names}

    def _items(self, key: str) -> tuple[Any, ...]:
        """JSON lines where the name says so, else lines of text."""
        name = getattr(self.keys, key)
        if not name:
            return ()
        check_file(self.folder, name, key)
        items: list[Any] = []
        read = msgspec.json.decode if name.endswith((".json", ".jsonl", ".ndjson")) else str
        data = read_bytes(self.folder, name, key, _MAX_NEEDED).removeprefix(b"\xef\xbb\xbf")
        for at, line in enumerate(data.split(b"\n"), 1):
            try:
                items += [read(text)] if (text := line.decode().strip()) else []
            except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
                raise InvalidInput(
                    f"`{key}`: {name} line {at} cannot be read; write UTF-8, and in .jsonl one JSON value on each line"
                ) from None
        if not items:
            raise InvalidInput(f"`{key}`: {name} is empty; write one item on each line")
        return tuple(items)

    def _check_items(self, items: Sequence[Any], sealed: Sequence[Any]) -> None:
        drawn = self.keys.per_evaluation
        if (drawn or sealed) and not items:
            key = "per_evaluation" if drawn else "sealed"
            raise InvalidInput(f"`{key}` needs `items`; name a file of them")
        if drawn > len(items):
            raise InvalidInput(f"`per_evaluation` is {drawn}, but there are {len(items)} items")
        known = set(map(_normal, items))
        shared = [at for at, item in enumerate(sealed, 1) if _normal(item) in known]
        if shared:
            raise InvalidInput(
                f"{len(shared)} of {len(sealed)} sealed items are among the items too, the first is "
                f"number {shared[0]} of {self.keys.sealed}; the end test would prove nothing, so remove "
                "them from one of the files"
            )

    def _mounts(self) -> tuple[str, ...]:
        for name in self.keys.mounts:
            path = Path(name)
            if not path.is_absolute() or not path.exists():
                raise InvalidInput(f"`mounts`: {name!r} is not an absolute path of this machine")
            if path.resolve() in (self.folder, *self.folder.parents):
                raise InvalidInput(f"`mounts`: {name} contains the task's folder; name less of it")
        return self.keys.mounts


def _normal(item: Any) -> str:
    """An item in a form in which letter case and white space do not count."""
    text = item if isinstance(item, str) else msgspec.json.encode(item, order="sorted").decode()
    return " ".join(text.casefold().split())


FILE = "text.md"
"""Where an evaluator finds the text."""


class TextMetric(Metric, Struct, frozen=True, kw_only=True, tag_field="type", tag=True):
    """An evaluator of texts, named by the digest under which it is saved."""

    evaluate: str
    """A command, or `file.py:function`."""
    evaluation: str
    better: Better = "higher"
    role: MetricRole = "guard"

    def query(self, key: str, text: str, seed: int) -> Query[Any]:
        return EvaluationQuery(key=key, evaluation=Evaluation(files={FILE: text}, seed=seed))

    def read(self, answer: Measurement) -> float | None:
        """Its number, higher is better."""
        if answer.outcome is not EvaluationOutcome.OK or answer.value is None:
            return None
        return answer.value if self.better == "higher" else -answer.value

    def fault(self, answer: Measurement) -> str:
        return "" if answer.outcome is EvaluationOutcome.OK else answer.detail or answer.outcome


def read_metric(
    evaluate: str, better: Better, role: MetricRole
) -> tuple[TextMetric, EvaluationSource]:
    """The metric that a command or function of the current folder is, and what is saved of it."""
    reading = _Reading(TaskKeys(evaluate=evaluate), Path().resolve())
    try:
        files = reading.contents(reading.evaluator_files())
    except InvalidInput as error:
        text = str(error).replace("`evaluate`", "`metric`")
        # There is no task file, so paths are those of the current folder.
        raise InvalidInput(text.replace("the task's folder", "the current folder")) from None
    source = EvaluationSource(evaluate=evaluate, files=files)
    digest = digest_of(source)
    return TextMetric(evaluate=evaluate, evaluation=digest, better=better, role=role), source
