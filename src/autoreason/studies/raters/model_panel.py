"""A panel's rankings of the texts of a packet, from a file or from a run in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput, plainly
from autoreason.story import CONFIRMATION, Story
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
        panel = msgspec.json.decode(read_text(path, "panel"), type=PanelRankings)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"panel {path}: {plainly(error)}") from None
    except msgspec.MsgspecError:
        raise InvalidInput(f"panel {path} is not valid JSON; fix it") from None
    if bool(panel.rankings) == bool(panel.tasks) or not all(panel.by_task()):
        raise InvalidInput(
            f'panel {path} needs "rankings" with names of texts, best first,'
            ' or "tasks" with such rankings for each task'
        )
    return panel


def panel_of(run: str, story: Story) -> PanelRankings:
    """The rankings of a panel over finished texts, else those of draft and delivered text by a run's last judges."""
    entries = story.task.entries if story.task else ()
    whole = tuple(
        ballot.ranking
        for panel in story.panels.values()
        for ballot in panel.ballots
        if ballot.ranking and len(ballot.ranking) == len(entries)
    )
    rankings = whole or _draft_and_delivered(story)
    if not rankings:
        raise InvalidInput(
            f"run {run} has no rankings of finished texts; name one of `autoreason judge`"
        )
    return PanelRankings(rankings=rankings)


def _draft_and_delivered(story: Story) -> tuple[Ranking, ...]:
    """How they ranked the two texts of a packet, under the names they have there; the playoff's chose one of them."""
    if story.delivered is None:
        return ()
    names = {"draft": "draft", story.delivered.origin: "delivered"}
    confirmed = story.panels.get(CONFIRMATION)
    ballots = confirmed.ballots if confirmed else story.playoff_ballots
    rankings = [ballot.ranking for ballot in ballots if ballot.ranking]
    return tuple(tuple(names[name] for name in ranking if name in names) for ranking in rankings)


def join_panels(panels: Sequence[PanelRankings]) -> PanelRankings:
    """Panels that ranked one task after the other, as one."""
    return PanelRankings(
        tasks=tuple(TaskRankings(rankings) for panel in panels for rankings in panel.by_task())
    )


def check_panel(panel: PanelRankings, names: Sequence[Sequence[str]]) -> None:
    """Refuse rankings that are not of these texts, task by task."""
    by_task = panel.by_task()
    if len(by_task) != len(names):
        raise InvalidInput(
            f"the panel ranked texts of {len(by_task)} and the packet has {len(names)} tasks;"
            " give `panel` once for each of them, in their order"
        )
    for number, (rankings, expected) in enumerate(zip(by_task, names, strict=True), 1):
        for ranking in rankings:
            if sorted(ranking) != sorted(expected):
                raise InvalidInput(
                    f"task {number}: the panel ranked {', '.join(ranking) or 'nothing'};"
                    f" it must rank {', '.join(sorted(expected))}, each once"
                )
