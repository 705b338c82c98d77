"""What a worker holds of what all workers share: places at providers, and money of suites.

The table of leases has a row for every worker and what is shared, an account, with all that this worker holds of it. A
call that fits into that starts at once; calls that wait are decided together, in one transaction. While less than half
of an account is taken and nobody waits, a worker holds as much again as its calls use, for those that come next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from functools import reduce
from math import inf
from time import monotonic
from typing import Any, Self

import msgspec
from msgspec import Struct

from autoreason.errors import AutoreasonError, BudgetReached
from autoreason.exchange import Reply
from autoreason.journal import Journal
from autoreason.journal.writer import HeldRows
from autoreason.models.budget import (
    NOTHING_USED,
    CostBound,
    Reservation,
    charge,
    check_limits,
    fits,
    out_of_time,
)
from autoreason.models.layers import Width, idle_section
from autoreason.models.pool import provider_limiter
from autoreason.settings import Budget

BASE = ""
"""The holder of what no worker holds: how many places a provider has, and what was used of a budget before."""
_REFRESH, _REFRESH_BY_HOLDER = 0.2, 0.01
"""Seconds after which what is held is written again, so that a row that was lost is soon there again."""
_FIRST_POLL, _LAST_POLL = 0.005, 0.1
_CENSUS = 1.0
"""Seconds between two checks of which workers live, while calls wait."""
_PLACE = CostBound(1, 0, None)
_NEVER = 1e300


class Lease(Struct, frozen=True, array_like=True):
    """What a worker holds, as its row says."""

    held: CostBound = NOTHING_USED
    """What nobody else may take; what is used included."""
    used: CostBound = NOTHING_USED
    wanted: CostBound = NOTHING_USED
    """By calls that wait."""
    since: float = _NEVER
    """When the first of these began to wait, by the clock of the table."""


def as_row(held: Lease | Width) -> str:
    return msgspec.json.encode(held).decode()


def total(bounds: Iterable[CostBound]) -> CostBound:
    return reduce(CostBound.plus, bounds, NOTHING_USED)


def _each(choose: Callable[..., Any], one: CostBound, other: CostBound) -> CostBound:
    """The larger or the smaller of both, each for itself."""
    return CostBound(*(choose(a or 0, b or 0) for a, b in zip(one, other, strict=True)))


class _Waiting(Struct, eq=False):
    turn: asyncio.Future[None]
    upper: CostBound
    since: float = _NEVER


class _Account:
    """What this worker holds of an account. A copy of it is decided on, while calls go on."""

    def __init__(self, leases: Leases) -> None:
        self.leases = leases
        self.held = self.used = self.out = NOTHING_USED
        """What may be taken in all; what was used for good; what calls under way may take."""
        self.peak = self.before = self.spare = NOTHING_USED
        """The most that calls could take since the last decision; what was used before; what to hold ahead."""
        self.queue: list[_Waiting] = []
        self.refusals: list[BudgetReached | None] = []
        """Of calls that waited, in order: None for each that may start, else why it cannot."""
        self.changed = self.barred = False
        """Since the last decision; whether nothing may start before the next one."""
        self.wanted = self.full = False
        """At the last decision: by others; whether everything was taken."""
        self.result, self.now = NOTHING_USED, 0.0
        """What the last decision wrote, and when."""

    @property
    def idle(self) -> bool:
        """Whether its row need not be written again."""
        return not (self.changed or self.queue) and self.result == self.used

    async def acquire(self, upper: CostBound) -> None:
        self.leases.check()
        waiting = _Waiting(asyncio.get_running_loop().create_future(), upper)
        self.queue.append(waiting)
        self._admit()
        if self.queue:
            self.leases.wake()
        try:
            with idle_section():
                await waiting.turn
        except asyncio.CancelledError:
            # Granted and cancelled in the same moment.
            if not waiting.turn.cancelled() and not waiting.turn.exception():
                self.free(upper)
            raise

    def free(self, upper: CostBound, used: CostBound = NOTHING_USED) -> None:
        """A call is over, and has used so much for good."""
        self.out, self.used = self.out.plus(upper, -1), self.used.plus(used)
        self.changed = True
        self._leave_to_others()
        self._admit()
        if self.wanted or self.queue:
            self.leases.wake()

    def _leave_to_others(self) -> None:
        """What calls do not use is for the next decision, where others may come first."""
        if self.wanted or self.barred:
            self.held = self.used.plus(self.out)

    def _admit(self) -> None:
        """Let calls start for which enough is held; the others wait for a decision."""
        while self.queue and self.leases.allowed:
            first = self.queue[0]
            if not first.turn.done():
                needed = self.used.plus(self.out).plus(first.upper)
                if _each(max, needed, self.held) != self.held:
                    break
                self._start(first)
            del self.queue[0]
            self.changed = True

    def _start(self, waiting: _Waiting) -> None:
        self.out = self.out.plus(waiting.upper)
        self.peak = _each(max, self.peak, self.out)
        waiting.turn.set_result(None)

    def snapshot(self) -> Self:
        now, spent = self.used.plus(self.out), self.used.plus(self.before, -1)
        # About what was needed since the last decision.
        self.spare = total((self.peak, spent, spent))
        keeps = self.leases.allowed and not self.wanted
        most = now.plus(self.spare) if keeps else now
        self.held = _each(max, now, _each(min, self.held, most))
        self.queue = [each for each in self.queue if not each.turn.done()]
        self.changed = self.barred = False
        question = copy(self)
        question.queue = list(self.queue)
        self.peak, self.before = self.out, self.used
        return question

    def decide(self, me: str, rows: dict[str, str], now: float) -> None:
        """Let calls start that fit, and write what is held then; in another thread, and perhaps twice."""
        limit, checked = self._limits(rows, now)
        others = [
            msgspec.json.decode(row, type=Lease)
            for holder, row in rows.items()
            if holder != me and (checked or holder != BASE)
        ]
        waiting = self.queue if self.leases.allowed else []
        mine, taken = self.held, total(each.held for each in others)
        used = total(each.used for each in others).plus(self.used)
        since = min(waiting[0].since, now) if waiting else now
        # Who has waited longer comes first.
        before = total(each.wanted for each in others if each.since < since)
        self.refusals = []
        for each in waiting:
            try:
                if checked:
                    check_limits(limit, used, each.upper)
            except BudgetReached as reached:
                self.refusals.append(reached)
                continue
            if not fits(limit, total((taken, before, mine, each.upper))):
                break
            mine = mine.plus(each.upper)
            self.refusals.append(None)
        rest = waiting[len(self.refusals) :]
        self.wanted = any(each.since < _NEVER for each in others)
        self.full = not fits(limit, taken.plus(mine).plus(_PLACE))
        granted = mine.plus(self.held, -1)
        ahead = _each(max, mine, total((self.used, self.out, self.spare, granted, granted)))
        if self.leases.allowed and not (rest or self.wanted):
            mine = ahead if fits(limit, total((taken, ahead, taken, ahead))) else mine
        self.result, self.now = mine, now
        first = min(rest[0].since, now) if rest else _NEVER
        rows[me] = as_row(Lease(mine, self.used, total(each.upper for each in rest), first))

    def apply(self, answer: Self) -> None:
        self.held = self.result = answer.result
        self.wanted, self.full = answer.wanted, answer.full
        for waiting, refusal in zip(answer.queue, answer.refusals, strict=False):
            if waiting.turn.done():
                continue
            if refusal:
                waiting.turn.set_exception(refusal)
            else:
                self._start(waiting)
        for waiting in self.queue:
            waiting.since = min(waiting.since, answer.now)
        self._leave_to_others()
        self._admit()

    def _limits(self, rows: dict[str, str], now: float) -> tuple[Budget, bool]:
        """How much all may take together, and whether what is used never comes back; may change rows."""
        raise NotImplementedError


class LeasedBudget(_Account):
    def __init__(self, leases: Leases, budget: Budget) -> None:
        super().__init__(leases)
        self._budget = budget
        self.time_ends = inf
        """On the clock of this process."""

    async def reserve(self, upper: CostBound) -> Reservation:
        if reached := self.time_reached():
            raise reached
        await self.acquire(upper)
        return Reservation(upper)

    def settle(self, reservation: Reservation, reply: Reply) -> None:
        self.free(reservation.upper, charge(reply, reservation.upper))

    def release(self, reservation: Reservation) -> None:
        self.free(reservation.upper)

    def time_reached(self, failure: str = "") -> BudgetReached | None:
        return out_of_time("the time limit", failure) if monotonic() >= self.time_ends else None

    def _limits(self, rows: dict[str, str], now: float) -> tuple[Budget, bool]:  # noqa: ARG002
        return self._budget, True


class LeasedLimiter(_Account):
    limit = None

    def __init__(self, leases: Leases, provider: str) -> None:
        super().__init__(leases)
        self._start_width = as_row(provider_limiter(provider).width)
        self._succeeded = 0
        self._refused: float | None = None
        """For how long it asked to be left alone, since the last decision."""

    async def enter(self) -> None:
        await self.acquire(_PLACE)

    def leave(self) -> None:
        self.free(_PLACE)

    def widen(self) -> None:
        self._succeeded += self.full

    def narrow(self, retry_after: float | None = None) -> None:
        """A call was refused, because there are too many: no other starts before all workers can know."""
        self._refused = max(self._refused or 0.0, retry_after or 0.0)
        self.changed = self.barred = True
        self._leave_to_others()
        self.leases.wake()

    def snapshot(self) -> Self:
        question = super().snapshot()
        self._succeeded, self._refused = 0, None
        return question

    def _limits(self, rows: dict[str, str], now: float) -> tuple[Budget, bool]:
        for holder in self.leases.dead & rows.keys():
            del rows[holder]
        width = msgspec.json.decode(rows.get(BASE, self._start_width), type=Width)
        for _ in range(self._succeeded):
            width.widen()
        if self._refused is not None:
            width.narrow(now, self._refused)
        rows[BASE] = as_row(width)
        return Budget(calls=width.places(now)), False


class Leases:
    """Everything that a worker has leased, under a name that it has locked in the journal."""

    def __init__(self, journal: Journal, me: str) -> None:
        self._journal, self._me = journal, me
        self._table = journal.open_leases()
        self._accounts: dict[str, _Account] = {}
        self._deciding: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()
        self._failure: AutoreasonError | None = None
        self._holders: frozenset[str] = frozenset()
        self.dead: frozenset[str] = frozenset()
        """Holders that live no longer."""
        self.allowed = True
        """Whether this worker may start calls."""

    def limiter(self, provider: str) -> LeasedLimiter:
        limiter = self._accounts[provider_account(provider)] = LeasedLimiter(self, provider)
        return limiter

    def budget(self, suite: str, budget: Budget) -> LeasedBudget:
        account = self._accounts[suite] = LeasedBudget(self, budget)
        return account

    def allow(self, *, allowed: bool) -> None:
        """Let calls start, or let none start and hold nothing for them."""
        if allowed != self.allowed:
            self.allowed = allowed
            self.wake()

    def check(self) -> None:
        if self._failure:
            raise type(self._failure)(*self._failure.args)

    def wake(self) -> None:
        self._asked.set()
        if self._deciding is None:
            self._deciding = asyncio.create_task(self._decide_always())

    async def _decide_always(self) -> None:
        poll, counted = _FIRST_POLL, monotonic()
        while not self._failure:
            active = [each for each in self._accounts.values() if not each.idle]
            waiting = any(each.queue for each in active)
            refresh = max(_REFRESH, _REFRESH_BY_HOLDER * len(self._holders))
            with suppress(TimeoutError):
                async with asyncio.timeout(poll if waiting else refresh if active else None):
                    await self._asked.wait()
            # What happens in this moment is decided together.
            await asyncio.sleep(0)
            self._asked.clear()
            self.dead = frozenset()
            try:
                if waiting and monotonic() >= counted + _CENSUS:
                    # The writer of a row was locked before.
                    alive = await asyncio.to_thread(self._journal.locked_runs)
                    self.dead, counted = self._holders - alive - {BASE, self._me}, monotonic()
                started = await self._decide()
            except AutoreasonError as failure:
                self._failure = failure
                for waits in (each for one in self._accounts.values() for each in one.queue):
                    if not waits.turn.done():
                        waits.turn.set_exception(type(failure)(*failure.args))
            else:
                poll = _FIRST_POLL if started else min(_LAST_POLL, 1.3 * poll)

    async def _decide(self) -> bool:
        """Decide on everything that is not idle; whether a call could start or was refused."""
        asked = {name: each.snapshot() for name, each in self._accounts.items() if not each.idle}

        def decide(rows: HeldRows, now: float) -> frozenset[str]:
            for name, each in asked.items():
                each.decide(self._me, rows[name], now)
            return frozenset(holder for held in rows.values() for holder in held)

        self._holders = await self._table.update(asked.keys(), decide)
        for name, each in asked.items():
            self._accounts[name].apply(each)
        return any(each.refusals for each in asked.values())


def provider_account(provider: str) -> str:
    """The account of a provider's places; no suite has this name."""
    return f"provider {provider}"
