"""A comparison that never was, as the journal would hold it."""

from __future__ import annotations

from tests.run.runs import settings

from autoreason.events import (
    AnyEvent,
    BallotCast,
    DraftReady,
    PanelHeld,
    PartTold,
    RunStarted,
    Verdict,
)
from autoreason.prompts import built_in
from autoreason.task import Entry, Task


def comparison() -> list[AnyEvent]:
    """A run that judges finished texts: two that came with the task, and what one part of it wrote."""
    entries = (
        Entry(name="long", text="A long text.", stage="panel/1"),
        Entry(name="short", text="Short.", stage="panel/1"),
        Entry(name="human", text="Typed by hand.", stage="panel/2"),
    )
    task = Task(brief="Write about tea.", entries=entries)
    prompts = built_in().sources
    started = RunStarted(task=task, settings=settings(), prompts=prompts, version="0")
    part: list[AnyEvent] = [DraftReady(text="Written by a model.", words=4, given=False)]
    return [
        started,
        *(PartTold(part="tournament", event=event) for event in part),
        *(_vote("panel/1", seat, "short", "long") for seat in range(2)),
        _vote("panel/1", 2, "long", "short"),
        PanelHeld(stage="panel/1", verdict=_verdict("short")),
        *(_vote("panel/2", seat, "tournament", "human") for seat in range(3)),
        PanelHeld(stage="panel/2", verdict=_verdict("tournament")),
        _vote("panel/3", 0, "short", "human"),
        PanelHeld(stage="panel/3", verdict=None),
    ]


def _vote(stage: str, seat: int, *ranking: str) -> BallotCast:
    return BallotCast(
        stage=stage, seat=seat, model="a/b", order=ranking, labels=("P", "Q"), ranking=ranking
    )


def _verdict(winner: str) -> Verdict:
    return Verdict(
        winner=winner,
        scores={},
        margin=1,
        chance=0.5,
        tied=False,
        ballots=3,
        invalid=0,
        agreement=None,
    )
