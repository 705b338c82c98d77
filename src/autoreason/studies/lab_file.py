"""Reads a suite from its file; whatever is wrong with it is one sentence with line and column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
import yaml
from msgspec import Meta, Struct
from msgspec.structs import asdict

from autoreason.bounded_yaml import BoundedLoader, load_yaml
from autoreason.errors import InvalidInput
from autoreason.fields import plainly
from autoreason.job_types import AnyJob, Judge, JudgePairs, Solve
from autoreason.plugins import absolute
from autoreason.programs.program_strategies import find_program_strategy
from autoreason.settings import (
    MAX_JUDGES,
    PANEL_JUDGES,
    ROLE_MODELS,
    SETTING_DOCS,
    Budget,
    Models,
    Settings,
    SuiteMatch,
    Unit,
    limit_remedy,
    make_settings,
)
from autoreason.strategies import find_strategy, unused_setting
from autoreason.studies import lab_suite
from autoreason.task import Task, check_task, make_contract, read_criteria, read_task, read_text
from autoreason.tournament.judges import PANEL_SETTINGS

KeyPath = tuple[str | int, ...]
T = TypeVar("T")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class MarkedYaml:
    def __init__(self, name: str, text: str) -> None:
        self.name, self._text = name, text
        try:
            self.value = msgspec.to_builtins(load_yaml(text) or {}, str_keys=True)
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"{name} is not valid YAML: {error}; correct it") from None

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """What is wrong in here is said with the place of a path, or of the first key below it that is named."""
        try:
            yield
        except InvalidInput as error:
            if error.file_keys:
                raise
            raise self._placed(path, str(error)) from None

    def _placed(self, path: KeyPath, sentence: str) -> InvalidInput:
        node, steps = yaml.compose(self._text, BoundedLoader), list[str]()
        mark = node.start_mark if node else None
        for key in (*path, *re.findall(r"`(\w+)`", sentence)):
            if below := _below(node).get(str(key)):
                mark, node = below
                steps.append(str(key))
            elif len(steps) >= len(path):
                continue
            else:
                break
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        error = InvalidInput(f"{self.name}{place}: {sentence}")
        error.file_keys = (".".join(steps), *steps[-1:])
        return error

    def convert(self, path: KeyPath, value: Any, kind: type[T]) -> T:
        try:
            return msgspec.convert(value, kind, strict=False)
        except msgspec.ValidationError as error:
            steps = [key or at for key, at in _STEP.findall(str(error).partition("`$")[2])]
            sentence = plainly(error, kind)
            if "matching regex" in sentence:
                sentence = "names have up to 40 letters, digits, hyphens and dots"
            raise self._placed((*path, *steps), f"{sentence}; correct it") from None


def _below(node: yaml.Node | None) -> dict[str, tuple[yaml.Mark, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        return {key.value: (key.start_mark, value) for key, value in node.value}
    parts = node.value if isinstance(node, yaml.SequenceNode) else ()
    return {str(at): (each.start_mark, each) for at, each in enumerate(parts)}


Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$")]


class TextKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    brief: str
    facts: str | None = None
    draft: str | None = None
    contract: dict[str, Any] = {}
    criteria: str | list[str | dict[str, str]] = []
    limits_from_brief: bool = True


class ProblemKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    problems: str
    limit: Annotated[int, Meta(ge=1)] | None = None
    ids: list[str] = []
    difficulty: str | None = None


class ResearchKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    research: str


TASK_KEYS: dict[str, type[Struct]] = {
    "brief": TextKeys,
    "problems": ProblemKeys,
    "research": ResearchKeys,
}


class CellLimits(Budget, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a cell."""


