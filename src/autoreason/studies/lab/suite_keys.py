"""The keys of a suite's file, with their types and ranges."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from autoreason.settings import PANEL_JUDGES, Budget, Unit
from autoreason.studies.lab.lab_suite import (
    MAX_REPEATS,
    AddRule,
    Measure,
    SuiteComparison,
    SuiteMatch,
)


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
