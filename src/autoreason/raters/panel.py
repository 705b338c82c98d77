"""A panel's rankings of the texts of a packet, as a file gives them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput, plainly
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