class WholeBudget(Budget, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cell: CellLimits = CellLimits()


class PanelKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    judges: Annotated[int, Meta(ge=1, le=MAX_JUDGES)] = PANEL_JUDGES
    judge_models: str | list[str] = []
    style: str = "reasoned"
    ballot: str = "ranked"
    judge_temperature: float | None = None
    equal_length: bool = False
    pairwise: bool = False


class SuiteKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Name
    tasks: Annotated[dict[Name, Any], Meta(min_length=1)]
    arms: Annotated[dict[Name, Any], Meta(min_length=1)]
    seed: Annotated[int, Meta(ge=0)] | None = None
    model: str = ""
    models: tuple[str, ...] = ()
    repeats: Annotated[int, Meta(ge=1, le=lab_suite.MAX_REPEATS)] = 1
    panel: PanelKeys = PanelKeys()
    measures: tuple[lab_suite.Measure, ...] = ()
    comparisons: tuple[lab_suite.SuiteComparison, ...] = ()
    budget: WholeBudget = WholeBudget()
    match: Unit | SuiteMatch | None = None
    add: lab_suite.AddRule | None = None


_TERMS = {"solve": ("calls",), "research": ("evaluations", "patience", "parallel")}
"""Options of the jobs that do tasks which are not texts."""
_RUN_KEYS = ("models", "seed", "budget", "matched", "base_url", "allow_http", "batch")
_ROLES = ("author", "critic", "synthesizer")
ARM_KEYS = (
    *("model", *ROLE_MODELS, lab_suite.DRAFT),
    *(name for names in _TERMS.values() for name in names),
    *(name for name in SETTING_DOCS if name not in _RUN_KEYS),
)
_FILE = re.compile(r"\S+\.\w+")
_JOBS = {"problems": "solve", "research": "research"}
_NEEDS: dict[str, str] = {
    **dict.fromkeys(lab_suite.OF_PROGRAMS, "problems"),
    **dict.fromkeys(lab_suite.OF_RESEARCH, "research"),
}


class TaskSource(NamedTuple):
    job: str
    path: Path
    options: dict[str, Any]


class SuiteFile(NamedTuple):
    suite: lab_suite.Suite
    seed: int | None
    budget: Budget
    sources: dict[str, TaskSource]
    document: MarkedYaml


def read_suite(
    source: Path,
    *,
    models: Mapping[str, str],
    repeats: int | None = None,
    base_url: str | Mapping[str, str] | None = None,
    allow_http: bool = False,
    batch: bool = False,
) -> SuiteFile:
    """Read a suite from a file, in whose folder the files are that it names.

    `models` are addresses by the names under which the suite leaves models open, and the empty name stands for all
    others; `repeats` takes the place of the suite's own.
    """
    document = MarkedYaml(str(source), read_text(source, "suite"))
    value = document.value
    if repeats is not None and isinstance(value, dict):
        value = value | {"repeats": repeats}
    keys = document.convert((), value, SuiteKeys)
    servers = {"base_url": base_url, "allow_http": allow_http, "batch": batch}
    return _SuiteReading(document, keys, source.resolve().parent, models, servers).read()


@dataclass
class _SuiteReading:
    document: MarkedYaml
    keys: SuiteKeys
    folder: Path
    given: Mapping[str, str]
    servers: Mapping[str, Any]
    sources: dict[str, TaskSource] = field(default_factory=dict)
    tasks: dict[str, lab_suite.SuiteTask] = field(default_factory=dict)

    def read(self) -> SuiteFile:
        keys = self.keys
        for path, budget in ((("budget",), keys.budget), (("budget", "cell"), keys.budget.cell)):
            for name, value in asdict(_limits(budget)).items():
                if remedy := limit_remedy(value):
                    with self.document.at(*path):
                        raise InvalidInput(f"`{name}` is {value}; {remedy}")
        with self.document.at("models"):
            if unknown := set(self.given) - {"", *keys.models}:
                names = ", ".join(keys.models) or "none"
                which = f"{min(unknown)}, which the suite does not name; it names {names}"
                raise InvalidInput(f"a model is given for {which}")
        for name, each in keys.tasks.items():
            with self.document.at("tasks", name):
                self.tasks[name] = self._task(name, each)
        arms: dict[str, lab_suite.SuiteArm] = {}
        for name, each in keys.arms.items():
            with self.document.at("arms", name):
                arms[name] = self._arm(name, each)
        self._check_comparisons(arms)
        judged = any(each.measure == "preferred" for each in keys.comparisons)
        with self.document.at("panel"):
            panel = self._panel() if judged else None
        suite = lab_suite.Suite(
            name=keys.name,
            tasks=self.tasks,
            arms=arms,
            repeats=keys.repeats,
            comparisons=keys.comparisons,
            measures=keys.measures,
            panel=panel,
            match=SuiteMatch(by=keys.match) if isinstance(keys.match, str) else keys.match,
            add=keys.add,
        )
        with self.document.at("match"):
            lab_suite.check_match(suite)
        return SuiteFile(suite, keys.seed, _limits(keys.budget), self.sources, self.document)

    def _address(self, name: Any, key: str = "model") -> str:
        if "/" in str(name):
            return str(name)
        if name not in self.keys.models:
            remedy = "write provider/model, or list the name under `models`"
            raise InvalidInput(f"`{key}` is {name}, which is not a model; {remedy}")
        if found := self.given.get(name) or self.given.get(""):
            return found
        remedy = f"give {name}=provider/model, or one for all"
        raise InvalidInput(f"no model is given for {name} (`{key}`); {remedy}")

    def _default(self) -> str:
        # What is given comes first: a suite says which model it was meant for, not which it needs.
        if found := self.given.get("") or self.keys.model:
            return self._address(found)
        raise InvalidInput("no model is named; give `model`")

    def _several(self, keys: dict[str, Any], key: str) -> tuple[str, ...]:
        given = keys.pop(key, None) or ()
        several = given if isinstance(given, list | tuple) else [given]
        return tuple(self._address(each, key) for each in several)

    def _task(self, name: str, value: Any) -> lab_suite.SuiteTask:
        keys = value if isinstance(value, dict) else {"brief": value}
        kinds = [kind for kind in TASK_KEYS if kind in keys]
        if len(kinds) != 1:
            raise InvalidInput(f"task {name} needs one of {', '.join(TASK_KEYS)}")
        found: Struct = self.document.convert(("tasks", name), keys, TASK_KEYS[kinds[0]])
        if isinstance(found, TextKeys):
            return lab_suite.SuiteTask(task=self._text(found))
        options = asdict(found)
        job = _JOBS[kinds[0]]
        self.sources[name] = TaskSource(job, self.folder / options.pop(kinds[0]), options)
        return lab_suite.SuiteTask(task=Task(brief=name), job=job)

    def _text(self, keys: TextKeys) -> Task:
        files = {
            name: self.folder / text.strip()
            for name in ("brief", lab_suite.DRAFT, "facts")
            if (text := getattr(keys, name)) and _FILE.fullmatch(text.strip())
        }
        criteria = read_criteria(keys.criteria)
        if "brief" in files:
            brief = files.pop("brief")
            options: dict[str, Any] = {"limits_from_brief": keys.limits_from_brief}
            options |= {"criteria": criteria, "contract": keys.contract}
            return read_task(brief, **options, **files)
        texts = {name: read_text(path, name) for name, path in files.items()}
        task = Task(
            brief=keys.brief.strip(),
            draft=texts.get(lab_suite.DRAFT, keys.draft),
            facts=texts.get("facts", keys.facts),
            contract=make_contract(dict(keys.contract), "contract"),
            criteria=criteria,
        )
        return check_task(task, limits_from_brief=keys.limits_from_brief)

    def _arm(self, name: str, value: Any) -> lab_suite.SuiteArm:
        if name.startswith((lab_suite.DRAFT, lab_suite.PANEL)):
            raise InvalidInput(f"{name} begins like a name of the suite's own; rename the arm")
        keys = self.document.convert(("arms", name), value or {}, dict[str, Any])
        if unknown := next((key for key in keys if key not in ARM_KEYS), None):
            raise InvalidInput(f"unknown key `{unknown}`; known are {', '.join(ARM_KEYS)}")
        given = tuple(keys)
        draft = keys.pop(lab_suite.DRAFT, "shared")
        if draft not in ("shared", "own"):
            raise InvalidInput(f"`draft` is {draft!r}; say shared or own")
        jobs = {source.job for source in self.sources.values()}
        terms = {"k": keys.get("k") or Solve().k} if "solve" in jobs else {}
        for job, names in _TERMS.items():
            for key in keys.keys() & set(names):
                if job not in jobs:
                    raise InvalidInput(f"`{key}` goes with tasks for {job}, and there is none")
                terms[key] = keys.pop(key)
        own = keys.pop("model", None)
        default = self._address(own) if own else self._default()
        roles = {role: keys.pop(f"{role}_model", None) or default for role in _ROLES}
        named: Any = {role: self._address(each, f"{role}_model") for role, each in roles.items()}
        models = Models(
            **named,
            judges=self._several(keys, "judge_models") or (default,),
            revisers=self._several(keys, "reviser_models"),
        )
        # The suite's own panels do the confirming.
        settings = self._settings(models, {"confirmation": 0, **keys})
        self._check_used(settings, given, jobs, shared=draft == "shared")
        return lab_suite.SuiteArm(settings=settings, shared_draft=draft == "shared", terms=terms)

    def _check_used(
        self, settings: Settings, given: Sequence[str], jobs: set[str], *, shared: bool
    ) -> None:
        """Refuse a switch that does nothing, so that no two arms do the same."""
        name, texts = settings.job.name, len(self.sources) < len(self.keys.tasks)
        used = [find_strategy(name).used_settings] if texts else []
        used += [find_program_strategy(name).used_settings] if "solve" in jobs else []
        used += [PANEL_SETTINGS] if "research" in jobs else []
        if unused := unused_setting(settings, given, used):
            raise InvalidInput(unused)
        idle = {"drafts", "max_drafts"} if texts and shared else set()
        why = "in an arm that begins from the shared draft; add `draft: own` or leave it out"
        if not any(map(lab_suite.needs_draft, self.tasks.values())):
            idle = {lab_suite.DRAFT, *(("drafts", "max_drafts") if texts else ())}
            why = "where no task needs a first draft; leave it out"
        for key in idle & set(given):
            raise InvalidInput(f"`{key}` does nothing {why}")

    def _panel(self) -> lab_suite.SuitePanel:
        keys = asdict(self.keys.panel)
        judges = self._several(keys, "judge_models") or (self._default(),)
        flags = {name: keys.pop(name) for name in ("equal_length", "pairwise")}
        keys["job"] = JudgePairs() if flags["pairwise"] else Judge()
        return lab_suite.SuitePanel(settings=self._settings(Models.judging(*judges), keys), **flags)

    def _settings(self, models: Models, keys: dict[str, Any]) -> Settings:
        protocol = keys.pop("protocol", "robust")
        if "strategy" in keys:
            keys["strategy"] = absolute(str(keys["strategy"]))
        if isinstance(keys.get("tie_order"), str):
            keys["tie_order"] = tuple(map(str.strip, keys["tie_order"].split(">")))
        keys |= self.servers
        keys["base_url"] = lab_suite.servers_of(keys["base_url"], models)
        return make_settings(models, 0, protocol, **keys, budget=_limits(self.keys.budget.cell))

    def _check_comparisons(self, arms: Mapping[str, lab_suite.SuiteArm]) -> None:
        for at, measure in enumerate(self.keys.measures):
            with self.document.at("measures", at):
                self._check_measure(measure, {})
        names = [each.name for each in self.keys.comparisons]
        for at, comparison in enumerate(self.keys.comparisons):
            with self.document.at("comparisons", at):
                if comparison.name in names[:at]:
                    raise InvalidInput(f"`name` is {comparison.name} a second time; rename one")
                chosen = set(comparison.arms)
                if not chosen <= set(arms) or len(chosen) < max(2, len(comparison.arms)):
                    known = ", ".join(arms)
                    raise InvalidInput(
                        f"`arms` needs two different ones or more; there are {known}"
                    )
                compared = {arm: arms[arm].settings.job for arm in comparison.arms}
                self._check_measure(comparison.measure, compared)

    def _check_measure(self, measure: lab_suite.Measure, compared: Mapping[str, AnyJob]) -> None:
        kinds = {source.job for source in self.sources.values()}
        what, tasks = _NEEDS.get(measure, ""), [each.task for each in self.tasks.values()]
        needs = ""
        if what and _JOBS[what] not in kinds:
            needs = f"tasks of {what}"
        elif measure == "preferred" and kinds:
            needs = "tasks that are all texts"
        elif measure == "converged" and not all(job.is_tournament for job in compared.values()):
            needs = "arms that are all tournaments"
        elif measure == "kept_contract" and compared and not any(each.limited for each in tasks):
            needs = "a task with a contract"
        if needs:
            what = f"{measure} can only be measured of {needs}"
            raise InvalidInput(f"{what}; choose another `measure`")


def _limits(budget: Budget) -> Budget:
    return Budget(**{name: getattr(budget, name) for name in Budget.__struct_fields__})
