"""Recorded ballots, from wherever they come, as `fit` takes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent, BallotCast
from autoreason.task import read_text

SLOTS = ("A", "B", "AB")


class RankedVote(NamedTuple):
    """What one judge saw, first to last, and how it ranked that, best first."""

    order: tuple[str, ...]
    ranking: tuple[str, ...]
    judge: str
    """The model that judged."""


class PanelVotes(NamedTuple):
    """The votes of one pass on A, B and AB."""

    run: str
    votes: tuple[RankedVote, ...]


def from_events(run: str, events: Iterable[AnyEvent]) -> list[PanelVotes]:
    """The panels of a recorded run; its playoff is left out, being over other texts."""
    ballots = [event for event in events if isinstance(event, BallotCast)]
    panels = []
    for _, group in groupby(ballots, key=lambda ballot: ballot.stage):
        votes = [RankedVote(each.order, each.ranking, each.model) for each in group if each.ranking]
        panels += _panel(run, votes)
    return panels


def from_file(path: Path) -> list[PanelVotes]:
    """The panels of a JSON Lines file: one pass per line, with `judges` that have `order` and `ranking`."""
    panels = []
    for number, line in enumerate(read_text(path, "ballots").splitlines(), 1):
        if line.strip():
            try:
                panels += _read_panel(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError):
                raise InvalidInput(
                    f"{path} line {number} is no recorded pass; give `judges`, each with "
                    "`order` and `ranking`"
                ) from None
    return panels


def votes_of_judge(panels: Sequence[PanelVotes], judge: str | None) -> list[PanelVotes]:
    """Only the votes of one model; all of them where none is named."""
    if judge is None:
        return list(panels)
    panels_of_judge = []
    for panel in panels:
        panels_of_judge += _panel(panel.run, [vote for vote in panel.votes if vote.judge == judge])
    if not panels_of_judge:
        judges = sorted({vote.judge for panel in panels for vote in panel.votes})
        raise InvalidInput(f"no ballots by `{judge}`; there are ballots by {', '.join(judges)}")
    return panels_of_judge


def _read_panel(line: dict[str, Any]) -> list[PanelVotes]:
    model = str(line.get("judge_model") or "unknown")
    votes = [
        RankedVote(tuple(judge["order"]), tuple(judge["ranking"]), model)
        for judge in line["judges"] or []
        if judge and judge["ranking"]
    ]
    run = "/".join(str(line[name]) for name in ("experiment", "run") if line.get(name) is not None)
    return _panel(run, votes)


def _panel(run: str, votes: Sequence[RankedVote]) -> list[PanelVotes]:
    """One panel, or none where fewer than two judges ranked all three texts."""
    full = [vote for vote in votes if sorted(vote.ranking) == sorted(vote.order) == sorted(SLOTS)]
    return [PanelVotes(run, tuple(full))] if len(full) > 1 else []
