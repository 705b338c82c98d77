"""What is recorded, as typed values, and how it is encoded: a long text of a run is stored once."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from importlib import import_module
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.events import CORE_EVENTS, FINISHED, AnyEvent, Status
from autoreason.exchange import Outcome, Query, Reply, Request, Role, Spent
from autoreason.fields import plainly
from autoreason.journal import sql
from autoreason.task import Entry, Work

_MARK = "\x01"
"""Encloses the digest of a text; JSON escapes control characters, so it never contains one."""
_MIN_LENGTH = 200
_WORTH_CUTTING = 400
"""Characters of JSON from which texts are looked for in it."""
_RECORDED_ONCE = ("settings", "prompts")
_HOLDERS = (str, tuple, dict, Struct)
"""Types of values that may hold texts."""
_MAX_KNOWN = 8_000_000
"""Characters of texts that a writer remembers."""
# A line that separates texts in a prompt, as JSON. A pattern that begins with a choice is ten times slower.
_BOUNDARY = re.compile(r"<<<[^\\<>]{1,100}>>>(?:\\n)?")
_NEW_LINE = "\\n"
_encode = msgspec.json.Encoder().encode


class SharedTexts:
    """The part of a connection that stores long texts, and remembers which are there."""

    execute: Callable[..., Any]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._known: dict[str, dict[str, str]] = {}
        self._size = 0

    def share(self, run: str, parts: tuple[str, ...]) -> str:
        known = self._known.setdefault(run, {})
        written = list(parts)
        for place in range(1, len(parts), 2):
            text = parts[place]
            digest = known.get(text)
            if digest is None:
                digest = known[text] = digest_of(text)
                self._size += len(text)
                self.execute(sql.INSERT["texts"], (run, digest, text))
            written[place] = f"{_MARK}{digest}{_MARK}"
        return "".join(written)

    def forget(self, run: str | None = None) -> None:
        """Whether texts are there is no longer known: those of a new run, or of all where something was undone."""
        if run:
            self._known.pop(run, None)
        else:
            self._known.clear()
            self._size = 0

    def forget_some(self) -> None:
        """Between two transactions: remember no more than is reasonable."""
        if self._size > _MAX_KNOWN:
            self.forget()

    def fill(self, run: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        texts = (x for row in rows for x in row if isinstance(x, str) and _MARK in x)
        wanted = {digest for text in texts for digest in text.split(_MARK)[1::2]}
        if not wanted:
            return rows
        found = dict(self.execute(sql.TEXTS, (run, sql.as_list(wanted))))
        return [tuple(_filled(value, found) for value in row) for row in rows]


def digest_of(text: str) -> str:
    """The name under which a text is stored."""
    return blake2b(text.encode(), digest_size=12).hexdigest()


def with_digests(stored: str) -> str:
    """JSON that can be read, with the digest of each long text in its place."""
    return stored.replace(_MARK, "")


def _filled(stored: Any, texts: dict[str, str]) -> Any:
    if not isinstance(stored, str) or _MARK not in stored:
        return stored
    parts = stored.split(_MARK)
    try:
        parts[1::2] = [texts[digest] for digest in parts[1::2]]
    except KeyError:
        raise ValueError("a text is missing") from None
    return "".join(parts)


def cut(json: str, texts: Iterable[str]) -> str | tuple[str, ...]:
    """JSON in parts, of which every second is one of these texts or stands between two boundaries in one."""
    parts: list[str] = []
    at = end = 0
    for text in texts:
        if len(text) >= _MIN_LENGTH:
            written = _encode(text)[1:-1].decode()
            # By its first characters: searching for all of a long text takes longer to prepare.
            start = json.find(written[:_MIN_LENGTH], at)
            if start >= 0 and json.startswith(written, start):
                at = start + len(written)
                for first, last in _between_boundaries(json, start, at):
                    parts += (json[end:first], json[first:last])
                    end = last
    return (*parts, json[end:]) if parts else json


def _between_boundaries(json: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for found in _BOUNDARY.finditer(json, start, end):
        # A boundary is a line of its own, and its line break belongs to neither text.
        before = found.start() - 2 * json.endswith(_NEW_LINE, start, found.start())
        if before - start >= _MIN_LENGTH:
            yield start, before
        start = found.end()
    if end - start >= _MIN_LENGTH:
        yield start, end


CommandKind = Literal["stop", "accept", "guide"]
read_request = msgspec.json.Decoder(Request).decode
read_reply = msgspec.json.Decoder(Reply).decode


class RunRow(Struct, frozen=True, kw_only=True):
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
        return self.status in FINISHED

    @property
    def state(self) -> str:
        """The status in one word, as lists show it."""
        if self.live:
            return "live"
        return "killed" if self.status == "running" else self.status


class RecordedEvent(NamedTuple):
    seq: int
    at: datetime
    event: AnyEvent


class RecordedTime(NamedTuple):
    at: datetime
    start: bool = False
    """Whether a process started or resumed the run."""


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
    key: str
    role: Role
    model: str
    at: datetime


class Question(NamedTuple):
    """A request that is answered from outside."""

    token: str
    run: str
    key: str
    held_until: float | None
    """Until when the last reader has it alone, in seconds since 1970; None where nobody has read it."""
    times: int
    """How often it was read since its run last paused for that."""
    answer: str | None
    replied: bool
    """Whether its run has a reply, be it this answer or another."""
    status: Status
    """Of its run."""


class RecordedCall(NamedTuple):
    rowid: int
    at: datetime
    request: Request
    reply: Reply


class RunCommand(NamedTuple):
    id: int
    kind: CommandKind
    text: str
    at: datetime


def write(value: Any) -> str:
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"a {type(value).__name__} contains half of a character (a lone surrogate) and cannot be"
            " written down; save its source as UTF-8"
        ) from None


def _cut_all(value: Any) -> str | tuple[str, ...]:
    json = write(value)
    return json if len(json) < _WORTH_CUTTING else cut(json, _texts_in(value))


def _texts_in(value: Any) -> list[str]:
    """The texts in a value that a run may record again, in the order of its JSON."""
    if isinstance(value, str):
        return [value] if len(value) >= _MIN_LENGTH else []
    if isinstance(value, tuple):
        return [each.text for each in value if isinstance(each, Entry)]
    inner: Iterable[Any] = value.values() if isinstance(value, dict) else ()
    if isinstance(value, Struct):
        inner = [getattr(value, name) for name in _fields_of(type(value))]
    return [text for each in inner if isinstance(each, _HOLDERS) for text in _texts_in(each)]


@cache
def _fields_of(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name not in _RECORDED_ONCE)


def write_text(text: str) -> str:
    """A text as a column has it, or refused where it cannot be stored: a shell may pass bytes that are not text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{text!r} is not UTF-8 text; type it again") from None
    # PostgreSQL cannot store it.
    return text.replace("\x00", "")


