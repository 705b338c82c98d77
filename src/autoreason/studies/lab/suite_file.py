"""Reads a suite from its file; whatever is wrong with it is one sentence with line and column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

from msgspec import Meta, Struct
from msgspec.structs import asdict

from autoreason.errors import InvalidInput
from autoreason.job_types import Judge, JudgePairs
from autoreason.plugins import absolute
from autoreason.programs.program_strategy import find_program_strategy
from autoreason.settings import (
    PANEL_JUDGES,
    ROLE_MODELS,
    SETTING_DOCS,
    Budget,
    Models,
    Settings,
    Unit,
    limit_remedy,
    make_settings,
)
from autoreason.strategies.registry import find_strategy, unused_setting
from autoreason.studies.lab.lab_suite import (
    DRAFT,
    MAX_REPEATS,
    PANEL,
    AddRule,
    Measure,
    Suite,
    SuiteArm,
    SuiteComparison,
    SuiteMatch,
    SuitePanel,
    SuiteTask,
    check_match,
    needs_draft,
    servers_of,
)
from autoreason.studies.lab.marked_yaml import MarkedYaml
from autoreason.studies.lab.marked_yaml import Path as KeyPath
from autoreason.task import Task, check_task, make_contract, read_task, read_text
from autoreason.tournament.judges import PANEL_SETTINGS


class TextKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task that is a text."""

    brief: str
    facts: str | None = None
    draft: str | None = None
    contract: dict[str, Any] = {}


class ProblemKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task that is a set of problems."""

    problems: str
    limit: Annotated[int, Meta(ge=1)] | None = None
    ids: list[str] = []
    difficulty: str | None = None


class ResearchKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task that has a number."""

    research: str


TASK_KEYS: dict[str, type[Struct]] = {
    "brief": TextKeys,
    "problems": ProblemKeys,
    "research": ResearchKeys,
}


