"""The run's `ask`: recorded replies come from the journal, everything else is paid for once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic, time
from typing import TYPE_CHECKING, Any, TypeVar

from autoreason.errors import (
    Accepted,
    BudgetReached,
    CallFailed,
    Interruption,
    InvalidInput,
    ProviderFailed,
    Stopped,
    Waiting,
)
from autoreason.exchange import (
    BudgetQuery,
    CallEnded,
    CallStarted,
    GuidanceQuery,
    OnSignal,
    Outcome,
    Query,
    QueryEnded,
    QueryStarted,
    Reply,
    Request,
    Service,
)
from autoreason.journal import Journal
from autoreason.journal.run_names import owning_run
from autoreason.keys import Key
from autoreason.models.batch import BatchLog
from autoreason.models.batch_interface import BatchNote
from autoreason.models.budget import BudgetTracker, CostBound
from autoreason.models.host import HostModel, Parking
from autoreason.models.layers import InterruptibleCall, idle_section
from autoreason.models.pool import ModelPool
from autoreason.models.providers import rates
from autoreason.report.numbers import count
from autoreason.run.host import MAX_LEASES, given_up
from autoreason.run.record import Memory
from autoreason.run.result import StopSwitch

if TYPE_CHECKING:
    from autoreason.run.services import LocalAnswers

T = TypeVar("T")
_POLL_SECONDS = 0.5
ACCEPTED = "a person accepted it"


@dataclass(eq=False)
class Asker:
    run: str
    journal: Journal
    memory: Memory
    pool: ModelPool
    budget_tracker: BudgetTracker
    switch: StopSwitch
    on_signal: OnSignal | None = None
    service: Service | None = None
    cut: str = ""
    """Why nothing is asked any more but what was set aside for the end."""
    accepted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._calls: set[InterruptibleCall] = set()
        self._sent: set[str] = set()
        self._calls_by_pass: Counter[int | None] = Counter()
        self._provider_error = ""
        run, journal = self.run, self.journal
        self._abandoned = {each.key: each.model for each in journal.in_flight(run)}
        """Whom what was asked that was under way when the run was killed: calls, until they are asked again."""
        self.budget_tracker.carry_used(CostBound(len(self._abandoned), 0, None))
        notes = self.memory.questions(BatchNote)
        self._batches = BatchLog(run, notes, lambda note: journal.record_answer(run, note, ""))
        self._parking = Parking(self._post, self._end_of_parked)
        self.look_for_commands()

    async def __call__(self, request: Request | Query[Any]) -> Any:
        with self._parking.busy():
            if isinstance(request, Query):
                return await self._answer(request)
            return await self._reply(request)

    async def _answer(self, query: Query[Any]) -> Any:
        if not isinstance(query, BudgetQuery | GuidanceQuery):
            self._local_answers.note(query)
        known = self.memory.recall_answer(query)
        if known is not None:
            return known
        if isinstance(query, GuidanceQuery):
            return await self.journal.record_guidance(self.run, query)
        self._check_commands(set_aside=query.set_aside)
        if isinstance(query, BudgetQuery):
            answer: Any = self._budget_shortage(query)
        else:
            answer = await self._local_answers.answer(query)
        if answer is None:
            self._refuse_second(query.key)
            asking = self._serve(query)
            answer = await (asking if query.set_aside else self._interruptible(asking))
        if query.deferred:
            self.journal.send_answer(self.run, query, answer)
        else:
            await self.journal.record_answer(self.run, query, answer)
        return answer

    @cached_property
    def _local_answers(self) -> LocalAnswers:
        # Texts need none of what answers here.
        from autoreason.run.services import LocalAnswers

        return LocalAnswers(self.memory, getattr(self.service, "policy", None))

    async def _reply(self, request: Request) -> Reply:
        key = Key.parse(request.key)
        if key.head == "pass":
            self._calls_by_pass[key.number("pass")] += 1
        known = self.memory.recall(request)
        if known is not None:
            self._signal_end(request, known, replayed=True)
            return known
        self._check_commands()
        self._refuse_second(request.key)
        upper = self.budget_tracker.bound(request, rates(request.model, batch=self.pool.batch))
        if request.key in self._abandoned:
            upper = upper._replace(calls=0)
        with self._parking.busy(-1):
            reservation = await self.budget_tracker.reserve(upper)
        try:
            # What was reserved may have become free only because the run ends.
            self._check_commands()
            reply = await self._send(request)
        except BaseException:
            self.budget_tracker.release(reservation)
            raise
        self.budget_tracker.settle(reservation, reply)
        await self.journal.record_reply(self.run, request, reply)
        self._signal_end(request, reply)
        return reply

    def _refuse_second(self, key: str) -> None:
        if key in self._sent:
            raise InvalidInput(f"{key} was asked before; every request needs its own key")
        self._sent.add(key)

    def _budget_shortage(self, query: BudgetQuery) -> str:
        """Empty where the budget is enough for a pass and what comes after it, else what is left of it."""
        pass_calls = max(query.calls, *self._calls_by_pass.values(), 0)
        steps = pass_calls + self.pool.steps(query.after)
        shortage = self.budget_tracker.shortage(pass_calls + query.after, steps)
        if shortage is None:
            return ""
        key = Key.parse(query.key)
        if key.head == "pass" and not self._calls_by_pass:
            raise BudgetReached(
                f"a pass takes about {pass_calls} calls, "
                f"review and confirmation after the last one {query.after}, and {shortage}. "
                "A new run with fewer judges of review and confirmation takes fewer",
                shortage.limit,
            )
        after = count(query.after, "call")
        return f"{shortage} before review and confirmation, which may take {after}"

    async def _send(self, request: Request) -> Reply:
        started = monotonic()
        if self.on_signal:
            self.on_signal(CallStarted(request.key, request.role, request.model))
        model = self.pool.model(request.model, self._batches, self._parking)
        is_asked = self._abandoned.get(request.key) == request.model
        if not (isinstance(model, HostModel) and is_asked):
            self.journal.record_request(self.run, request)
        try:
            return await self._interruptible(model.ask(request, self.on_signal), timed=True)
        except (Interruption, CallFailed) as error:
            if self.on_signal:
                seconds = monotonic() - started
                self.on_signal(CallEnded(request.key, Outcome.PROVIDER_ERROR, seconds))
            if not isinstance(error, ProviderFailed | CallFailed):
                raise
            # Others stop at their next call instead of failing one by one.
            self._provider_error = str(error)
            raise ProviderFailed(self._provider_error) from error

    async def _post(self, request: Request) -> str | None:
        """Ask from outside: the answer to a question, which is stored before anybody can see it."""
        question = await self.journal.post_question(self.run, request)
        if (
            request.key in self._abandoned
            and self.journal.request_of(question).model != request.model
        ):
            # An answer of one model is none of another.
            question = await self.journal.post_question(self.run, request, anew=True)
        if given_up(question, time()):
            await self.journal.free_question(question.token)
            raise ProviderFailed(
                f"a question was taken {MAX_LEASES} times and never answered; look why, then "
                f"`autoreason host next {owning_run(self.run)}`"
            )
        return question.answer

    def _end_of_parked(self, number: int) -> Interruption:
        if self._provider_error:
            return ProviderFailed(self._provider_error)
        asked = f"{count(number, 'question')} {'were' if number > 1 else 'was'} asked"
        then = f"`autoreason host next {owning_run(self.run)}` goes on with"
        return Waiting(f"{asked}; {then} {'answers' if number > 1 else 'an answer'}")

    async def _serve(self, query: Query[Any]) -> Any:
        """Where it costs nothing, such as running programs, a run that is stopped does not wait for it."""
        assert self.service, f"nothing answers a {type(query).__name__}"
        if self.on_signal:
            self.on_signal(QueryStarted(query.key, query.kind))
        try:
            with idle_section() if query.free else nullcontext():
                return await self.service.answer(query)
        finally:
            if self.on_signal:
                self.on_signal(QueryEnded(query.key))

    async def _interruptible(self, asking: Awaitable[T], *, timed: bool = False) -> T:
        call = InterruptibleCall(timed=timed)
        self._calls.add(call)
        try:
            return await call.reply(asking)
        finally:
            self._calls.discard(call)

    async def watch(self) -> None:
        """Look for commands from another terminal and at the clock, for as long as the run lasts."""
        while True:
            if self.run in self.journal.runs_with_commands():
                self.look_for_commands()
            self._end_calls()
            # All runs of a process at the same moments: one wake-up for a hundred cells.
            await asyncio.sleep(_POLL_SECONDS - monotonic() % _POLL_SECONDS)

    def _end_calls(self) -> None:
        """End what only waits at a stop or a time limit, and everything once a stop has waited long enough."""
        failure = next((each.last_failure for each in self._calls if each.last_failure), "")
        for call in self._calls:
            if self.switch.overdue:
                call.end(
                    Stopped(f"{self.switch.reason}, and what was under way is asked again"),
                    at_once=True,
                )
            elif self.switch.stopped:
                call.end(Stopped(self.switch.reason))
            elif call.timed and (reached := self.budget_tracker.time_reached(failure)):
                call.end(reached)

    def look_for_commands(self) -> None:
        """Note a stop or an accept; the driver marks them as taken once they are carried out."""
        pending = self.journal.pending_commands(self.run, ("stop", "accept"))
        kinds = {command.kind for command in pending}
        self.accepted = self.accepted or "accept" in kinds
        if kinds:
            self.switch.stop()

    def _check_commands(self, *, set_aside: bool = False) -> None:
        if self.accepted:
            raise Accepted(ACCEPTED)
        if set_aside:
            return
        if self.cut or self.switch.stopped:
            raise Stopped(self.cut or self.switch.reason)
        if self._provider_error:
            raise ProviderFailed(self._provider_error)
        if over := self._parking.over:
            raise self._end_of_parked(over)

    def _signal_end(self, request: Request, reply: Reply, *, replayed: bool = False) -> None:
        if self.on_signal:
            took = (reply.seconds, reply.usage, reply.cost)
            self.on_signal(CallEnded(request.key, reply.outcome, *took, replayed))