def event_row(run: str, seq: int, event: AnyEvent) -> tuple[Any, ...]:
    return (run, seq, type(event).__name__, now(), _cut_all(event))


def check_event(event: AnyEvent) -> None:
    """Refuse an event that could not be read again, because a caller gave a value of another type."""
    try:
        read_event(write(event))
    except (msgspec.ValidationError, TypeError) as error:
        raise InvalidInput(f"{plainly(error, type(event))}; change it") from None


class _Tag(msgspec.Struct):
    type: str


def read_event(payload: str | bytes) -> AnyEvent:
    name = _tag_decoder.decode(payload).type
    return _event_decoder(name).decode(payload)


_tag_decoder = msgspec.json.Decoder(_Tag)


@cache
def _event_decoder(name: str) -> msgspec.json.Decoder[AnyEvent]:
    return msgspec.json.Decoder(CORE_EVENTS.get(name) or _find_kind(name), dec_hook=_read_work)


def _read_work(kind: type, fields: Any) -> Any:
    """What is to be done, as the room that defines it has it."""
    if kind is not Work:
        raise NotImplementedError(kind)
    return msgspec.convert(fields, _find_kind(fields["type"]), dec_hook=_read_work)


_ELSEWHERE = {
    "autoreason.artifacts.research_history": (
        *("NoiseMeasured", "TrialDecided", "SearchCut", "FinalistsMeasured", "EndTested"),
    ),
    "autoreason.artifacts.research_task": ("ResearchTask", "TextMetric"),
    "autoreason.programs.assignment": ("Assignments",),
    "autoreason.programs.events": ("ProgramExamined", "Solved"),
    "autoreason.studies.advice_measures": ("JudgeChecked", "PilotFinished"),
    "autoreason.studies.host_check": ("HostChecked",),
    "autoreason.studies.knowledge_test": ("RecordedPairs",),
    "autoreason.studies.lab_suite": ("CellFinished", "SuiteWork"),
}
"""Events and kinds of work that other rooms define, which are found by name."""


def _find_kind(name: str) -> type:
    """A class of another room, imported when a record has one."""
    home = next((module for module, names in _ELSEWHERE.items() if name in names), None)
    if home is None:
        raise msgspec.ValidationError(f"{name} is not known")
    kind: type = getattr(import_module(home), name)
    return kind


def reply_row(run: str, request: Request, reply: Reply) -> tuple[Any, ...]:
    usage = reply.usage
    return (
        run,
        request.key,
        request.role,
        request.model,
        reply.outcome.value,
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        None if reply.cost is None else str(reply.cost),
        reply.seconds,
        now(),
        cut(write(request), [message.text for message in request.messages]),
        # What judges say is never quoted in a later request, nor is a reply to a schema, which is parsed.
        write(reply)
        if request.role == "judge" or request.schema
        else cut(write(reply), [reply.text]),
    )


def question_row(token: str, run: str, request: Request) -> tuple[Any, ...]:
    shared = cut(write(request), [message.text for message in request.messages])
    return (run, request.key, token, None, 0, shared, None)


def answer_row(run: str, query: Query[Any], answer: Any) -> tuple[Any, ...]:
    """An answer to a query as it is inserted: there is no model, and nothing was spent."""
    no_usage_and_cost = (None,) * 6
    return (
        *(run, query.key, query.kind, "", "", *no_usage_and_cost, 0.0, now()),
        _cut_all(query),
        _cut_all(answer),
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def spent_from(row: Sequence[Any]) -> Spent:
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


def run_from(row: tuple[Any, ...], spent: Spent, live: frozenset[str]) -> RunRow:
    run, title, status, created, updated, version, forked_from, has_cells = row
    if status == "waiting":
        # What an answer takes, as it is written somewhere else now, nobody knows.
        spent = replace(spent, unmetered=max(1, spent.unmetered), unpriced=max(1, spent.unpriced))
    return RunRow(
        id=run,
        title=title,
        status=status,
        created=datetime.fromisoformat(created),
        updated=datetime.fromisoformat(updated),
        version=version,
        forked_from=forked_from,
        spent=spent,
        live=run in live,
        has_cells=bool(has_cells),
    )
