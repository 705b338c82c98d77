"""What a scheduler, its gate and its processes say to each other, each a JSON object."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from autoreason.events import RunStarted
from autoreason.exchange import Reply
from autoreason.journal import Journal, codec
from autoreason.models.budget import CostBound
from autoreason.paths import ServerUrl
from autoreason.run.cells import CellRun
from autoreason.settings import Settings
from autoreason.studies.lab.lab_suite import CellResult

Sign = Literal["well", "refused", "other"]
"""What a call says of its provider: more may be sent, there are too many, or nothing."""


class Message(Struct, frozen=True, tag_field="type", tag=True):
    """Anything that is said."""


class Opening(Message, frozen=True, kw_only=True):
    """The first: which journal, and which servers."""

    journal: str
    base_url: dict[str, str] | str | None
    allow_http: bool


class StartCell(Message, frozen=True, kw_only=True):
    """Run a cell, or go on with it."""

    run: str
    part: str
    started: str
    """Its task and settings, as the journal writes them."""
    limited: bool
    """Whether its calls are paid from a budget that the gate keeps."""
    seconds_left: float | None
    """Of the time for all cells."""


class StopCells(Message, frozen=True):
    """No new calls; replies on their way are still taken in."""


class CellEnded(Message, frozen=True, kw_only=True):
    """A cell ended or paused, or could not be run for a reason."""

    run: str
    result: CellResult | None = None
    refusal: str = ""
    reached: str = ""
    """Why a call could not be paid from the budget of all cells."""
    limit: str | None = None


class Enter(Message, frozen=True, kw_only=True):
    """A call needs a place at a provider."""

    number: int
    """One for everything that a process asks for."""
    provider: str


class Reserve(Message, frozen=True, kw_only=True):
    """A call's upper bound is to be reserved."""

    number: int
    run: str
    upper: CostBound


class Settle(Message, frozen=True, kw_only=True):
    """A call is answered; the reply is without its text."""

    number: int
    reply: Reply


class Release(Message, frozen=True, kw_only=True):
    """A place or money is not needed any more, or is not waited for."""

    number: int
    sign: Sign = "other"
    retry_after: float | None = None


class Granted(Message, frozen=True, kw_only=True):
    """A place or money is granted, or cannot be for a reason."""

    number: int
    refusal: str = ""
    limit: str | None = None
    spare: bool = False
    """Whether places of the provider may be kept for the next call until they are recalled."""


class Recall(Message, frozen=True, kw_only=True):
    """Places of a provider that no call uses are needed elsewhere."""

    provider: str


ToGate = Enter | Reserve | Settle | Release
FromGate = Granted | Recall
ToWorker = Opening | StartCell | FromGate | StopCells
FromWorker = ToGate | CellEnded
read_to_worker = msgspec.json.Decoder(ToWorker).decode
read_from_worker = msgspec.json.Decoder(FromWorker).decode


def line(message: Message) -> bytes:
    """A message as it is sent through a pipe."""
    return msgspec.json.encode(message) + b"\n"


def opening(journal: Journal, settings: Settings) -> Opening:
    """The first message to a process; where it goes, nobody else reads the password of a server."""
    place = journal.place
    return Opening(
        journal=place.url if isinstance(place, ServerUrl) else str(place),
        base_url=settings.base_url,
        allow_http=settings.allow_http,
    )


def start_cell(cell: CellRun, *, limited: bool) -> StartCell:
    """A cell for another process."""
    started = RunStarted(task=cell.task, settings=cell.settings, prompts={}, version="")
    written = codec.write(started)
    return StartCell(
        run=cell.run,
        part=cell.part,
        started=written,
        limited=limited,
        seconds_left=cell.seconds_left,
    )


def read_cell(message: StartCell) -> CellRun:
    """The cell that was sent."""
    started = codec.read_event(message.started)
    assert isinstance(started, RunStarted)
    return CellRun(run=message.run, part=message.part, task=started.task, settings=started.settings)