class CellBudget(Budget, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a cell."""


class WholeBudget(Budget, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of the whole, and under `cell` those of each."""

    cell: CellBudget = CellBudget()


class PanelKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The key `panel`."""

    judges: int = PANEL_JUDGES
    judge_models: str | list[str] = []
    style: str = "reasoned"
    judge_temperature: float | None = None
    equal_length: bool = False
    pairwise: bool = False


class SuiteKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file."""

    name: str
    tasks: dict[str, Any]
    arms: dict[str, Any]
    seed: Annotated[int, Meta(ge=0)] | None = None
    model: str = ""
    models: tuple[str, ...] = ()
    repeats: Annotated[int, Meta(ge=1, le=MAX_REPEATS)] = 1
    panel: PanelKeys = PanelKeys()
    measures: tuple[Measure, ...] = ()
    comparisons: tuple[SuiteComparison, ...] = ()
    budget: WholeBudget = WholeBudget()
    match: Unit | SuiteMatch | None = None
    add: AddRule | None = None


_TERMS = {"solve": ("calls",), "research": ("evaluations", "patience", "parallel")}
"""Options of the jobs that do tasks which are no texts."""
_RUN_KEYS = ("models", "seed", "budget", "matched", "base_url", "allow_http", "batch")
"""Settings that a suite has once for all arms."""
_ROLES = ("author", "critic", "synthesizer")
ARM_KEYS = (
    *("model", *ROLE_MODELS, DRAFT),
    *(name for names in _TERMS.values() for name in names),
    *(name for name in SETTING_DOCS if name not in _RUN_KEYS),
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_FILE = re.compile(r"\S+\.\w+")
_JOBS = {"problems": "solve", "research": "research"}
_NEEDS = {
    "passed": "problems",
    **dict.fromkeys(("value", "claimed", "kept", "evaluations"), "research"),
}
"""Measures that only tasks of a kind have."""


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


def read_suite(
    source: Path,
    *,
    models: Mapping[str, str],
    repeats: int | None = None,
    base_url: str | Mapping[str, str] | None = None,
    allow_http: bool = False,
    batch: bool = False,
) -> SuiteFile:
    """Read a suite.

    Args:
        source: Its file, in whose folder the files are that it names.
        models: Addresses by the names under which a suite leaves models open; the empty name is for all others.
        repeats: Takes the place of the suite's own.
        base_url: Servers to ask instead of the providers' own.
        allow_http: Send keys over plain http to other machines too.
        batch: Ask in batches.

    Raises:
        InvalidInput: Something is wrong with it; nothing was started.
    """
    if repeats is not None and not 1 <= repeats <= MAX_REPEATS:
        raise InvalidInput(f"`repeats` is {repeats}; give a number from 1 to {MAX_REPEATS}")
    document = MarkedYaml(str(source), read_text(source, "suite"))
    value = document.value
    if repeats is not None and isinstance(value, dict):
        value = value | {"repeats": repeats}
    keys = document.convert((), value, SuiteKeys, get_args(Measure))
    servers = {"base_url": base_url, "allow_http": allow_http, "batch": batch}
    return _Reading(document, keys, source.resolve().parent, models, servers).read()


class _Reading:
    """One suite being read."""

    def __init__(
        self,
        document: MarkedYaml,
        keys: SuiteKeys,
        folder: Path,
        models: Mapping[str, str],
        servers: Mapping[str, Any],
    ) -> None:
        self.document, self.keys, self.folder = document, keys, folder
        self.given, self.servers = models, servers
        self.sources: dict[str, TaskSource] = {}
        self.tasks: dict[str, SuiteTask] = {}

    def read(self) -> SuiteFile:
        keys = self.keys
        self._check_name(("name",), keys.name)
        self._check_limits()
        if unknown := set(self.given) - {"", *keys.models}:
            known = f"it names {', '.join(keys.models)}" if keys.models else "it names none"
            raise self.document.fault(
                ("models",),
                f"a model is given for {min(unknown)}, which the suite does not name; {known}",
            )
        for key in ("tasks", "arms"):
            if not getattr(keys, key):
                raise self.document.fault((key,), f"`{key}` is empty; name one or more")
        self.tasks = {name: self._task(name, value) for name, value in keys.tasks.items()}
        arms = {name: self._arm(name, value) for name, value in keys.arms.items()}
        self._check_comparisons(arms)
        self._check_contracts()
        if keys.add and keys.add.repeats < keys.repeats:
            raise self.document.fault(
                ("add", "repeats"),
                f"`repeats` under `add` is {keys.add.repeats}, the most in all, and there are "
                f"{keys.repeats} to begin with; raise it or remove `add`",
            )
        judged = any(each.measure == "preferred" for each in keys.comparisons)
        suite = Suite(
            name=keys.name,
            tasks=self.tasks,
            arms=arms,
            repeats=keys.repeats,
            comparisons=keys.comparisons,
            measures=keys.measures,
            panel=self._panel() if judged else None,
            match=SuiteMatch(by=keys.match) if isinstance(keys.match, str) else keys.match,
            add=keys.add,
        )
        try:
            check_match(suite)
        except InvalidInput as error:
            raise self.document.blame(("match",), error) from None
        return SuiteFile(suite, keys.seed, _limits(keys.budget), self.sources, self.document)

    def _check_name(self, path: KeyPath, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise self.document.fault(
                path, f"{name!r} cannot be a name; use up to 40 letters, digits, hyphens and dots"
            )

    def _check_limits(self) -> None:
        whole = self.keys.budget
        for path, budget in ((("budget",), whole), (("budget", "cell"), whole.cell)):
            for name in Budget.__struct_fields__:
                value = getattr(budget, name)
                if remedy := limit_remedy(value):
                    raise self.document.fault((*path, name), f"`{name}` is {value}; {remedy}")

    # Models.

    def _address(self, path: KeyPath, name: Any) -> str:
        """The address of a model, which may be given by a name that the suite leaves open."""
        if "/" in str(name):
            return str(name)
        if name not in self.keys.models:
            raise self.document.fault(
                path, f"{name} is no model; write provider/model, or list the name under `models`"
            )
        if found := self.given.get(name) or self.given.get(""):
            return found
        raise self.document.fault(
            path,
            f"no model is given for {name}; give `model` {name}=provider/model, or one for all",
        )

    def _default(self, path: KeyPath) -> str:
        """Who plays every role that has no model of its own."""
        # What is given comes first: a suite says which model it was meant for, not which it needs.
        if found := self.given.get("") or self.keys.model:
            return self._address(("model",), found)
        raise self.document.fault(path, "no model is named; give `model`")

    def _several(self, path: KeyPath, given: Any) -> tuple[str, ...]:
        several = given if isinstance(given, list) else [given]
        return tuple(self._address(path, each) for each in several) if given else ()

    # Tasks.

    def _task(self, name: str, value: Any) -> SuiteTask:
        path: KeyPath = ("tasks", name)
        self._check_name(path, name)
        keys = value if isinstance(value, dict) else {"brief": value}
        kinds = [kind for kind in TASK_KEYS if kind in keys]
        if len(kinds) != 1:
            raise self.document.fault(path, f"task {name} needs one of {', '.join(TASK_KEYS)}")
        found: Struct = self.document.convert(path, keys, TASK_KEYS[kinds[0]])
        if isinstance(found, TextKeys):
            try:
                return SuiteTask(task=self._text(found))
            except InvalidInput as error:
                raise self.document.blame(path, error) from None
        options = asdict(found)
        job = _JOBS[kinds[0]]
        self.sources[name] = TaskSource(job, self.folder / options.pop(kinds[0]), options)
        return SuiteTask(task=Task(brief=name), job=job)

    def _text(self, keys: TextKeys) -> Task:
        """A text from words, or from files in the folder of the suite."""
        files = {
            name: self.folder / text.strip()
            for name in ("brief", DRAFT, "facts")
            if (text := getattr(keys, name)) and _FILE.fullmatch(text.strip())
        }
        if "brief" in files:
            return read_task(files.pop("brief"), contract=keys.contract, **files)
        texts = {name: read_text(path, name) for name, path in files.items()}
        task = Task(
            brief=keys.brief.strip(),
            draft=texts.get(DRAFT, keys.draft),
            facts=texts.get("facts", keys.facts),
            contract=make_contract(dict(keys.contract), "contract"),
        )
        return check_task(task)

    # Arms and panel.

    def _arm(self, name: str, value: Any) -> SuiteArm:
        path: KeyPath = ("arms", name)
        self._check_name(path, name)
        if name.startswith((DRAFT, PANEL)):
            raise self.document.fault(
                path, f"{name} begins like the suite's own cells; name the arm differently"
            )
        keys = self.document.convert(path, value or {}, dict[str, Any])
        if unknown := next((key for key in keys if key not in ARM_KEYS), None):
            raise self.document.fault(
                (*path, unknown), f"unknown key `{unknown}`; known are {', '.join(ARM_KEYS)}"
            )
        given = tuple(keys)
        draft = keys.pop(DRAFT, "shared")
        if draft not in ("shared", "own"):
            raise self.document.fault((*path, DRAFT), f"`draft` is {draft!r}; say shared or own")
        jobs = {source.job for source in self.sources.values()}
        terms = {}
        for job, names in _TERMS.items():
            for key in keys.keys() & set(names):
                if job not in jobs:
                    raise self.document.fault(
                        (*path, key), f"`{key}` goes with tasks for {job}, and there is none"
                    )
                terms[key] = keys.pop(key)
        own = keys.pop("model", None)
        default = self._address((*path, "model"), own) if own else self._default(path)
        roles = {role: keys.pop(f"{role}_model", None) or default for role in _ROLES}
        models = Models(
            **{role: self._address((*path, f"{role}_model"), each) for role, each in roles.items()},
            judges=self._several((*path, "judge_models"), keys.pop("judge_models", None))
            or (default,),
            revisers=self._several((*path, "reviser_models"), keys.pop("reviser_models", None)),
        )
        # The suite's own panels do the confirming.
        settings = self._settings(path, models, {"confirmation": 0, **keys})
        self._check_used(path, settings, given, shared=draft == "shared")
        return SuiteArm(settings=settings, shared_draft=draft == "shared", terms=terms)

    def _check_used(
        self, path: KeyPath, settings: Settings, given: Sequence[str], *, shared: bool
    ) -> None:
        """Refuse a switch that does nothing, so that no two arms do the same."""
        name, jobs = settings.job.name, {source.job for source in self.sources.values()}
        texts = len(self.sources) < len(self.keys.tasks)
        try:
            used = [find_strategy(name).used_settings] if texts else []
            used += [find_program_strategy(name).used_settings] if "solve" in jobs else []
            used += [PANEL_SETTINGS] if "research" in jobs else []
            if unused := unused_setting(settings, given, used):
                raise InvalidInput(unused)
            self._check_draft(given, shared=shared, texts=texts)
        except InvalidInput as error:
            raise self.document.blame(path, error) from None

    def _check_draft(self, given: Sequence[str], *, shared: bool, texts: bool) -> None:
        """Refuse what is said of a first draft that the arm does not write."""
        idle = {"drafts", "max_drafts"} if texts else set()
        why = "in an arm that begins from the shared draft; add `draft: own` or leave it out"
        if not any(map(needs_draft, self.tasks.values())):
            idle, why = idle | {DRAFT}, "where no task needs a first draft; leave it out"
        elif not shared:
            return
        for key in idle & set(given):
            raise InvalidInput(f"`{key}` does nothing {why}")

    def _panel(self) -> SuitePanel:
        keys = asdict(self.keys.panel)
        judges = self._several(("panel", "judge_models"), keys.pop("judge_models"))
        judges = judges or (self._default(("panel",)),)
        flags = {name: keys.pop(name) for name in ("equal_length", "pairwise")}
        keys["job"] = JudgePairs() if flags["pairwise"] else Judge()
        settings = self._settings(("panel",), Models.judging(*judges), keys)
        return SuitePanel(settings=settings, **flags)

    def _settings(self, path: KeyPath, models: Models, keys: dict[str, Any]) -> Settings:
        protocol = keys.pop("protocol", "robust")
        if "strategy" in keys:
            keys["strategy"] = absolute(str(keys["strategy"]))
        if isinstance(keys.get("tie_order"), str):
            keys["tie_order"] = tuple(map(str.strip, keys["tie_order"].split(">")))
        keys |= self.servers
        keys["base_url"] = servers_of(keys["base_url"], models)
        try:
            return make_settings(models, 0, protocol, **keys, budget=_limits(self.keys.budget.cell))
        except InvalidInput as error:
            raise self.document.blame(path, error) from None

    # Comparisons.

    def _check_comparisons(self, arms: Mapping[str, SuiteArm]) -> None:
        for at, each in enumerate(self.keys.measures):
            self._check_measure(("measures", at), each)
        names: list[str] = []
        for at, comparison in enumerate(self.keys.comparisons):
            path: KeyPath = ("comparisons", at)
            self._check_name((*path, "name"), comparison.name)
            if comparison.name in names:
                raise self.document.fault(
                    (*path, "name"),
                    f"two comparisons are called {comparison.name}; rename one of them",
                )
            names.append(comparison.name)
            for place, arm in enumerate(comparison.arms):
                if arm not in arms:
                    raise self.document.fault(
                        (*path, "arms", place),
                        f"there is no arm {arm}; there are {', '.join(arms)}",
                    )
            if len(set(comparison.arms)) < max(2, len(comparison.arms)):
                raise self.document.fault(
                    (*path, "arms"), "a comparison needs two different arms or more"
                )
            self._check_measure((*path, "measure"), comparison.measure)
            self._check_tournaments((*path, "measure"), comparison, arms)

    def _check_contracts(self) -> None:
        if any(not each.task.contract.empty for each in self.tasks.values()):
            return
        for at, each in enumerate(self.keys.comparisons):
            if each.measure == "kept_contract":
                raise self.document.fault(
                    ("comparisons", at, "measure"),
                    "kept_contract is a measure of tasks with a contract, and the suite has none",
                )

    def _check_measure(self, path: KeyPath, measure: Measure) -> None:
        kinds = {source.job for source in self.sources.values()}
        what = _NEEDS.get(measure, "")
        if (what and _JOBS[what] not in kinds) or (measure == "preferred" and kinds):
            raise self.document.fault(
                path, f"{measure} is a measure of {what or 'texts'}, and the suite runs other tasks"
            )

    def _check_tournaments(
        self, path: KeyPath, comparison: SuiteComparison, arms: Mapping[str, SuiteArm]
    ) -> None:
        others = [arm for arm in comparison.arms if not arms[arm].settings.job.is_tournament]
        if comparison.measure == "converged" and others:
            raise self.document.fault(
                path, f"only tournaments converge, and {others[0]} is none; compare others"
            )


def _limits(budget: Budget) -> Budget:
    """The limits alone."""
    return Budget(**{name: getattr(budget, name) for name in Budget.__struct_fields__})
