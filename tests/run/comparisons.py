"""A comparison that never was, as the journal would hold it."""

from __future__ import annotations

from msgspec.structs import replace
from tests.cli.made_up import verdict
from tests.run.runs import settings

from autoreason.events import (
    AnyEvent,
    BallotCast,
    PanelDecided,
    RunStarted,
    Verdict,
)
from autoreason.prompts import built_in
from autoreason.task import Entry, Task


def comparison() -> list[AnyEvent]:
    """A run with two panels over texts that came with its task."""
    entries = (
        Entry(name="long", text="A long text.", stage="panel/1"),
        Entry(name="short", text="Short.", stage="panel/1"),
    )
    task = Task(brief="Write about tea.", entries=entries)
    prompts = built_in().sources
    return [
        RunStarted(task=task, settings=settings(), prompts=prompts, version="0"),
        *(_vote("panel/1", seat, "short", "long") for seat in range(2)),
        _vote("panel/1", 2, "long", "short"),
        PanelDecided(stage="panel/1", verdict=_verdict("short")),
        _vote("panel/2", 0, "short", "long"),
        PanelDecided(stage="panel/2", verdict=None),
    ]


def duel() -> list[AnyEvent]:
    """Three judges see two texts both ways round; the last of them takes whichever comes first."""
    entries = (Entry(name="long", text="A long text."), Entry(name="short", text="Short."))
    task = Task(brief="Write about tea.", entries=entries)
    prompts = built_in().sources
    return [
        RunStarted(task=task, settings=settings(), prompts=prompts, version="0"),
        *(_vote("pair/1", seat, "short", "long") for seat in range(5)),
        _vote("pair/1", 5, "long", "short"),
        PanelDecided(stage="pair/1", verdict=_verdict("short")),
    ]


def _vote(stage: str, seat: int, *ranking: str) -> BallotCast:
    return BallotCast(
        stage=stage, seat=seat, model="a/b", order=ranking, labels=("P", "Q"), ranking=ranking
    )


def _verdict(winner: str) -> Verdict:
    return replace(verdict(2, 1, 0), winner=winner, scores={}, agreement=None)
