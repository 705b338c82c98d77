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


class Vote(NamedTuple):
    """What one judge saw, first to last, and how it ranked that, best first."""

    order: tuple[str, ...]
    ranking: tuple[str, ...]
    judge: str
    """The model that judged."""


class Sitting(NamedTuple):
    """The votes of one pass on A, B and AB."""

    run: str
    votes: tuple[Vote, ...]


def from_events(run: str, events: Iterable[AnyEvent]) -> list[Sitting]:
    """The panels of a recorded run; its playoff is left out, being over other texts."""
    cast = [event for event in events if isinstance(event, BallotCast)]
    sittings = []
    for _, panel in groupby(cast, key=lambda ballot: ballot.stage):
        votes = [Vote(each.order, each.ranking, each.model) for each in panel if each.ranking]
        sittings += _sitting(run, votes)
    return sittings


def from_file(path: Path) -> list[Sitting]:
    """The panels of a JSON Lines file: one pass a line, with `judges` that have `order` and `ranking`."""
    sittings = []
    for number, line in enumerate(read_text(path, "ballots").splitlines(), 1):
        if line.strip():
            try:
                sittings += _recorded(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError):
                raise InvalidInput(
                    f"{path} line {number} is no recorded pass; give `judges`, each with "
                    "`order` and `ranking`"
                ) from None
    return sittings


def of_judge(sittings: Sequence[Sitting], judge: str | None) -> list[Sitting]:
    """Only the votes of one model; all of them where none is named."""
    if judge is None:
        return list(sittings)
    kept = []
    for sitting in sittings:
        kept += _sitting(sitting.run, [vote for vote in sitting.votes if vote.judge == judge])
    if not kept:
        known = sorted({vote.judge for sitting in sittings for vote in sitting.votes})
        raise InvalidInput(f"no ballots by `{judge}`; there are ballots by {', '.join(known)}")
    return kept


def _recorded(line: dict[str, Any]) -> list[Sitting]:
    model = str(line.get("judge_model") or "unknown")
    votes = [
        Vote(tuple(judge["order"]), tuple(judge["ranking"]), model)
        for judge in line["judges"] or []
        if judge and judge["ranking"]
    ]
    run = "/".join(str(line[name]) for name in ("experiment", "run") if line.get(name) is not None)
    return _sitting(run, votes)


def _sitting(run: str, votes: Sequence[Vote]) -> list[Sitting]:
    """One sitting, or none where fewer than two judges ranked all three texts."""
    full = [vote for vote in votes if sorted(vote.ranking) == sorted(vote.order) == sorted(SLOTS)]
    return [Sitting(run, tuple(full))] if len(full) > 1 else []
