"""What can be read from a journal, as typed values."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from time import time_ns
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from autoreason.events import FINISHED, AnyEvent, Status
from autoreason.exchange import Outcome, Reply, Request, Role, Spent

CommandKind = Literal["stop", "accept", "guide"]


class RunRow(Struct, frozen=True, kw_only=True):
    """One run as a list shows it."""

    id: str
    title: str
    status: Status
    created: datetime
    updated: datetime
    version: str
    forked_from: str | None
    spent: Spent
    live: bool
    """A process has it locked now; a `running` run that is not live was killed."""
    has_cells: bool = False
    """Whether it is a suite, whose cells are runs of their own."""

    @property
    def finished(self) -> bool:
        """Whether it has delivered its text or its result."""
        return self.status in FINISHED

    @property
    def state(self) -> str:
        """The status in one word, as lists show it."""
        if self.live:
            return "live"
        return "killed" if self.status == "running" else self.status


class RecordedEvent(NamedTuple):
    """An event with its number and time."""

    seq: int
    at: datetime
    event: AnyEvent


class RecordedTime(NamedTuple):
    """When an event or a reply was recorded."""

    at: datetime
    start: bool = False
    """Whether a process started or resumed the run."""


class RecordedReply(NamedTuple):
    """A reply, and the request it answers."""

    request: Request
    reply: Reply


class RecordedAnswer(NamedTuple):
    """An answer to a query, and the query; both in built-in types, for the journal does not know all kinds."""

    kind: str
    question: Any
    answer: Any


class ReplyText(NamedTuple):
    """A reply without its request."""

    key: str
    role: Role
    outcome: Outcome
    text: str | None
    """None where only the texts of another role were asked for."""


class PendingRequest(NamedTuple):
    """A request that was sent and has no reply."""

    key: str
    role: Role
    model: str
    at: datetime


class RecordedCall(NamedTuple):
    """A request with its reply."""

    rowid: int
    at: datetime
    request: Request
    reply: Reply


class Command(NamedTuple):
    """What a person typed in another terminal."""

    id: int
    kind: CommandKind
    text: str
    at: datetime


def escape(text: str) -> str:
    """A text without the character 0, which PostgreSQL cannot store; JSON never contains it."""
    return text.replace("\x02", "\x022").replace("\x00", "\x020")


def unescape(text: str) -> str:
    """The text as it was."""
    return _ESCAPED.sub(lambda found: "\x00" if found[1] == "0" else "\x02", text)


_ESCAPED = re.compile("\x02([02])")


def now() -> str:
    """The time as the journal writes it."""
    moment = time_ns() // 1_000_000
    # Called several times per request: only the milliseconds differ within a second.
    return f"{_second(moment // 1000)}.{moment % 1000:03}+00:00"


@lru_cache(maxsize=4)
def _second(stamp: int) -> str:
    return datetime.fromtimestamp(stamp, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def spent_from(row: tuple[Any, ...]) -> Spent:
    """The sums as `sql.SPENT` gives them."""
    calls, *tokens, unmetered, cost, unpriced, seconds = row
    names = ("input", "output", "cache_read", "cache_write", "reasoning")
    return Spent(
        calls=calls,
        **dict(zip(names, map(int, tokens), strict=True)),
        unmetered=unmetered,
        known_cost=Decimal(cost or 0),
        unpriced=unpriced,
        seconds=seconds,
    )


def run_from(row: tuple[Any, ...], live: frozenset[str]) -> RunRow:
    """A run as `sql.RUNS` gives it."""
    run, title, status, created, updated, version, forked_from, _rowid, has_cells, *spent = row
    return RunRow(
        id=run,
        title=unescape(title),
        status=status,
        created=datetime.fromisoformat(created),
        updated=datetime.fromisoformat(updated),
        version=version,
        forked_from=forked_from,
        spent=spent_from(tuple(spent)),
        live=run in live,
        has_cells=bool(has_cells),
    )
