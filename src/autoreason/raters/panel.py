"""People beside a panel of models: do they put the same texts in the same order?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput, plainly
from autoreason.stats.bootstrap import bootstrap
from autoreason.stats.elections import borda
from autoreason.stats.ranks import tau_b
from autoreason.stats.results import Estimate
from autoreason.task import read_text

Ranking = tuple[str, ...]


class TaskRankings(Struct, frozen=True, forbid_unknown_fields=True):
    """How a panel ranked the texts of one task, by name and best first."""

    rankings: tuple[Ranking, ...]


class PanelRankings(Struct, frozen=True, forbid_unknown_fields=True):
    """How a panel ranked the texts of a packet: of its one task, or of each in turn."""

    rankings: tuple[Ranking, ...] = ()
    tasks: tuple[TaskRankings, ...] = ()

    def by_task(self) -> tuple[tuple[Ranking, ...], ...]:
        """Rankings of every task, in the order of the packet."""
        return tuple(task.rankings for task in self.tasks) or (self.rankings,)


class TaskAgreement(Struct, frozen=True, kw_only=True):
    """People and panel on one task."""

    people: dict[str, float]
    """Borda points."""
    panel: dict[str, float]
    judges: int
    tau: Estimate
    """Kendall's tau-b between the two rows of points."""


class AgreementWithPanel(Struct, frozen=True, kw_only=True):
    """How far people and a panel agree."""

    tasks: tuple[TaskAgreement, ...]
    pairs: Estimate
    """Shown two texts, how often a person prefers the one with more points from the panel."""
    tied: int
    """Pairs left out because the panel puts both texts on the same place."""


def read_panel(path: Path) -> PanelRankings:
    """A panel's rankings from a JSON file."""
    try:
        found = msgspec.json.decode(read_text(path, "panel"), type=PanelRankings)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"panel {path}: {plainly(error)}") from None
    except msgspec.MsgspecError:
        raise InvalidInput(f"panel {path} is not valid JSON; mend it") from None
    if bool(found.rankings) == bool(found.tasks) or not all(found.by_task()):
        raise InvalidInput(
            f'panel {path} needs "rankings" with names of texts, best first,'
            ' or "tasks" with such rankings for each task'
        )
    return found


def check_panel(panel: PanelRankings, names: Sequence[Sequence[str]]) -> None:
    """Refuse rankings that are not of these texts, task by task."""
    given = panel.by_task()
    if len(given) != len(names):
        raise InvalidInput(
            f"the panel ranked {len(given)} task(s) and the packet has {len(names)};"
            ' give rankings for each of them under "tasks"'
        )
    for number, (rankings, wanted) in enumerate(zip(given, names, strict=True), 1):
        for ranking in rankings:
            if sorted(ranking) != sorted(wanted):
                raise InvalidInput(
                    f"task {number}: the panel ranked {', '.join(ranking) or 'nothing'};"
                    f" it must rank {', '.join(sorted(wanted))}, each once"
                )


def compare(
    people: Sequence[Sequence[tuple[str, Ranking]]], panel: PanelRankings
) -> AgreementWithPanel:
    """Agreement of people with a panel; `people` are rankings by person, for each task in turn."""
    tasks, agreed, persons, tied = [], [], [], 0
    for rankings, judged in zip(people, panel.by_task(), strict=True):
        points = borda(judged)
        ours = borda([ranking for _, ranking in rankings])
        names = sorted(points)
        tau = (
            tau_b([ours[name] for name in names], [points[name] for name in names])
            if ours
            else Estimate(None, reason="needs a whole ranking by a person, there is none")
        )
        tasks.append(TaskAgreement(people=ours, panel=points, judges=len(judged), tau=tau))
        for person, ranking in rankings:
            for better, worse in combinations(ranking, 2):
                if points[better] == points[worse]:
                    tied += 1
                    continue
                agreed.append(float(points[better] > points[worse]))
                persons.append(person)
    # A person's pairs hang together: whole persons are drawn.
    pairs = bootstrap(agreed, clusters=persons)
    return AgreementWithPanel(tasks=tuple(tasks), pairs=pairs, tied=tied)
