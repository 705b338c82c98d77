"""What every wire format offers, and the few rules they share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, TypeVar

import msgspec

from autoreason.exchange import Message, Outcome, Reply, Request, Usage
from autoreason.models.api_keys import Secret
from autoreason.models.quirks import Quirks

Headers = dict[str, str | Secret]
Kind = TypeVar("Kind")
_MAX_COUNT = 2**53
"""Beyond it a number in JSON is not exact, and no count of tokens is so large."""


class UnreadableReply(Exception):
    """A reply that is not what its format promises, or ends before its end."""


class Reducer(Protocol):
    """Puts a streamed reply together."""

    whole: bool
    """All of the text has come; at most the accounts are missing."""
    ended: bool
    """The end mark has arrived: whatever the server does with the connection, this is the reply."""

    def feed(self, payload: bytes) -> str:
        """Take one event; give the text in it that can be shown."""
        ...

    def finish(self, address: str) -> Reply:
        """The whole reply, or `UnreadableReply` if the stream ended early."""
        ...


@dataclass(frozen=True)
class Dialect:
    """One wire format, as pure functions."""

    path: Callable[[str, bool], str]
    """Where to send a request, below the base URL, from the model's name and whether to stream."""
    headers: Callable[[Secret | None], Headers]
    body: Callable[[Request, str, Quirks, bool], dict[str, Any]]
    """What to send, from the request, the model's name, its quirks and whether to stream."""
    read: Callable[[bytes, str], Reply]
    """A reply from a body and the address it came from."""
    reducer: Callable[[], Reducer]
    models_path: str
    """Where the server lists its models."""
    read_models: Callable[[bytes], list[str]]


def outcome_of(text: str, *, cut: bool, refused: bool) -> Outcome:
    """How a reply ended, the gravest first."""
    if refused:
        return Outcome.REFUSED
    if cut:
        return Outcome.TRUNCATED
    return Outcome.OK if text.strip() else Outcome.EMPTY


def messages_of(request: Request, quirks: Quirks) -> tuple[Message, ...]:
    """The messages to send; where no schema can be enforced, the last user message asks for the form."""
    messages = request.messages
    if quirks.no_system:
        messages = tuple(
            Message("user", each.text, each.stable) if each.speaker == "system" else each
            for each in messages
        )
    if request.schema is None or not quirks.no_schema:
        return messages
    plain = request.schema.plain
    for place in reversed(range(len(messages))):
        if messages[place].speaker == "user":
            text = messages[place].text
            with_form = text if plain in text else f"{text}\n\n{plain}"
            return (*messages[:place], Message("user", with_form), *messages[place + 1 :])
    return (*messages, Message("user", plain))


# Accounts. A reply is paid for, so an odd count is unknown rather than an error.


def fields_of(value: Any) -> dict[str, Any]:
    """A JSON object's fields; none where the value is no object."""
    return value if isinstance(value, dict) else {}


def count(value: Any) -> int | None:
    """A number of tokens, also where it is written as `3.0`."""
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def money(value: Any) -> Decimal | None:
    """A sum in US dollars."""
    number = _number(value)
    return None if number is None else Decimal(str(number))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) and 0 <= value <= _MAX_COUNT else None


def word(value: Any) -> str:
    """The provider's word for something, also where it is a number."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def credible(usage: Usage, text: str) -> Usage:
    """Counts of 0 that cannot be are unknown: something was asked, and a text was written."""
    read = usage.input or None
    written = usage.output if usage.output or not text else None
    if (read, written) == (usage.input, usage.output):
        return usage
    return msgspec.structs.replace(usage, input=read, output=written)


def last_stable(messages: Sequence[Message]) -> int | None:
    """Where the part ends that comes again in other requests, so that it can be cached."""
    return max((place for place, each in enumerate(messages) if each.stable), default=None)


def turns(messages: Iterable[Message]) -> list[tuple[str, str]]:
    """Speaker and text by turns; consecutive messages of one speaker are joined with a blank line."""
    joined: list[tuple[str, str]] = []
    for message in messages:
        if joined and joined[-1][0] == message.speaker:
            joined[-1] = (message.speaker, f"{joined[-1][1]}\n\n{message.text}")
        else:
            joined.append((message.speaker, message.text))
    return joined


class _ModelEntry(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_ModelEntry] | None = None


def read_models(payload: bytes) -> list[str]:
    """The names a server offers; a few send the list without its wrapping."""
    models = msgspec.json.decode(payload, type=_ModelList | list[_ModelEntry])
    return [each.id for each in (models if isinstance(models, list) else models.data or [])]


def decoder(kind: type[Kind]) -> Callable[[bytes], Kind]:
    """Reads JSON into a type; half a character, where a server cut one in two, becomes a `?`."""
    strict = msgspec.json.Decoder(kind).decode

    def decode(payload: bytes) -> Kind:
        try:
            return strict(payload)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return strict(_replace_surrogates(payload))

    return decode


def _replace_surrogates(payload: bytes) -> bytes:
    try:
        content = json.loads(payload)
    except ValueError:
        return payload
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
