"""What a scheduler and its processes say to each other, one JSON object a line."""

from __future__ import annotations

from decimal import Decimal

import msgspec
from msgspec import Struct

from autoreason.events import EVENTS_VERSION, RunStarted
from autoreason.exchange import Reply
from autoreason.journal import codec
from autoreason.run.cells import CellRun
from autoreason.studies.lab.lab_suite import CellResult


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
    """Whether its calls are paid from a budget that the scheduler keeps."""


class Granted(Message, frozen=True, kw_only=True):
    """A reservation is made, or cannot be made for a reason."""

    run: str
    number: int
    refusal: str = ""
    limit: str | None = None


class StopCells(Message, frozen=True):
    """No new calls; replies on their way are still taken in."""


class Reserve(Message, frozen=True, kw_only=True):
    """A call's upper bound is to be reserved."""

    run: str
    number: int
    tokens: int
    cost: Decimal | None


class Settle(Message, frozen=True, kw_only=True):
    """A call is answered; the reply is without its text."""

    run: str
    number: int
    reply: Reply


class Release(Message, frozen=True, kw_only=True):
    """A call left no reply."""

    run: str
    number: int


class CellEnded(Message, frozen=True, kw_only=True):
    """A cell ended or paused, or could not be run for a reason."""

    run: str
    result: CellResult | None = None
    refusal: str = ""


ToWorker = Opening | StartCell | Granted | StopCells
FromWorker = Reserve | Settle | Release | CellEnded
read_to_worker = msgspec.json.Decoder(ToWorker).decode
read_from_worker = msgspec.json.Decoder(FromWorker).decode


def line(message: Message) -> bytes:
    """A message as it is sent."""
    return msgspec.json.encode(message) + b"\n"


def start_cell(cell: CellRun, *, limited: bool) -> StartCell:
    """A cell for another process."""
    started = RunStarted(task=cell.task, settings=cell.settings, prompts={}, version="")
    written = codec.write(started)
    return StartCell(run=cell.run, part=cell.part, started=written, limited=limited)


def read_cell(message: StartCell) -> CellRun:
    """The cell that was sent."""
    started = codec.read_event(message.started, EVENTS_VERSION)
    assert isinstance(started, RunStarted)
    return CellRun(run=message.run, part=message.part, task=started.task, settings=started.settings)
