"""What a record knows: its replies by key, its events in order, and where running it again leads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from autoreason.errors import Interruption, ReplayMismatch
from autoreason.events import AnyEvent, Delivered, PartEvent, Solved
from autoreason.exchange import Outcome, Reply, Request
from autoreason.jobs.context import JobContext
from autoreason.journal import RecordedReply
from autoreason.plugins import is_in_file
from autoreason.prompts import PromptSet
from autoreason.run.kinds import kind_of
from autoreason.settings import Settings
from autoreason.strategies.runner import held, made
from autoreason.task import Task
from autoreason.tournament.delivery import deliver
from autoreason.tournament.strategy import Strategy

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
            return self._by_what_followed(request)
        if not _same_question(recorded.request, request):
            raise ReplayMismatch(f"{request.key} asks something else than the record answers")
        self._recalled.add(request.key)
        return recorded.reply

    def _by_what_followed(self, request: Request) -> Reply | None:
        """A budget that nobody was asked about has paid for whatever the record holds of that stage."""
        stage = request.key.removesuffix("budget")
        if request.role == "budget" and any(key.startswith(stage) for key in self._replies):
            return Reply(outcome=Outcome.OK, text="", model=request.model)
        return None

    @property
    def forgotten(self) -> list[str]:
        """Keys of replies that nobody asked for."""
        return [key for key in self._replies if key not in self._recalled]


class Teller:
    """Passes events on; those the record already holds must come again as they were.

    Parts work side by side and tell as it happens, so each is held to its own order and not to that of the others.
    """

    def __init__(
        self,
        recorded: Sequence[AnyEvent],
        append: Callable[[AnyEvent], object],
        on_event: OnEvent | None = None,
    ) -> None:
        self._recorded: dict[str, deque[AnyEvent]] = {}
        for event in recorded:
            self._recorded.setdefault(_part_of(event), deque()).append(event)
        self._append = append
        self._on_event = on_event
        self.repeated = 0
        """Events that came again as recorded."""

    def __call__(self, event: AnyEvent) -> None:
        """Tell one event."""
        expected = self._recorded.get(_part_of(event))
        if not expected:
            self._append(event)
        elif expected[0] == event or _without_words(expected[0]) == _without_words(event):
            expected.popleft()
            self.repeated += 1
        else:
            raise ReplayMismatch(
                f"event {self.repeated + 1} is {type(event).__name__} now and differs from the record"
            )
        if self._on_event:
            self._on_event(event)

    @property
    def missing(self) -> AnyEvent | None:
        """An event of the record that has not come again; None where all have."""
        return next((events[0] for events in self._recorded.values() if events), None)


def _without_words(event: AnyEvent) -> AnyEvent:
    """The event but for why a problem was left, which a later version may say better."""
    if isinstance(event, PartEvent) and isinstance(event.event, Delivered):
        return replace(event, event=replace(event.event, reason=""))
    return replace(event, reason="") if isinstance(event, Solved) else event


def _part_of(event: AnyEvent) -> str:
    return event.part if isinstance(event, PartEvent | Solved) else ""


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
    strategy = made(kind_of(settings), JobContext(task, settings, prompts, ask, teller))
    try:
        await held(strategy)
    except _RecordEnds:
        _repeat_acceptance(strategy, recorded, teller)
    except Interruption:
        pass
    except ReplayMismatch as diverged:
        return Retold(teller.repeated, f"{diverged}; {_cause(settings)}")
    difference = _difference(recorded, teller, more, memory)
    return Retold(teller.repeated, difference and f"{difference}; {_cause(settings)}")


def _cause(settings: Settings) -> str:
    """Why a record goes another way when it is run again, most likely."""
    if is_in_file(settings.strategy):
        return (
            "the strategy was changed since, or it draws at random or reads the clock: "
            "it must draw from `self.settings.seed` alone"
        )
    return "the run was made by another version of autoreason or its record was changed"


def _repeat_acceptance(strategy: Strategy, recorded: Sequence[AnyEvent], teller: Teller) -> None:
    """A person's acceptance is no reply of a model; it is repeated where the record has it."""
    last = recorded[-1] if recorded else None
    chosen = strategy.story.chosen
    if isinstance(last, Delivered) and last.status == "accepted" and chosen:
        teller(deliver(strategy.story, "accepted", last.reason, chosen))


def _difference(
    recorded: Sequence[AnyEvent], teller: Teller, more: list[AnyEvent], memory: Memory
) -> str | None:
    if teller.missing is not None:
        missing = type(teller.missing).__name__
        return f"event {teller.repeated + 1} ({missing}) is in the record and did not come again"
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
