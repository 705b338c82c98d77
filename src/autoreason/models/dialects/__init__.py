"""The wire formats: a request as each provider expects it, and its answer as a `Reply`. Pure, no I/O."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec.structs import replace

from autoreason.characters import is_blank
from autoreason.exchange import REPEATS, Message, Outcome, Reply, Request, Usage
from autoreason.models.providers import DialectName, Quirks, Secret


def find_dialect(name: DialectName) -> Dialect:
    module = import_module(f"{__name__}.{name.partition('_')[0]}")
    dialect: Dialect = getattr(module, name.upper())
    return dialect


Headers = dict[str, str | Secret]
T = TypeVar("T")
_MAX_COUNT = 2**53
"""Beyond it a number in JSON is not exact, and no count of tokens is so large."""


class UnreadableReply(Exception):
    """A reply that is not what its format promises, or ends before its end."""


class Reducer(ABC):
    """Puts a reply together, from the events of a stream or from one body."""

    cut: ClassVar[frozenset[str]] = frozenset()
    """Finish reasons of a text that is not complete."""
    refusals: ClassVar[frozenset[str]] = frozenset()
    """Finish reasons of a model that will not answer."""

    def __init__(self) -> None:
        self.whole = False
        """All of the text has come; at most the accounts are missing."""
        self.ended = False
        """The end mark has arrived: whatever the server does with the connection, this is the reply."""
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.finish_reason = ""
        self.refused = False
        self.accounts: Any = None

    @abstractmethod
    def feed(self, payload: bytes) -> str:
        """Take one event; give the text in it that can be shown."""

    @abstractmethod
    def read(self, payload: bytes) -> None:
        """Take a reply that came in one piece."""

    @abstractmethod
    def usage(self) -> Usage:
        """Tokens in our terms."""

    def cost(self) -> Decimal | None:
        """What the provider charges, where it says so."""
        return None

    def is_cut(self, text: str) -> bool:  # noqa: ARG002
        return self.finish_reason in self.cut

    def finish(self, address: str) -> Reply:
        """The whole reply, or `UnreadableReply` if it ended early."""
        if not (self.whole or self.finish_reason):
            raise UnreadableReply("the reply ended before its end mark")
        text = "".join(self.text)
        outcome = Outcome.EMPTY if is_blank(text) else Outcome.OK
        if self.is_cut(text):
            outcome = Outcome.TRUNCATED
        if self.refused or self.finish_reason in self.refusals:
            outcome = Outcome.REFUSED
        return Reply(
            outcome=outcome,
            text=text,
            model=address,
            reasoning="".join(self.reasoning).strip(),
            finish=self.finish_reason,
            usage=self.usage(),
            cost=self.cost(),
        )


class _ModelEntry(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_ModelEntry] | None = None


def read_models(payload: bytes) -> list[str]:
    """The names a server offers; a few send the list without its wrapping."""
    models = msgspec.json.decode(payload, type=_ModelList | list[_ModelEntry])
    return [each.id for each in (models if isinstance(models, list) else models.data or [])]


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One wire format, as pure functions."""

    path: Callable[[str, bool], str]
    """Where to send a request, below the base URL, from the model's name and whether to stream."""
    headers: Callable[[Secret | None], Headers]
    body: Callable[[Request, str, Quirks, bool], dict[str, Any]]
    """What to send, from the request, the model's name, its quirks and whether to stream."""
    reducer: Callable[[], Reducer]
    models_path: str
    read_models: Callable[[bytes], list[str]] = read_models

    def read(self, payload: bytes, address: str) -> Reply:
        reducer = self.reducer()
        reducer.read(payload)
        return reducer.finish(address)


def adapt(request: Request, quirks: Quirks) -> Request:
    """The request without what a model does not take; a schema it cannot keep to is asked for in words."""
    return replace(
        request,
        messages=messages_of(request, quirks),
        temperature=None if quirks.no_temperature else request.temperature,
        seed=None if quirks.no_seed else request.seed,
        effort=None if quirks.no_effort else request.effort,
        schema=None if quirks.no_schema else request.schema,
    )


def messages_of(request: Request, quirks: Quirks) -> tuple[Message, ...]:
    """The messages to send; where no schema can be enforced, the last user message asks for the form."""
    messages = request.in_words() if quirks.no_schema else request.messages
    if not quirks.no_system:
        return messages
    return tuple(
        Message("user", each.text, each.stable) if each.speaker == "system" else each
        for each in messages
    )


# Accounts. A reply is paid for, so an odd count is unknown rather than an error.


def fields_of(value: Any) -> dict[str, Any]:
    """A JSON object's fields; none where the value is not an object."""
    return value if isinstance(value, dict) else {}


def count(value: Any) -> int | None:
    """A number of tokens, also where it is written as `3.0`."""
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def money(value: Any) -> Decimal | None:
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


def decoder(kind: type[T]) -> Callable[[bytes], T]:
    """Reads JSON into a type; half a character, where a server cut one in two, becomes a `?`."""
    strict = msgspec.json.Decoder(kind).decode

    def decode(payload: bytes) -> T:
        try:
            return strict(payload)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            with suppress(ValueError):
                whole = json.dumps(json.loads(payload), ensure_ascii=False)
                return strict(whole.encode("utf-8", "replace"))
            raise

    return decode


_TAILS = (4_000, 8_000)
"""Characters. Refrains, tables, forms and lists of zeros that were asked for are shorter."""
_TIMES = 5
_INTERVAL = 500
"""Characters between two checks."""


def repeats_itself(text: str) -> bool:
    """Whether thousands of characters at the end are one block, at least five times over, and nothing else."""
    for tail in (text[-size:] for size in _TAILS if len(text) >= size):
        # A text repeats every n characters if it equals itself moved by n; the search is linear.
        moved = tail.find(tail[: -(len(tail) // _TIMES)], 1)
        if moved > 0 and tail.startswith(tail[moved:]):
            return True
    return False


def check_repetition(reply: Reply) -> Reply:
    """A reply that came whole; one that repeats itself at the end is not a result."""
    if reply.outcome in (Outcome.OK, Outcome.TRUNCATED) and repeats_itself(reply.text):
        return replace(reply, outcome=Outcome.TRUNCATED, finish=REPEATS)
    return reply


class LoopDetector:
    """Looks at a text while it streams."""

    def __init__(self) -> None:
        self._tail = ""
        self._new: list[str] = []
        self._unseen = 0

    def feed(self, piece: str) -> bool:
        """Take the next piece; True where the text repeats itself."""
        self._new.append(piece)
        self._unseen += len(piece)
        if self._unseen < _INTERVAL:
            return False
        self._tail = "".join((self._tail, *self._new))[-max(_TAILS) :]
        self._new.clear()
        self._unseen = 0
        return repeats_itself(self._tail)
