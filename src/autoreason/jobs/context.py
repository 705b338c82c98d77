"""What a job works with: its context, its allowance, its randomness, and concurrent work."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeVar

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent, Excess, Recovery
from autoreason.exchange import (
    Ask,
    GuidanceQuery,
    Message,
    Outcome,
    Query,
    Reply,
    Request,
    Role,
    Schema,
    Spent,
    reasoning_tokens_for,
    seed_of,
)
from autoreason.keys import sub_key
from autoreason.prompts import PromptSet
from autoreason.report.numbers import percent
from autoreason.settings import Settings, Unit
from autoreason.task import Task

_SENT_WITHIN = 0.02
"""Seconds."""


def amount_spent(spent: Spent, unit: Unit) -> Decimal:
    """What was spent in the unit that is matched; refused where it is not known."""
    if (unit == "cost" and spent.cost is None) or (unit == "tokens" and spent.unmetered):
        raise InvalidInput(f"a provider does not report {unit}; match budgets by calls")
    return Decimal(getattr(spent, unit) or 0)


class Allowance:
    """A limit that the next pass must not exceed; a pass that was started is finished."""

    def __init__(self, unit: Unit, amount: Decimal | None = None) -> None:
        self.unit = unit
        self.amount = amount
        """None is unlimited: only what is spent is counted."""
        self.total = Spent()
        self._pass_start = Decimal(0)
        self._max_pass = Decimal(0)

    def charge(self, reply: Reply) -> None:
        """Count one reply."""
        self.total = self.total.plus(reply)

    @property
    def spent(self) -> Decimal:
        """In the unit that is matched."""
        return amount_spent(self.total, self.unit)

    @property
    def left(self) -> Decimal | None:
        """What may still be spent; None where there is no limit."""
        return None if self.amount is None else self.amount - self.spent

    def begin_pass(self) -> None:
        """What is spent from here on belongs to one pass."""
        self._pass_start = self.spent

    def end_pass(self) -> None:
        """Remember the most expensive pass."""
        self._max_pass = max(self._max_pass, self.spent - self._pass_start)

    def fits(self, calls: int) -> bool:
        """Whether so many more calls fit."""
        return self.amount is None or self.spent + calls * self._per_call() <= self.amount

    def fits_another(self, calls: int = 1, calls_after: int = 0) -> bool:
        """Whether another pass fits, and with it the calls that come after the last one.

        It is assumed to be as expensive as the most expensive so far; the first to take so many `calls`.
        """
        if self.amount is None:
            return True
        per_call = self._per_call()
        needed = (self._max_pass or calls * per_call) + calls_after * per_call
        return self.spent < self.amount and self.spent + needed <= self.amount

    def _per_call(self) -> Decimal:
        """What a call takes, on average."""
        if self.unit == "calls":
            return Decimal(1)
        return self.spent / self.total.calls if self.total.calls else Decimal(0)


def draw(seed: int, purpose: str) -> random.Random:
    """A fresh source of randomness for one purpose."""
    return random.Random(f"{seed}/{purpose}")


def boundary(seed: int, purpose: str, *texts: str, attempt: int = 0) -> str:
    """A mark that none of the texts contains and no author could have guessed."""
    mark = blake2b(f"{seed}/{purpose}/{attempt}".encode(), digest_size=8).hexdigest()
    if any(mark in text for text in texts):
        return boundary(seed, purpose, *texts, attempt=attempt + 1)
    return mark


T = TypeVar("T")
Emit = Callable[[AnyEvent], None]
_EmittingWork = Callable[[Emit], Coroutine[Any, Any, T]]


async def use_in_order(work: list[Coroutine[Any, Any, T]], use: Callable[[T], object]) -> None:
    """Use results in the order of the work, as soon as those before are used; all ends before a failure is raised.

    Calls next to the one that failed are paid for, so they are awaited and recorded.
    """
    tasks = [asyncio.ensure_future(item) for item in work]
    failure: Exception | None = None
    try:
        for task in tasks:
            try:
                result = await task
            except Exception as raised:
                failure = failure or raised
            else:
                if not failure:
                    use(result)
        if failure:
            raise failure
    finally:
        await cancel(tasks)


async def cancel(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait until they have ended: what they record later could conflict with other records."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _EventBuffer:
    """Buffers events until everything before has been emitted."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._waiting: list[AnyEvent] | None = []

    def emit(self, event: AnyEvent) -> None:
        if self._waiting is None:
            self._emit(event)
        else:
            self._waiting.append(event)

    def open(self) -> None:
        # Open only once all are emitted: where that fails, later events must not overtake them.
        for event in self._waiting or ():
            self._emit(event)
        self._waiting = None


