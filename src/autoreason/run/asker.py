"""The run's `ask`: recorded replies come from the journal, everything else is paid for once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from time import monotonic

import msgspec

from autoreason.errors import (
    Accepted,
    BudgetReached,
    CallFailed,
    InvalidInput,
    ProviderFailed,
    Stopped,
)
from autoreason.exchange import (
    CallEnded,
    CallStarted,
    Need,
    OnSignal,
    Outcome,
    Reply,
    Request,
    is_model,
)
from autoreason.journal import CommandKind, Journal
from autoreason.keys import Key
from autoreason.models.budget import BudgetTracker
from autoreason.models.cancellation import STOPPED, InterruptibleCall, idle_section
from autoreason.models.pool import ModelPool
from autoreason.models.prices import rates
from autoreason.programs.examination import Examiner, answer
from autoreason.programs.policy import Policy, read_turn
from autoreason.run.recall import Memory
from autoreason.run.result import StopSwitch

_POLL_SECONDS = 0.5
_END_COMMANDS: tuple[CommandKind, ...] = ("stop", "accept")
ACCEPTED = "a person accepted the text as it stands"


class Asker:
    """Answers the tournament's requests for one run."""

    def __init__(
        self,
        run: str,
        journal: Journal,
        memory: Memory,
        pool: ModelPool,
        budget_tracker: BudgetTracker,
        switch: StopSwitch,
        on_signal: OnSignal | None = None,
        examiner: Examiner | None = None,
    ) -> None:
        self._run = run
        self._journal = journal
        self._pool = pool
        self._memory = memory
        self._switch = switch
        self._on_signal = on_signal
        self._examiner = examiner
        self._calls: set[InterruptibleCall] = set()
        self._sent: set[str] = set()
        self._calls_by_pass: Counter[int | None] = Counter()
        """Calls by pass."""
        self._policy = Policy()
        self._provider_error = ""
        self.accepted = False
        self.budget_tracker = budget_tracker
        self.look_for_commands()

    async def __call__(self, request: Request) -> Reply:
        key = Key.parse(request.key)
        if key.part is None and key.head == "pass" and is_model(request.role):
            self._calls_by_pass[key.number("pass")] += 1
        if request.role == "policy":
            # The policy learns from recorded turns, too.
            self._policy.learn(read_turn(request))
        known = self._memory.recall(request)
        if known is not None:
            self._signal_end(request, known, replayed=True)
            return known
        if request.role == "person":
            return await self._journal.record_guidance(self._run, request)
        self._check_commands()
        if request.role in ("budget", "policy"):
            reply = (
                self._answer_budget(request)
                if request.role == "budget"
                else self._answer_policy(request)
            )
            await self._journal.record_reply(self._run, request, reply)
            return reply
        if request.key in self._sent:
            raise InvalidInput(
                f"{request.key} was asked before in this run; every request needs a key of its own"
            )
        self._sent.add(request.key)
        if request.role == "examiner":
            reply = await self._interruptible(self._examine(request))
            await self._journal.record_reply(self._run, request, reply)
            return reply
        reservation = await self.budget_tracker.reserve(
            self.budget_tracker.bound(request, rates(request.model))
        )
        try:
            reply = await self._send(request)
        except BaseException:
            self.budget_tracker.release(reservation)
            raise
        self.budget_tracker.settle(reservation, reply)
        await self._journal.record_reply(self._run, request, reply)
        self._signal_end(request, reply)
        return reply

    def _answer_budget(self, request: Request) -> Reply:
        """Empty where the budget is enough for a pass and what comes after it, else what is left of it."""
        need = msgspec.json.decode(request.messages[0].text, type=Need)
        pass_calls = max(need.calls, *self._calls_by_pass.values(), 0)
        shortage = self.budget_tracker.shortage(pass_calls + need.after)
        if shortage and Key.parse(request.key).head == "pass" and not self._calls_by_pass:
            raise BudgetReached(
                f"a pass takes about {pass_calls} calls and "
                f"what comes after the last one {need.after}, and {shortage}; "
                "a new run with a lower --playoff and --confirmation takes fewer"
            )
        return Reply(outcome=Outcome.OK, text=shortage, model=request.model)

    def _answer_policy(self, request: Request) -> Reply:
        """What a search does next, by the results on all problems so far."""
        action = self._policy.choose(read_turn(request))
        return Reply(outcome=Outcome.OK, text=action, model=request.model)

    async def _send(self, request: Request) -> Reply:
        started = monotonic()
        if self._on_signal:
            self._on_signal(CallStarted(request.key, request.role, request.model))
        self._journal.record_request(self._run, request)
        try:
            model = self._pool.lend(request.model)
            return await self._interruptible(model.ask(request, self._on_signal))
        except (ProviderFailed, CallFailed, Stopped) as error:
            if self._on_signal:
                seconds = monotonic() - started
                self._on_signal(CallEnded(request.key, Outcome.PROVIDER_ERROR, seconds))
            if isinstance(error, Stopped):
                raise
            # Other parts stop at their next call instead of failing one by one.
            self._provider_error = str(error)
            raise ProviderFailed(self._provider_error) from error

    async def _examine(self, request: Request) -> Reply:
        """Running tests costs nothing: a run that is stopped does not wait for them."""
        if self._examiner is None:
            raise InvalidInput("this run has no examiner to run its programs; give it one")
        started = monotonic()
        if self._on_signal:
            self._on_signal(CallStarted(request.key, request.role, request.model))
        try:
            with idle_section():
                return await answer(self._examiner, request)
        finally:
            if self._on_signal:
                self._on_signal(CallEnded(request.key, Outcome.OK, monotonic() - started))

    async def _interruptible(self, asking: Awaitable[Reply]) -> Reply:
        call = InterruptibleCall()
        self._calls.add(call)
        try:
            return await call.reply(asking)
        finally:
            self._calls.discard(call)

    async def watch_for_commands(self) -> None:
        """Look for commands from another terminal, for as long as the run lasts."""
        while True:
            if self._run in self._journal.runs_with_commands():
                self.look_for_commands()
            if self._switch.stopped:
                for call in self._calls:
                    call.end_if_idle()
            await asyncio.sleep(_POLL_SECONDS)

    def look_for_commands(self) -> None:
        """Note a stop or an accept; the driver marks them as taken once they are carried out."""
        kinds = {
            command.kind for command in self._journal.pending_commands(self._run, _END_COMMANDS)
        }
        self.accepted = self.accepted or "accept" in kinds
        if kinds:
            self._switch.stop()

    def _check_commands(self) -> None:
        if self.accepted:
            raise Accepted(ACCEPTED)
        if self._switch.stopped:
            raise Stopped(STOPPED)
        if self._provider_error:
            raise ProviderFailed(self._provider_error)

    def _signal_end(self, request: Request, reply: Reply, *, replayed: bool = False) -> None:
        if self._on_signal and is_model(request.role):
            self._on_signal(
                CallEnded(
                    request.key, reply.outcome, reply.seconds, reply.usage, reply.cost, replayed
                )
            )
