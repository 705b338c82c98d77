"""What a record knows: its replies by key, its events in order, and where running it again leads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from autoreason.errors import Interruption, RecordDiverged
from autoreason.events import AnyEvent, Delivered
from autoreason.exchange import Reply, Request
from autoreason.journal import RecordedReply
from autoreason.prompts import PromptSet
from autoreason.run.kinds import kind_of
from autoreason.settings import Settings
from autoreason.strategies.holding import held, made
from autoreason.task import Task
from autoreason.tournament.report import deliver
from autoreason.tournament.strategy import Strategy
from autoreason.tournament.venue import Venue

OnEvent = Callable[[AnyEvent], None]


class Memory:
    """Replies by key; a request that differs from the one recorded is never answered with its reply."""

    def __init__(self, replies: Mapping[str, RecordedReply]) -> None:
        self._replies = replies
        self._recalled: set[str] = set()

    def recall(self, request: Request) -> Reply | None:
        """The recorded reply, if this was asked before."""
        recorded = self._replies.get(request.key)
        if recorded is None:
            return None
        if not _same_question(recorded.request, request):
            raise RecordDiverged(
                f"{request.key} asks something else than the record answers; "
                "the run was made by another version of autoreason or its record was changed"
            )
        self._recalled.add(request.key)
        return recorded.reply

    @property
    def forgotten(self) -> list[str]:
        """Keys of replies that nobody asked for."""
        return [key for key in self._replies if key not in self._recalled]


class Teller:
    """Passes events on; those the record already holds must come again as they were."""

    def __init__(
        self,
        recorded: Sequence[AnyEvent],
        append: Callable[[AnyEvent], object],
        on_event: OnEvent | None = None,
    ) -> None:
        self._recorded = recorded
        self._append = append
        self._on_event = on_event
        self.told = 0

    def __call__(self, event: AnyEvent) -> None:
        """Tell one event."""
        if self.told < len(self._recorded):
            if self._recorded[self.told] != event:
                raise RecordDiverged(
                    f"event {self.told + 1} is {type(event).__name__} now and differs from the record; "
                    "the run was made by another version of autoreason or its record was changed"
                )
        else:
            self._append(event)
        self.told += 1
        if self._on_event:
            self._on_event(event)


class Retold(NamedTuple):
    """What came of running a record again, from its replies alone."""

    events: int
    """Events told again exactly as recorded."""
    difference: str | None
    """Where it first went another way; None where it did not."""


class _RecordEnds(Interruption):
    """The next reply was never recorded: here the run was left."""

    status = "stopped"


async def retell(
    task: Task,
    settings: Settings,
    prompts: PromptSet,
    recorded: Sequence[AnyEvent],
    memory: Memory,
) -> Retold:
    """Run a record again; offline, for nothing."""

    async def ask(request: Request) -> Reply:
        reply = memory.recall(request)
        if reply is None:
            raise _RecordEnds(request.key)
        return reply

    more: list[AnyEvent] = []
    teller = Teller(recorded, more.append)
    strategy = made(kind_of(settings), Venue(task, settings, prompts, ask, teller))
    try:
        await held(strategy)
    except _RecordEnds:
        _repeat_acceptance(strategy, recorded, teller)
    except Interruption:
        pass
    except RecordDiverged as diverged:
        return Retold(teller.told, str(diverged))
    return Retold(min(teller.told, len(recorded)), _difference(recorded, teller, more, memory))


def _repeat_acceptance(strategy: Strategy, recorded: Sequence[AnyEvent], teller: Teller) -> None:
    """A person's acceptance is no reply of a model; it is repeated where the record has it."""
    last = recorded[-1] if recorded else None
    if isinstance(last, Delivered) and last.status == "accepted" and strategy.story.incumbent:
        teller(deliver(strategy.story, "accepted", last.reason, strategy.story.incumbent))


def _difference(
    recorded: Sequence[AnyEvent], teller: Teller, more: list[AnyEvent], memory: Memory
) -> str | None:
    if teller.told < len(recorded):
        missing = type(recorded[teller.told]).__name__
        return f"event {teller.told + 1} ({missing}) is in the record and did not come again"
    if more and recorded and isinstance(recorded[-1], Delivered):
        return "it went on after the end"
    if memory.forgotten:
        return f"the reply to {memory.forgotten[0]} is in the record and was not asked for again"
    return None


def _same_question(recorded: Request, request: Request) -> bool:
    """Whether the same is asked; who answers, how warmly and at what length may differ."""
    return (recorded.role, recorded.messages, recorded.schema) == (
        request.role,
        request.messages,
        request.schema,
    )
