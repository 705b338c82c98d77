"""Requests to models, their replies, and typed outcomes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from operator import add
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, get_args, overload
from zlib import crc32

from msgspec import Struct, convert
from msgspec.structs import astuple, replace

A = TypeVar("A")
Role = Literal["author", "critic", "reviser", "synthesizer", "judge"]
"""What a model is asked to be."""
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model reasons before it answers, in the words most providers share."""
REPEATS = "repeats itself"
"""The finish reason of a reply that was stopped because it repeated itself."""


class Outcome(StrEnum):
    """How a call ended. Only `ok` is a result; the last three leave no reply at all."""

    OK = "ok"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    EMPTY = "empty"
    TIMEOUT = "timeout"
    PROVIDER_ERROR = "provider_error"
    OVER_BUDGET = "over_budget"


class Message(Struct, frozen=True):
    """One message of a conversation."""

    speaker: Literal["system", "user", "assistant"]
    text: str
    stable: bool = False
    """The same in many requests of a run, so that a provider may cache it. Comes first."""


def object_schema(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object that has these fields and no others."""
    required = {"required": [*fields], "additionalProperties": False}
    return {"type": "object", "properties": dict(fields), **required}


class Schema(Struct, frozen=True):
    """The shape an answer must have, and how to ask for it where no shape can be enforced."""

    name: str
    definition: dict[str, Any]
    """A JSON Schema that uses only what every provider understands."""
    plain: str
    """What to add to the prompt for a model that supports no schema."""


class Request(Struct, frozen=True, kw_only=True):
    """One question to one model, with a stable address."""

    role: Role
    key: str
    """The address within the run, such as `pass/3/judge/2/try/0`. The journal files the reply under it."""
    model: str
    """`provider/model`."""
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = None
    effort: Effort | None = None
    """How much to reason; None leaves it to the model."""
    schema: Schema | None = None
    seed: int | None = None
    """What the model draws from, where it takes a seed."""

    def in_words(self) -> tuple[Message, ...]:
        """The messages for a model that takes no schema: the last of the user's asks for the form in words."""
        if self.schema is None:
            return self.messages
        plain = self.schema.plain
        for place in reversed(range(len(self.messages))):
            if self.messages[place].speaker == "user":
                text = self.messages[place].text
                with_form = text if plain in text else f"{text}\n\n{plain}"
                return (
                    *self.messages[:place],
                    Message("user", with_form),
                    *self.messages[place + 1 :],
                )
        return (*self.messages, Message("user", plain))

    def renamed(self, key: str, **changes: Any) -> Request:
        """The same question under another key, for which the model draws anew."""
        seed = None if self.seed is None else seed_of(self.seed, key)
        return replace(self, key=key, seed=seed, **changes)


def seed_of(seed: int, key: str) -> int:
    """What a model draws from for a key: the same whenever a run asks this again, and another for every key."""
    # Google's is a signed number of 32 bits.
    return crc32(f"{seed}/{key}".encode()) >> 1


class Query(Struct, Generic[A], frozen=True, kw_only=True):
    """A question that no model answers and that costs nothing; recorded, so that it is answered only once.

    A class of queries has a `kind`, under which it is recorded, and the type of its answer as a parameter.
    """

    kind: ClassVar[str]
    deferred: ClassVar[bool] = False
    """Whether its answer is recorded together with whatever is recorded next, instead of at once."""
    free: ClassVar[bool] = True
    """Whether work on its answer costs nothing, so that a run that is stopped does not wait for it."""
    set_aside: ClassVar[bool] = False
    """Whether it was set aside for the end, so that it is asked also after a limit or a stop."""
    key: str

    @classmethod
    def read_answer(cls, recorded: Any) -> A:
        """A recorded answer as it was given."""
        (base,) = cls.__orig_bases__  # type: ignore[attr-defined]
        answer: A = convert(recorded, get_args(base)[0])
        return answer


class GuidanceQuery(Query[str], frozen=True, kw_only=True):
    """What a person wants the critic of a pass to look at; empty where there is nothing."""

    kind = "guidance"


class BudgetQuery(Query[str], frozen=True, kw_only=True):
    """What is left of the budget where that is too little for so many calls; empty where it is enough."""

    kind = "budget_check"
    deferred = True
    calls: int
    """Calls of the stage."""
    after: int
    """Calls that come after the last pass."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one call; None where the provider does not say."""

    input: int | None = None
    """Everything read, cached tokens included."""
    output: int | None = None
    """Everything written, reasoning included."""
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None

    @property
    def total(self) -> int:
        """Tokens that count against a budget."""
        return (self.input or 0) + (self.output or 0)

    @property
    def metered(self) -> bool:
        """Whether the provider reported how much was read and written."""
        return self.input is not None and self.output is not None


class Reply(Struct, frozen=True, kw_only=True):
    """What a model answered."""

    text: str
    outcome: Outcome = Outcome.OK
    model: str = ""
    """As the provider names it; empty where it does not say."""
    reasoning: str = ""
    """The model's thinking where the provider shows it; never part of the text."""
    finish: str = ""
    """The provider's own word for why it ended, or `REPEATS`."""
    usage: Usage = Usage()
    cost: Decimal | None = None
    """US dollars; None where the price is not known."""
    seconds: float = 0.0
    schema_refused: bool = False
    """The server refused the schema, so the form was asked for in words."""

    @property
    def needs_room(self) -> bool:
        """Whether it was cut off at the limit, so that more room may help; repetition fills any."""
        return self.outcome is Outcome.TRUNCATED and self.finish != REPEATS


class Spent(Struct, frozen=True, kw_only=True):
    """What the calls of a run took; sums are of what is known, and say how much is not."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    unmetered: int = 0
    """Calls whose provider did not say how many tokens they took."""
    known_cost: Decimal = Decimal(0)
    """US dollars, over the calls that have a price."""
    unpriced: int = 0
    """Calls whose price is not known."""
    seconds: float = 0.0
    """Waiting for models, calls side by side counted one by one."""

    @property
    def known_tokens(self) -> int:
        """Tokens read and written, as far as providers reported it."""
        return self.input + self.output

    @property
    def tokens(self) -> int | None:
        """Tokens read and written; None where those of any call are not known."""
        return None if self.unmetered else self.known_tokens

    @property
    def cost(self) -> Decimal | None:
        """US dollars; None where the price of any call is not known."""
        return None if self.unpriced else self.known_cost

    def plus(self, call: Reply | CallEnded) -> Spent:
        """With one call more."""
        tokens = {name: getattr(call.usage, name) or 0 for name in Usage.__struct_fields__}
        one = Spent(
            calls=1,
            **tokens,
            unmetered=int(not call.usage.metered),
            known_cost=call.cost or Decimal(0),
            unpriced=int(call.cost is None),
            seconds=call.seconds,
        )
        return self.joined(one)

    def joined(self, other: Spent) -> Spent:
        """Both together."""
        sums = map(add, astuple(self), astuple(other))
        return Spent(**dict(zip(self.__struct_fields__, sums, strict=True)))


class Ask(Protocol):
    """The one thing the tournament is given. Raises an `Interruption` when the run cannot go on."""

    @overload
    def __call__(self, request: Request, /) -> Awaitable[Reply]: ...
    @overload
    def __call__(self, request: Query[A], /) -> Awaitable[A]: ...


class Service(Protocol):
    """Answers queries that take work, such as running a program, in another process."""

    async def answer(self, query: Query[A]) -> A:
        """The answer, or an `Interruption` where there is none."""
        ...


# Signals of what is in progress. Never journalled, never replayed.


class CallStarted(Struct, frozen=True):
    """A request is on its way."""

    key: str
    role: Role
    model: str


class TextArrived(Struct, frozen=True):
    """More of a reply streamed in."""

    key: str
    text: str


class CallRetried(Struct, frozen=True):
    """A call failed and will be sent again after `wait` seconds."""

    key: str
    reason: str
    wait: float


class BatchWaiting(Struct, frozen=True):
    """A batch is at its provider, and a call waits for its end; again whenever it was looked at."""

    key: str
    batch: str
    size: int
    """Requests in it."""
    done: int
    """Those that have ended."""
    since: float
    """When it was sent, in seconds since 1970."""


class CallEnded(Struct, frozen=True):
    """A call is over, with a reply or without."""

    key: str
    outcome: Outcome
    seconds: float
    usage: Usage = Usage()
    cost: Decimal | None = None
    replayed: bool = False
    """Answered from the record; nothing was paid."""


class QueryStarted(Struct, frozen=True):
    """A query that takes a while, such as running a program, is being answered."""

    key: str
    kind: str


class QueryEnded(Struct, frozen=True):
    """A query is over, with an answer or without."""

    key: str


Signal = (
    CallStarted | TextArrived | CallRetried | BatchWaiting | CallEnded | QueryStarted | QueryEnded
)
OnSignal = Callable[[Signal], None]


class Model(Protocol):
    """Anything that answers a request."""

    @property
    def address(self) -> str:
        """`provider/model`."""
        ...

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request, or raise `CallFailed`; with `on_signal`, text is streamed."""
        ...

    async def close(self) -> None:
        """Release connections and memory."""
        ...


_ROOM: dict[Effort, int] = {
    "none": 0,
    "minimal": 1024,
    "low": 4096,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 49_152,
}
"""Tokens; twice these plus a text still fit into the smallest output limit of models with such effort."""
_UNASKED: Effort = "medium"
_IN_PROCESS = frozenset({"local", "echo", "scripted"})
_SELF_HOSTED = frozenset({"ollama", "vllm", "lmstudio", "llamacpp"})
"""Servers whose window the user chooses, where extra room may not fit."""
_REASONS = r"""(?ix)(?<![a-z0-9])(
        o[1-9](?![a-z0-9])
      | gpt-([5-9]|[1-9]\d)(?![\d])(?!.*-chat)
      | gpt-oss
      | claude-[a-z]+-([5-9]|[1-9]\d)(?!\d)
      | gemini-(2\.5|[3-9]|[a-z-]*latest)
      | deepseek-(reasoner|r\d|v[4-9])
      | grok-(3-mini|[4-9])(?!.*non-reasoning)
      | (qwq|magistral|minimax-m\d)
    )|-thinking(?![a-z])"""
"""Compiled when it is first needed, as the next one is."""
_NEVER = r"(?i)gpt-[34]|gpt-5.*-chat|claude-3(?![.-]7)|gemini-(1|2\.0)"
"""Older models, some of which may not write more than a text."""


def reasons_by_default(address: str) -> bool:
    """Whether a hosted model, by its name, reasons unless it is asked not to."""
    provider, _, model = address.partition("/")
    return provider not in _IN_PROCESS | _SELF_HOSTED and re.search(_REASONS, model) is not None


def reasoning_tokens_for(address: str, effort: Effort | None) -> int:
    """Tokens to allow beyond the text itself, because providers count reasoning as output."""
    if address.partition("/")[0] in _IN_PROCESS or re.search(_NEVER, address):
        return 0
    if effort is None:
        effort = _UNASKED if reasons_by_default(address) else "none"
    return _ROOM[effort]
