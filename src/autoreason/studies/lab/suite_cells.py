"""The cells of a suite: which there are, and in which order they are run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, get_args

from autoreason.keys import PartName
from autoreason.settings import Settings
from autoreason.studies.lab.lab_suite import (
    DRAFT,
    PANEL,
    Cell,
    CellKind,
    Suite,
    SuiteTask,
    draft_settings,
)


class Group(NamedTuple):
    """The cells of one task in one repeat, each kind after the other."""

    drafts: tuple[Cell, ...]
    arms: tuple[Cell, ...]
    panels: tuple[Cell, ...]

    def draft_of(self, arm: str) -> Cell | None:
        """The draft that an arm begins from."""
        return next((cell for cell in self.drafts if arm in cell.arms), None)


def groups(suite: Suite) -> Iterator[Group]:
    """Repeat by repeat, so that a suite that is stopped early has run all tasks and arms equally often."""
    number = 0
    for repeat in _all_repeats(suite):
        drafts, others = _drafts_and_others(suite, repeat)
        for at, task in enumerate(suite.tasks, 1):
            named = [*(drafts if needs_draft(suite.tasks[task]) else ()), *others]
            cells = [
                Cell(
                    number=number + place,
                    kind=kind,
                    task=task,
                    repeat=repeat,
                    arms=names,
                    part=str(PartName(title, repeat, problem=at)),
                )
                for place, (kind, title, names) in enumerate(named, 1)
            ]
            number += len(cells)
            yield Group(
                *(tuple(cell for cell in cells if cell.kind == kind) for kind in get_args(CellKind))
            )


def all_cells(suite: Suite) -> Iterator[Cell]:
    """Every cell, by number."""
    for group in groups(suite):
        yield from (*group.drafts, *group.arms, *group.panels)


def count_cells(suite: Suite) -> int:
    """How many cells there are; a panel over texts that are all the same is none in the end."""
    with_draft = sum(map(needs_draft, suite.tasks.values()))
    return sum(
        with_draft * len(drafts) + len(suite.tasks) * len(others)
        for drafts, others in map(partial(_drafts_and_others, suite), _all_repeats(suite))
    )


def _all_repeats(suite: Suite) -> range:
    return range(1, max(map(suite.arm_repeats, suite.arms)) + 1)


def needs_draft(task: SuiteTask) -> bool:
    """Whether a first draft of it is written, which arms may share."""
    return not task.job and task.task.draft is None


_NamedCell = tuple[CellKind, str, tuple[str, ...]]


def _drafts_and_others(suite: Suite, repeat: int) -> tuple[list[_NamedCell], list[_NamedCell]]:
    """The cells of a repeat that each task has, drafts apart, with their titles and arms."""
    arms = [arm for arm in suite.arms if suite.arm_repeats(arm) >= repeat]
    shared = _shared_drafts(suite, arms)
    drafts: list[_NamedCell] = [
        (DRAFT, DRAFT if len(shared) == 1 else f"{DRAFT}-{place}", names)
        for place, names in enumerate(shared, 1)
    ]
    others: list[_NamedCell] = [("arm", arm, (arm,)) for arm in arms]
    for place, names in enumerate(suite.judged, 1):
        due = [each for each in suite.comparisons if set(each.arms) == set(names)]
        if any(suite.repeats_of(each) >= repeat for each in due):
            title = PANEL if len(suite.judged) == 1 else f"{PANEL}-{place}"
            others.append((PANEL, title, names))
    return drafts, others


def _shared_drafts(suite: Suite, arms: list[str]) -> list[tuple[str, ...]]:
    """Arms by the draft they share, which depends on who writes it and how."""
    together: list[tuple[Settings, list[str]]] = []
    for arm in arms:
        if not suite.arms[arm].shared_draft:
            continue
        settings = draft_settings(suite.arms[arm].settings)
        same = next((names for known, names in together if known == settings), None)
        if same is None:
            together.append((settings, [arm]))
        else:
            same.append(arm)
    return [tuple(names) for _, names in together]