async def side_by_side(emit: Emit, works: Sequence[_EmittingWork[T]]) -> list[T]:
    """All at once; their events come in the order of the works, whichever reply came first."""
    buffers = [_EventBuffer(emit) for _ in works]
    results: list[T] = []
    if buffers:
        buffers[0].open()

    def collect(result: T) -> None:
        results.append(result)
        if len(results) < len(buffers):
            buffers[len(results)].open()

    begun = [work(buffer.emit) for work, buffer in zip(works, buffers, strict=True)]
    await use_in_order(begun, collect)
    return results


def run_while_waiting(work: Callable[[], object]) -> None:
    """Do what takes long when the requests that are being made have been sent, so that no call waits for it."""
    asyncio.get_running_loop().call_later(_SENT_WITHIN, work)


async def run_in_windows(
    works: Iterable[Callable[[], Coroutine[Any, Any, None]]], width: int, ahead: int
) -> None:
    """Run any number: `width` at a time, none started more than `ahead` after the first unfinished one.

    Their events come as they happen, so the works must be independent of each other. After a failure no new one is
    started, and all that were started end before it is raised: a resumed run starts the same ones, so that none of
    their records is left unused.
    """
    remaining = iter(works)
    room = asyncio.Semaphore(width)
    started: deque[asyncio.Task[None]] = deque()
    failure: Exception | None = None

    async def at_work(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with room:
            await work()

    try:
        while True:
            while failure is None and len(started) < ahead and (work := next(remaining, None)):
                started.append(asyncio.create_task(at_work(work)))
            if not started:
                break
            try:
                await started[0]
            except Exception as raised:
                failure = failure or raised
            started.popleft()
        if failure:
            raise failure
    finally:
        await cancel(started)


@dataclass(frozen=True)
class JobContext:
    task: Task
    settings: Settings
    prompts: PromptSet
    ask: Ask
    emit: Emit
    allowance: Allowance | None = None
    """What it may spend; None where there is no such limit."""
    recovery: Recovery = field(default_factory=Recovery)
    """What the run was resumed from."""
    find_excess: Callable[[str], Excess | None] = lambda _: None
    said: list[str] = field(default_factory=list)
    """What its person said so far, who may change what must be kept."""

    @classmethod
    def open(
        cls,
        task: Task,
        settings: Settings,
        prompts: PromptSet,
        ask: Ask,
        emit: Emit,
        recovery: Recovery | None = None,
    ) -> JobContext:
        """The context of a run; where its settings limit what it may spend, replies are counted."""
        allowance = None
        if matched := settings.matched:
            allowance = Allowance(matched.unit, matched.amount)
            ask = counting(ask, allowance)
        return cls(task, settings, prompts, ask, emit, allowance, recovery or Recovery())

    def within(
        self,
        prefix: str,
        emit: Emit,
        *,
        task: Task | None = None,
        settings: Settings | None = None,
        seed_name: str = "",
    ) -> JobContext:
        """The same with keys and a seed of its own, and somebody else who hears of its events.

        What has the same `seed_name` draws alike, and differs only in what it does.
        """

        async def ask(request: Request | Query[Any]) -> Any:
            if isinstance(request, GuidanceQuery):
                # Guidance is for a run that a person follows, not for a step of it.
                return ""
            return await self.ask(replace(request, key=sub_key(prefix, request.key)))

        seed = draw(self.settings.seed, seed_name or prefix).getrandbits(32)
        return with_fields(
            self,
            task=task or self.task,
            settings=replace(settings or self.settings, seed=seed),
            ask=ask,
            emit=emit,
            # Panels that failed are counted by the job, not by its steps.
            recovery=replace(self.recovery, failed_panels=0),
        )

    def request(
        self,
        role: Role,
        key: str,
        model: str,
        prompt: str,
        *,
        schema: Schema | None = None,
        history: Sequence[Message] = (),
    ) -> Request:
        """A conversation: the stable part first, then what came before, then what this role is asked."""
        effort = self.settings.effort(role)
        opening = self.opening if self._knows_facts(role) else self._opening_without_facts
        return Request(
            role=role,
            key=key,
            model=model,
            messages=(*opening, *self._records_for(role), *history, Message("user", prompt)),
            max_tokens=self.settings.max_tokens + reasoning_tokens_for(model, effort),
            temperature=self.settings.temperature(role),
            effort=effort,
            schema=schema,
            seed=seed_of(self.settings.seed, key),
        )

    def second_request(
        self, request: Request, key: str, reply: Reply, prompt: str, **variables: Any
    ) -> Request:
        """The same question again; after an unreadable answer with its form stated in words.

        A server may accept a schema and ignore it, so that the model never saw the form.
        """
        if reply.outcome is not Outcome.OK:
            return repeat_request(request, key, reply)
        form = request.schema.plain if request.schema else ""
        again = self.prompts.render(prompt, form=form, **variables)
        return follow_up(request, key, reply.text, again)

    def prompt(self, name: str, key: str, /, **variables: Any) -> str:
        """A rendered prompt, with a boundary around texts that none of them contains."""
        mark = boundary(self.settings.seed, key, repr(variables))
        # Not among what the mark is made from: without an edit, requests are as they always were.
        edit = {"edit": self.settings.edit, "edit_share": percent(self.settings.edit_shares[0])}
        return self.prompts.render(name, boundary=mark, **edit, **variables)

    @cached_property
    def opening(self) -> tuple[Message, ...]:
        """What every conversation begins with: the same for all, so that a provider may cache it."""
        return self._open(self.task.facts)

    @cached_property
    def _opening_without_facts(self) -> tuple[Message, ...]:
        return self._open(None)

    def _knows_facts(self, role: Role) -> bool:
        return role != "critic" or self.settings.critic_facts

    def _open(self, facts: str | None) -> tuple[Message, ...]:
        task = self.task
        text = self.prompt(
            "task",
            "task",
            brief=task.brief,
            facts=facts,
            rules=task.rules(),
            criteria=task.criteria,
            # Texts of recorded passes have a stage, and kept their contract to be judged.
            finished=any(not entry.stage for entry in task.entries),
        )
        return self.begin(text)

    def begin(self, text: str) -> tuple[Message, ...]:
        """The messages that begin a conversation about what a text says."""
        system = Message("system", self.prompts.render("system"), stable=True)
        return system, Message("user", text, stable=True)

    def _records_for(self, role: Role) -> tuple[Message, ...]:
        """What a role is shown of the user's records: nothing that would show an author what judges look at."""
        knowledge = self.task.knowledge
        if knowledge is None:
            return ()
        outcomes = knowledge.outcomes_for(role)
        style = () if role == "judge" else knowledge.style
        feedback = knowledge.feedback if role == "critic" else ()
        facts = knowledge.facts if self._knows_facts(role) else ()
        shown = (*facts, *style, *feedback, *outcomes.all)
        if not shown:
            return ()
        text = self.prompt(
            "knowledge",
            "knowledge",
            known_facts=facts,
            house_style=style,
            reader_feedback=feedback,
            did_well=outcomes.well,
            did_badly=outcomes.badly,
            # Only problems that are read one by one can be looked up.
            role=role if role != "critic" or self.settings.quoted_critique else "",
        )
        return (Message("user", text, stable=True),)


def counting(ask: Ask, allowance: Allowance) -> Ask:
    async def ask_and_count(request: Request | Query[Any]) -> Any:
        answer = await ask(request)
        if isinstance(answer, Reply):
            allowance.charge(answer)
        return answer

    return ask_and_count


def follow_up(request: Request, key: str, answer: str, prompt: str) -> Request:
    turn = (Message("assistant", answer), Message("user", prompt))
    return request.renamed(key, messages=(*request.messages, *turn))


def repeat_request(request: Request, key: str, reply: Reply) -> Request:
    """The same question once more; with twice the room where the answer was cut off."""
    return request.renamed(key, max_tokens=request.max_tokens * (2 if reply.needs_room else 1))
