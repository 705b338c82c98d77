"""Reads a suite from its file; whatever is wrong with it is one sentence with line and column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from autoreason.errors import InvalidInput
from autoreason.plugins import absolute
from autoreason.settings import (
    PANEL_JUDGES,
    Budget,
    Models,
    Settings,
    make_settings,
)
from autoreason.studies.lab.lab_suite import (
    DRAFT,
    MEASURES,
    PANEL,
    AddRule,
    Suite,
    SuiteArm,
    SuiteComparison,
    SuitePanel,
    SuiteTask,
    servers_of,
)
from autoreason.studies.lab.marked_yaml import MarkedYaml, require
from autoreason.studies.lab.marked_yaml import Path as KeyPath
from autoreason.task import Task, check_task, make_contract, read_task, read_text

MAX_REPEATS = 1000
_KEYS = (
    *("name", "seed", "model", "models", "tasks", "arms", "repeats"),
    *("panel", "measures", "comparisons", "budget", "add"),
)
_ROLES = ("author_model", "critic_model", "synthesizer_model", "judge_models")
_RUN_KEYS = ("models", "seed", "budget", "base_url", "allow_http")
"""Settings that a suite has once for all arms."""
_TERMS = {"solve": ("calls", "width"), "research": ("evaluations", "patience", "parallel")}
_ARM = (
    *("model", *_ROLES, DRAFT, *(name for names in _TERMS.values() for name in names)),
    *(name for name in Settings.__struct_fields__ if name not in _RUN_KEYS),
)
_PANEL = ("judge_models", "judges", "style", "judge_temperature", "equal_length", "pairwise")
_TASK = ("brief", "facts", DRAFT, "contract", "problems", "research", "limit", "ids", "difficulty")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_FILE = re.compile(r"\S+\.\w+")
_NEEDS = {"passed": "solve", "value": "research"}
"""Measures that only tasks of a job have."""


class TaskSource(NamedTuple):
    """A task that a process has to read: a set of problems, or a research task."""

    job: str
    path: Path
    options: dict[str, Any]


class SuiteFile(NamedTuple):
    """A suite as it was read; tasks that another process reads are still empty."""

    suite: Suite
    seed: int | None
    budget: Budget
    sources: dict[str, TaskSource]
    document: MarkedYaml


class _Limits(Struct, frozen=True, kw_only=True):
    """The key `budget`."""

    cost: Any = None
    tokens: Any = None
    calls: Any = None
    seconds: Any = None
    cell: dict[str, Any] = {}


class _Comparison(Struct, frozen=True, kw_only=True):
    """An item of `comparisons`."""

    name: str
    question: str
    arms: list[str]
    measure: str = "preferred"


class _Add(Struct, frozen=True, kw_only=True):
    """The key `add`."""

    width: Annotated[float, Meta(gt=0)]
    repeats: Annotated[int, Meta(ge=1, le=MAX_REPEATS)]


def read_suite(
    source: Path,
    *,
    models: Mapping[str, str],
    repeats: int | None = None,
    base_url: str | Mapping[str, str] | None = None,
    allow_http: bool = False,
) -> SuiteFile:
    """Read a suite.

    Args:
        source: Its file, in whose folder the files are that it names.
        models: Addresses by the names under which a suite leaves models open; the empty name is for all others.
        repeats: Takes the place of the suite's own.
        base_url: Servers to ask instead of the providers' own.
        allow_http: Send keys over plain http to other machines too.

    Raises:
        InvalidInput: Something is wrong with it; nothing was started.
    """
    document = MarkedYaml(str(source), read_text(source, "suite"))
    reading = _Reading(document, source.resolve().parent, models, base_url, allow_http)
    return reading.read(repeats)


class _Reading:
    """One suite being read."""

    def __init__(
        self,
        document: MarkedYaml,
        folder: Path,
        models: Mapping[str, str],
        base_url: str | Mapping[str, str] | None,
        allow_http: bool,
    ) -> None:
        self.document, self.folder = document, folder
        self.keys = document.mapping((), document.value or {}, _KEYS)
        self.given = models
        self.base_url, self.allow_http = base_url, allow_http
        self.sources: dict[str, TaskSource] = {}

    def read(self, repeats: int | None) -> SuiteFile:
        keys, document = self.keys, self.document
        name = self._name(("name",), str(require(keys, "name", document)))
        self._check_models()
        budget, cell = self._budgets()
        tasks = self._tasks()
        arms = {
            arm: self._arm(arm, value, cell)
            for arm, value in document.mapping(("arms",), require(keys, "arms", document)).items()
        }
        comparisons = self._comparisons(arms, {task.job for task in tasks.values()})
        measures = keys.get("measures") or []
        for at, each in enumerate(measures if isinstance(measures, list) else [measures]):
            self._check_measure(("measures", at), each, {task.job for task in tasks.values()})
        add = document.convert(("add",), keys["add"], _Add) if keys.get("add") else None
        number = self._repeats(repeats)
        if add and add.repeats < number:
            raise document.fault(
                ("add", "repeats"),
                f"`repeats` under `add` is {add.repeats}, the most in all, and there are {number} "
                "to begin with; raise it or remove `add`",
            )
        suite = Suite(
            name=name,
            tasks=tasks,
            arms=arms,
            repeats=number,
            comparisons=comparisons,
            measures=tuple(measures),
            panel=self._panel(cell) if any(c.measure == "preferred" for c in comparisons) else None,
            add=AddRule(**asdict(add)) if add else None,
        )
        return SuiteFile(suite, self._whole("seed"), budget, self.sources, document)

    def _whole(self, key: str) -> int | None:
        value = self.keys.get(key)
        if value is not None and (
            not isinstance(value, int) or isinstance(value, bool) or value < 0
        ):
            raise self.document.fault((key,), f"`{key}` is {value!r}; give a whole number")
        return value

    def _repeats(self, given: int | None) -> int:
        number = self._whole("repeats") if given is None else given
        number = 1 if number is None else number
        if not 1 <= number <= MAX_REPEATS:
            raise self.document.fault(
                ("repeats",), f"`repeats` is {number}; give a number from 1 to {MAX_REPEATS}"
            )
        return number

    def _name(self, path: KeyPath, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise self.document.fault(
                path, f"{name!r} cannot be a name; use up to 40 letters, digits, hyphens and dots"
            )
        return name

    # Models.

    def _check_models(self) -> None:
        """Names of models that are left open, and whether what was given is one of them."""
        names = self.keys.get("models") or []
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            raise self.document.fault(("models",), "`models` must be a list of names")
        self.names = names
        for name in self.given:
            if name and name not in names:
                known = f"it names {', '.join(names)}" if names else "it names none"
                raise self.document.fault(
                    ("models",),
                    f"a model is given for {name}, which the suite does not name; {known}",
                )

    def _address(self, path: KeyPath, name: Any) -> str:
        """The address of a model, which may be given by a name that the suite leaves open."""
        if not isinstance(name, str) or not name.strip():
            raise self.document.fault(path, "a model is given as provider/model, or by a name")
        if "/" in name:
            return name
        if name not in self.names:
            raise self.document.fault(
                path, f"{name} is no model; write provider/model, or list the name under `models`"
            )
        if found := self.given.get(name) or self.given.get(""):
            return found
        raise self.document.fault(
            path,
            f"no model is given for {name}; give `model` {name}=provider/model, or one for all",
        )

    def _role(self, path: KeyPath, keys: Mapping[str, Any], role: str, default: str) -> str:
        return self._address((*path, role), keys[role]) if keys.get(role) else default

    def _judges(self, path: KeyPath, keys: Mapping[str, Any], default: str) -> tuple[str, ...]:
        given = keys.get("judge_models")
        if not given:
            return (default,)
        several = given if isinstance(given, list) else [given]
        return tuple(self._address((*path, "judge_models"), each) for each in several)

    def _model(self, path: KeyPath, keys: Mapping[str, Any]) -> str:
        """Who plays every role that has no model of its own."""
        if keys.get("model"):
            return self._address((*path, "model"), keys["model"])
        # What is given comes first: a suite says which model it was meant for, not which it needs.
        if self.given.get(""):
            return self.given[""]
        if self.keys.get("model"):
            return self._address(("model",), self.keys["model"])
        raise self.document.fault(path, "no model is named; give `model`")

    # Tasks.

    def _tasks(self) -> dict[str, SuiteTask]:
        given = self.document.mapping(("tasks",), require(self.keys, "tasks", self.document))
        return {self._name(("tasks", name), name): self._task(name, given[name]) for name in given}

    def _task(self, name: str, value: Any) -> SuiteTask:
        path, document = ("tasks", name), self.document
        if isinstance(value, str):
            value = {"brief": value}
        keys = document.mapping(path, value, _TASK)
        kinds = [kind for kind in ("brief", "problems", "research") if keys.get(kind)]
        if len(kinds) != 1 or not isinstance(keys[kinds[0]], str):
            raise document.fault(
                path, f"task {name} needs one of `brief`, `problems` or `research`"
            )
        (kind,) = kinds
        unused = set(keys) - {kind} - set(_USED[kind])
        if unused:
            raise document.fault(
                (*path, min(unused)), f"`{min(unused)}` goes with no `{kind}`; leave it out"
            )
        if kind != "brief":
            job = {"problems": "solve", "research": "research"}[kind]
            options = {key: each for key, each in keys.items() if key != kind}
            self.sources[name] = TaskSource(job, self.folder / keys[kind], options)
            return SuiteTask(task=Task(brief=name), job=job)
        try:
            return SuiteTask(task=self._text_task(keys))
        except InvalidInput as error:
            raise document.blame(path, error) from None

    def _text_task(self, keys: Mapping[str, Any]) -> Task:
        brief = keys["brief"]
        is_file = "\n" not in brief and bool(_FILE.fullmatch(brief.strip()))
        files = {
            key: self.folder / keys[key]
            for key in (DRAFT, "facts")
            if isinstance(keys.get(key), str) and _FILE.fullmatch(keys[key].strip())
        }
        contract = keys.get("contract") or {}
        if is_file:
            return read_task(self.folder / brief, contract=contract, **files)
        texts = {
            key: read_text(files[key], key) if key in files else keys.get(key)
            for key in (DRAFT, "facts")
        }
        task = Task(
            brief=brief.strip(),
            draft=texts[DRAFT],
            facts=texts["facts"],
            contract=make_contract(dict(contract), "contract"),
        )
        return check_task(task)

    # Arms, panel, budget.

    def _arm(self, name: str, value: Any, cell: Budget) -> SuiteArm:
        path, document = ("arms", name), self.document
        self._name(path, name)
        if name.startswith((DRAFT, PANEL)):
            raise document.fault(
                path, f"{name} begins like the suite's own cells; name the arm differently"
            )
        keys = dict(document.mapping(path, {} if value is None else value, _ARM))
        draft = keys.pop(DRAFT, "shared")
        if draft not in ("shared", "own"):
            raise document.fault((*path, DRAFT), f"`draft` is {draft!r}; say shared or own")
        jobs = {source.job for source in self.sources.values()}
        terms = {}
        for job, names in _TERMS.items():
            for key in names:
                if key in keys and job not in jobs:
                    raise document.fault(
                        (*path, key), f"`{key}` goes with tasks for {job}, and there is none"
                    )
                if key in keys:
                    terms[key] = keys.pop(key)
        default = self._model(path, keys)
        models = Models(
            author=self._role(path, keys, "author_model", default),
            critic=self._role(path, keys, "critic_model", default),
            synthesizer=self._role(path, keys, "synthesizer_model", default),
            judges=self._judges(path, keys, default),
        )
        keys = {key: each for key, each in keys.items() if key not in ("model", *_ROLES)}
        # The suite's own panels do the confirming.
        settings = self._settings(path, models, cell, {"confirmation": 0, **keys})
        return SuiteArm(settings=settings, shared_draft=draft == "shared", terms=terms)

    def _settings(
        self, path: KeyPath, models: Models, cell: Budget, keys: dict[str, Any]
    ) -> Settings:
        protocol = keys.pop("protocol", "robust")
        if "strategy" in keys:
            keys["strategy"] = absolute(str(keys["strategy"]))
        if isinstance(keys.get("tie_order"), str):
            keys["tie_order"] = tuple(map(str.strip, keys["tie_order"].split(">")))
        try:
            return make_settings(
                models,
                0,
                protocol,
                **keys,
                budget=cell,
                base_url=servers_of(self.base_url, models),
                allow_http=self.allow_http,
            )
        except InvalidInput as error:
            raise self.document.blame(path, error) from None

    def _panel(self, cell: Budget) -> SuitePanel:
        path = ("panel",)
        keys = dict(self.document.mapping(path, self.keys.get("panel") or {}, _PANEL))
        flags = {}
        for name in ("equal_length", "pairwise"):
            flags[name] = keys.pop(name, False)
            if not isinstance(flags[name], bool):
                raise self.document.fault((*path, name), f"`{name}` must be true or false")
        judged = {key: each for key, each in keys.items() if key != "judge_models"}
        default = "" if keys.get("judge_models") else self._model(path, {})
        models = Models.judging(*self._judges(path, keys, default))
        settings = self._settings(
            path,
            models,
            cell,
            {
                "judges": PANEL_JUDGES,
                "strategy": "judge_pairs" if flags["pairwise"] else "judge",
                **judged,
            },
        )
        return SuitePanel(settings=settings, **flags)

    def _budgets(self) -> tuple[Budget, Budget]:
        """That of the whole, and that of a cell."""
        path, document = ("budget",), self.document
        limits = document.convert(path, self.keys.get("budget") or {}, _Limits)
        whole = {name: getattr(limits, name) for name in Budget.__struct_fields__}
        budget = document.convert(path, {n: v for n, v in whole.items() if v is not None}, Budget)
        cell = document.convert((*path, "cell"), limits.cell, Budget)
        for place, each in ((path, budget), ((*path, "cell"), cell)):
            for name in Budget.__struct_fields__:
                value = getattr(each, name)
                if value is not None and value <= 0:
                    raise document.fault((*place, name), f"`{name}` is {value}; give more than 0")
        return budget, cell

    # Comparisons.

    def _comparisons(
        self, arms: Mapping[str, SuiteArm], jobs: set[str]
    ) -> tuple[SuiteComparison, ...]:
        given = self.keys.get("comparisons") or []
        if not isinstance(given, list):
            raise self.document.fault(("comparisons",), "`comparisons` must be a list")
        found: list[SuiteComparison] = []
        for at, value in enumerate(given):
            path: KeyPath = ("comparisons", at)
            each = self.document.convert(path, value, _Comparison)
            self._name((*path, "name"), each.name)
            if each.name in [before.name for before in found]:
                raise self.document.fault(
                    (*path, "name"), f"two comparisons are called {each.name}; rename one of them"
                )
            self._check_arms((*path, "arms"), each.arms, arms)
            self._check_measure((*path, "measure"), each.measure, jobs)
            found.append(msgspec.convert(asdict(each), SuiteComparison))
        return tuple(found)

    def _check_arms(
        self, path: KeyPath, names: Sequence[str], arms: Mapping[str, SuiteArm]
    ) -> None:
        for at, name in enumerate(names):
            if name not in arms:
                raise self.document.fault(
                    (*path, at), f"there is no arm {name}; the arms are {', '.join(arms)}"
                )
        if len(set(names)) < max(2, len(names)):
            raise self.document.fault(path, "a comparison needs two different arms or more")

    def _check_measure(self, path: KeyPath, measure: Any, jobs: set[str]) -> None:
        if measure not in MEASURES:
            raise self.document.fault(
                path, f"there is no measure {measure}; known are {', '.join(MEASURES)}"
            )
        needed = _NEEDS.get(measure)
        if (needed and needed not in jobs) or (measure == "preferred" and jobs != {""}):
            what = {"solve": "problems", "research": "research"}.get(needed or "", "texts alone")
            raise self.document.fault(
                path, f"{measure} is a measure of {what}, and the suite runs other tasks"
            )


_USED = {
    "brief": ("facts", DRAFT, "contract"),
    "problems": ("limit", "ids", "difficulty"),
    "research": (),
}
"""The keys that go with each kind of task."""
