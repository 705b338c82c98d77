"""How events, requests and replies are encoded, and how older ones are decoded."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import msgspec

from autoreason.errors import InvalidInput, JournalError, plainly
from autoreason.events import EVENTS_VERSION, AnyEvent, CoreEvent
from autoreason.exchange import Query, Reply, Request
from autoreason.extensions import find_class
from autoreason.journal.connections import PackedJson
from autoreason.journal.migrations import STEPS, Step, upgrade_answer
from autoreason.journal.rows import RecordedAnswer, escape, now
from autoreason.journal.shared_texts import pack, pack_value
from autoreason.task import Work

_SMALL = 400
"""Characters."""
_encoder = msgspec.json.Encoder()
_request_decoder = msgspec.json.Decoder(Request)
_reply_decoder = msgspec.json.Decoder(Reply)

read_request = _request_decoder.decode
read_reply = _reply_decoder.decode


def write(value: Any) -> str:
    """A value as JSON text."""
    try:
        return _encoder.encode(value).decode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"a {type(value).__name__} contains half of a character (a lone surrogate) and cannot be"
            " written down; save its source as UTF-8"
        ) from None


def write_text(text: str) -> str:
    """A text as a column has it, or refused where it cannot be stored: a shell may pass bytes that are no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{text!r} is not UTF-8 text; type it again") from None
    return escape(text)


def event_row(run: str, seq: int, event: AnyEvent) -> tuple[Any, ...]:
    """An event as `sql.INSERT_EVENT` takes it."""
    return (run, seq, type(event).__name__, EVENTS_VERSION, now(), _write_packed(event))


def _write_packed(value: Any) -> str | PackedJson:
    json = write(value)
    # Most values are too small to contain a long text.
    return json if len(json) < _SMALL else pack_value(value, json)


def check_event(event: AnyEvent) -> None:
    """Refuse an event that could not be read again, because a caller gave a value of another type."""
    try:
        _decode(write(event))
    except (msgspec.ValidationError, TypeError) as error:
        raise InvalidInput(f"{plainly(error)}; change it") from None


def read_event(payload: str, version: int, steps: tuple[Step, ...] = STEPS) -> AnyEvent:
    """An event as it is understood today, whatever version wrote it."""
    newest = len(steps) + 1
    if version == newest:
        return _decode(payload)
    if version > newest:
        raise JournalError(
            f"an event was written by a newer autoreason (version {version}, this one knows"
            f" {newest}); upgrade autoreason"
        )
    fields = msgspec.json.decode(payload)
    for step in steps[version - 1 :]:
        fields = step(fields)
    return _decode(_encoder.encode(fields))


class _Tag(msgspec.Struct):
    """The name of an event's class."""

    type: str


def _decode(payload: str | bytes | msgspec.Raw) -> AnyEvent:
    name = _tag_decoder.decode(payload).type
    return _event_decoder(name).decode(payload)


_tag_decoder = msgspec.json.Decoder(_Tag)
_CORE = {kind.__name__: kind for kind in get_args(CoreEvent)}


@cache
def _event_decoder(name: str) -> msgspec.json.Decoder[AnyEvent]:
    return msgspec.json.Decoder(_CORE.get(name) or _find_kind(name), dec_hook=_read_work)


def _read_work(kind: type, fields: Any) -> Any:
    """What is to be done, as the room that defines it has it."""
    if kind is not Work:
        raise NotImplementedError(kind)
    return msgspec.convert(fields, _find_kind(fields["type"]), dec_hook=_read_work)


def _find_kind(name: str) -> type:
    kind = find_class(name)
    if kind is None:
        raise msgspec.ValidationError(f"{name} is not known")
    return kind


def reply_row(run: str, request: Request, reply: Reply) -> tuple[Any, ...]:
    """A reply as `sql.INSERT_REPLY` takes it."""
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
        pack(write(request), [message.text for message in request.messages]),
        # A reply to a schema is parsed, and never quoted in a later request.
        write(reply) if request.schema else pack(write(reply), [reply.text]),
    )


def answer_row(run: str, query: Query[Any], answer: Any) -> tuple[Any, ...]:
    """An answer to a query as `sql.INSERT_REPLY` takes it: there is no model, and nothing was spent."""
    no_usage_and_cost = (None,) * 6
    return (
        *(run, query.key, query.kind, "", "", *no_usage_and_cost, 0.0, now()),
        *map(_write_packed, (query, answer)),
    )


def read_answer(kind: str, question: str, answer: str) -> RecordedAnswer:
    """A recorded answer, whatever version wrote it."""
    return RecordedAnswer(
        *upgrade_answer(kind, msgspec.json.decode(question), msgspec.json.decode(answer))
    )
