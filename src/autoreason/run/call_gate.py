"""The gate that all calls of a suite pass, in whichever process they are made: places and money for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from copy import copy
from typing import Any

from autoreason.errors import AutoreasonError, BudgetReached
from autoreason.models.budget import NOTHING_USED, BudgetTracker, CostBound, Reservation
from autoreason.models.layers import ConcurrencyLimiter
from autoreason.models.pool import provider_limiter
from autoreason.run.cell_messages import (
    Enter,
    FromGate,
    Granted,
    Recall,
    Release,
    Reserve,
    Settle,
    ToGate,
)


class CallGate:
    """One limiter for each provider and one budget, for any number of processes."""

    def __init__(
        self,
        budget: BudgetTracker | None = None,
        limiter: Callable[[str], ConcurrencyLimiter] = provider_limiter,
    ) -> None:
        self.budget = budget
        self._new_limiter = limiter
        self._limiters: dict[str, ConcurrencyLimiter] = {}
        self._lent: set[str] = set()
        """Providers of which processes may keep places between calls."""
        self.sessions: set[GateSession] = set()
        self._used: dict[str, CostBound] = {}
        self.opened = asyncio.Event()
        """Whether anything is granted; a gate that replaces another waits for what that one had granted."""
        self.opened.set()

    def beside(self, budget: BudgetTracker | None) -> CallGate:
        """A gate of the same places with money of its own, which is not opened yet."""
        gate = copy(self)
        gate.budget, gate._used, gate.opened = budget, {}, asyncio.Event()
        return gate

    def limiter(self, provider: str) -> ConcurrencyLimiter:
        """The places for calls to a provider."""
        if provider not in self._limiters:
            self._limiters[provider] = self._new_limiter(provider)
        return self._limiters[provider]

    def lend(self, provider: str) -> bool:
        """Whether a process may keep a place between calls: while half of them are free, which saves asking."""
        limiter = self.limiter(provider)
        if 2 * limiter.inside > limiter.limit:
            return False
        self._lent.add(provider)
        return True

    def recall(self, provider: str) -> None:
        """Ask for all places that no call uses."""
        if provider in self._lent:
            self._lent.discard(provider)
            for session in self.sessions:
                session.send(Recall(provider=provider))

    def pause(self) -> None:
        """Grant nothing for a while, and ask for all places that no call uses."""
        self.opened.clear()
        for provider in list(self._lent):
            self.recall(provider)

    def settle(self, run: str, reservation: Reservation, message: Settle) -> None:
        """Pay for a reply of a run."""
        assert self.budget is not None
        before = self.budget.used
        self.budget.settle(reservation, message.reply)
        used = self.budget.used.plus(before, -1)
        self._used[run] = self._used.get(run, NOTHING_USED).plus(used)

    def recount(self, run: str, used: CostBound) -> None:
        """Count this, in place of what was counted of a run so far."""
        assert self.budget is not None
        self.budget.carry_used(used.plus(self._used.get(run, NOTHING_USED), -1))
        self._used[run] = used


class _Place:
    """A call that may be under way."""

    def __init__(self, gate: CallGate, provider: str) -> None:
        self._gate, self._provider = gate, provider

    def give_back(self, message: Release) -> None:
        limiter = self._gate.limiter(self._provider)
        if message.sign == "well":
            limiter.widen()
        elif message.sign == "refused":
            self._gate.recall(self._provider)
            limiter.narrow(message.retry_after)
        limiter.leave()


class _Money:
    """What is reserved for a call of a run."""

    def __init__(self, budget: BudgetTracker, run: str, reservation: Reservation) -> None:
        self.budget = budget
        self.run, self.reservation = run, reservation

    def give_back(self, _message: Release) -> None:
        self.budget.release(self.reservation)


class GateSession:
    """What one process has been granted, and waits for."""

    def __init__(self, gate: CallGate, send: Callable[[FromGate], None]) -> None:
        self._gate, self.send = gate, send
        gate.sessions.add(self)
        self._granted: dict[int, _Place | _Money] = {}
        self._asking: dict[int, asyncio.Task[None]] = {}

    def take(self, message: ToGate) -> None:
        """Act on a message of the process."""
        match message:
            case Enter():
                self._begin(message.number, self._enter(message))
            case Reserve():
                self._begin(message.number, self._reserve(message))
            case Settle():
                money = self._granted.pop(message.number)
                assert isinstance(money, _Money)
                self._gate.settle(money.run, money.reservation, message)
            case Release():
                if asking := self._asking.get(message.number):
                    asking.cancel()
                elif granted := self._granted.pop(message.number, None):
                    granted.give_back(message)

    def restore(self, granted: Iterable[Enter | Reserve]) -> None:
        """Count what another gate had granted."""
        for each in granted:
            if isinstance(each, Enter):
                self._gate.limiter(each.provider).restore()
                self._granted[each.number] = _Place(self._gate, each.provider)
            else:
                assert self._gate.budget is not None
                reservation = self._gate.budget.restore(each.upper)
                self._granted[each.number] = _Money(self._gate.budget, each.run, reservation)

    def abandon(self) -> None:
        """Give back everything; calls that were under way count until they are asked again."""
        for granted in self._granted.values():
            if isinstance(granted, _Money):
                calls = granted.reservation.upper.calls
                granted.budget.carry_used(CostBound(calls, 0, None))
        self.close()

    def close(self) -> None:
        """Give back everything: the process is gone."""
        self._gate.sessions.discard(self)
        for task in self._asking.values():
            task.cancel()
        for number, granted in self._granted.items():
            granted.give_back(Release(number=number))
        self._granted.clear()

    def _begin(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        task = self._asking[number] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._asking.pop(number, None))

    async def _enter(self, message: Enter) -> None:
        await self._gate.opened.wait()
        limiter = self._gate.limiter(message.provider)
        if limiter.inside >= limiter.limit:
            self._gate.recall(message.provider)
        await limiter.enter()
        place = _Place(self._gate, message.provider)
        self._grant(message.number, place, spare=self._gate.lend(message.provider))

    async def _reserve(self, message: Reserve) -> None:
        await self._gate.opened.wait()
        budget = self._gate.budget
        assert budget is not None
        try:
            reservation = await budget.reserve(message.upper)
        except AutoreasonError as refusal:
            limit = refusal.limit if isinstance(refusal, BudgetReached) else None
            self.send(Granted(number=message.number, refusal=str(refusal), limit=limit))
        else:
            self._grant(message.number, _Money(budget, message.run, reservation))

    def _grant(self, number: int, granted: _Place | _Money, *, spare: bool = False) -> None:
        # No longer asking from here on: a release that comes next gives it back.
        self._asking.pop(number, None)
        self._granted[number] = granted
        self.send(Granted(number=number, spare=spare))
