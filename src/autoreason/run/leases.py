"""What a worker holds of what all workers share: places at providers, and money of suites.

An account is what is shared. The table of leases has a row of it for every worker, with all that this worker holds. A
call that fits into that starts at once; calls that wait are decided together, in one transaction. While less than half
of an account is taken and nobody waits, a worker holds as much again as its calls use, for those that come next.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import reduce
from math import inf
from time import monotonic
from typing import NamedTuple

import msgspec
from msgspec import Struct

from autoreason.errors import AutoreasonError, BudgetReached
from autoreason.exchange import Reply
from autoreason.journal import Journal
from autoreason.journal.leases import Rows
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
_REFRESH, _REFRESH_BY_HOLDER = 0.2, 0.002
"""Seconds after which what is held is written again, so that a row that was lost is soon there again."""
_FIRST_POLL, _LAST_POLL = 0.005, 0.2
_CENSUS = 1.0
"""Seconds between two looks at which workers live, while calls wait."""
_PLACE = CostBound(1, 0, None)


class Lease(Struct, frozen=True, array_like=True):
    """What a worker holds, as its row says."""

    held: CostBound = NOTHING_USED
    """What nobody else may take; what is used included."""
    used: CostBound = NOTHING_USED
    wanted: CostBound = NOTHING_USED
    """By calls that wait."""
    since: float | None = None
    """When the first of these began to wait."""


read_lease = msgspec.json.Decoder(Lease).decode
_read_width = msgspec.json.Decoder(Width).decode


def as_row(held: Lease | Width) -> str:
    """What the table has of it."""
    return msgspec.json.encode(held).decode()


def total(bounds: Iterable[CostBound]) -> CostBound:
    """All together."""
    return reduce(CostBound.plus, bounds, NOTHING_USED)


def provider_account(provider: str) -> str:
    """The account of a provider's places; no suite has this name."""
    return f"provider {provider}"


class _Waiting(Struct, eq=False):
    """A call that waits."""

    turn: asyncio.Future[None]
    upper: CostBound
    since: float | None = None
    """By the clock of the table; None before the first decision."""


class _Decision(NamedTuple):
    calls: list[BudgetReached | None]
    """Of calls that wait, in order: None for each that may start, else why it cannot; all others wait on."""
    held: CostBound
    now: float
    holders: frozenset[str]
    wanted: bool
    """Whether calls of other workers wait."""
    full: bool


class _Question(NamedTuple):
    """What is to be decided of an account, while calls of this worker go on."""

    limit: Callable[[dict[str, str], float], Budget]
    check: bool
    """Whether what is used never comes back, so that a call may have to be refused."""
    allowed: bool
    used: CostBound
    out: CostBound
    waiting: list[tuple[CostBound, float | None]]

    def decide(self, me: str, dead: frozenset[str], rows: dict[str, str], now: float) -> _Decision:
        limit = self.limit(rows, now)
        if not self.check:
            for holder in dead & rows.keys():
                del rows[holder]
        others = [read_lease(row) for holder, row in rows.items() if holder not in (me, BASE)]
        if self.check and BASE in rows:
            others.append(read_lease(rows[BASE]))
        mine, taken = self.used.plus(self.out), total(each.held for each in others)
        used = total(each.used for each in others).plus(self.used)
        since = (self.waiting[0][1] or now) if self.waiting else now
        # Who has waited longer comes first.
        before = total(each.wanted for each in others if (each.since or inf) < since)
        calls: list[BudgetReached | None] = []
        for upper, _ in self.waiting:
            if self.check:
                try:
                    check_limits(limit, used, upper)
                except BudgetReached as reached:
                    calls.append(reached)
                    continue
            if not fits(limit, taken.plus(before).plus(mine).plus(upper)):
                break
            mine = mine.plus(upper)
            calls.append(None)
        rest = self.waiting[len(calls) :]
        wanted = any(each.since for each in others)
        again = taken.plus(mine).plus(mine).plus(self.used, -1)
        ahead = self.allowed and not (rest or wanted) and fits(limit, again.plus(again))
        held = mine.plus(mine).plus(self.used, -1) if ahead else mine
        lease = Lease(
            held,
            self.used,
            total(upper for upper, _ in rest),
            (rest[0][1] or now) if rest else None,
        )
        rows[me] = as_row(lease)
        full = not fits(limit, taken.plus(mine).plus(_PLACE))
        return _Decision(calls, held, now, frozenset(rows), wanted, full)


class _Account:
    """What this worker holds of an account."""

    check = False

    def __init__(self, leases: Leases) -> None:
        self.leases = leases
        self.held = self.used = self.out = NOTHING_USED
        """What the row says; what was used for good; what calls under way may take."""
        self.queue: deque[_Waiting] = deque()
        self.changed = self.wanted = self.full = False
        """Since the last decision; by others, and whether everything was taken, at the last decision."""

    @property
    def idle(self) -> bool:
        """Whether its row need not be written again."""
        return not (self.changed or self.queue) and self.held == self.used

    async def take(self, upper: CostBound) -> None:
        """Wait until a call may take so much."""
        self.leases.check()
        waiting = _Waiting(asyncio.get_running_loop().create_future(), upper)
        self.queue.append(waiting)
        self.admit()
        if waiting.turn.done():
            return
        self.leases.wake()
        try:
            with idle_section():
                await waiting.turn
        except asyncio.CancelledError:
            # Granted and cancelled in the same moment.
            if not waiting.turn.cancelled() and not waiting.turn.exception():
                self.give_back(upper)
            raise

    def give_back(self, upper: CostBound, used: CostBound = NOTHING_USED) -> None:
        """A call is over, and has used so much for good."""
        self.out, self.used = self.out.plus(upper, -1), self.used.plus(used)
        self.changed = True
        self.admit()
        if self.queue or self.wanted:
            self.leases.wake()

    def admit(self) -> None:
        """Let calls start for which enough is held."""
        while self.queue and self.leases.open:
            waiting = self.queue[0]
            after = self.out.plus(waiting.upper)
            if not waiting.turn.done():
                if not _covers(self.held, self.used.plus(after)):
                    return
                self.out = after
                self.changed = True
                waiting.turn.set_result(None)
            self.queue.popleft()

    def ask(self) -> _Question:
        """What is to be decided now."""
        self.queue = deque(each for each in self.queue if not each.turn.done())
        self.changed = False
        allowed = self.leases.allowed
        waiting = [(each.upper, each.since) for each in self.queue] if allowed else []
        return _Question(self.limit(), self.check, allowed, self.used, self.out, waiting)

    def apply(self, decision: _Decision) -> None:
        """Act on what was decided."""
        self.held, self.wanted, self.full = decision.held, decision.wanted, decision.full
        for granted in decision.calls:
            waiting = self.queue.popleft()
            if waiting.turn.done():
                self.changed = True
            elif granted is None:
                self.out = self.out.plus(waiting.upper)
                waiting.turn.set_result(None)
            else:
                waiting.turn.set_exception(granted)
        for waiting in self.queue:
            waiting.since = waiting.since or decision.now

    def limit(self) -> Callable[[dict[str, str], float], Budget]:
        """How much all may take together, given the rows and the time; called in another thread, perhaps twice."""
        raise NotImplementedError


def _covers(held: CostBound, needed: CostBound) -> bool:
    return all((each or 0) <= (most or 0) for each, most in zip(needed, held, strict=True))


class _SuiteAccount(_Account):
    """The money of a suite."""

    check = True

    def __init__(self, leases: Leases, budget: Budget) -> None:
        super().__init__(leases)
        self._budget = budget

    def limit(self) -> Callable[[dict[str, str], float], Budget]:
        return lambda _rows, _now: self._budget


class LeasedBudget:
    """The budget of all cells of a suite, as one of them draws on it."""

    def __init__(self, account: _SuiteAccount, seconds_left: float | None) -> None:
        self._account = account
        self._time_ends = inf if seconds_left is None else monotonic() + seconds_left

    async def reserve(self, upper: CostBound) -> Reservation:
        """Reserve a call's upper bound from what is left for all."""
        if reached := self.time_reached():
            raise reached
        await self._account.take(upper)
        return Reservation(upper)

    def settle(self, reservation: Reservation, reply: Reply) -> None:
        """Pay for a reply."""
        self._account.give_back(reservation.upper, charge(reply, reservation.upper))

    def release(self, reservation: Reservation) -> None:
        """Give back all of it."""
        self._account.give_back(reservation.upper)

    def time_reached(self, failure: str = "") -> BudgetReached | None:
        """That the time for all cells is over; None before."""
        return out_of_time("the time limit", failure) if monotonic() >= self._time_ends else None


class LeasedLimiter(_Account):
    """The places of a provider, for the layers of models."""

    def __init__(self, leases: Leases, provider: str) -> None:
        super().__init__(leases)
        self._start = provider_limiter(provider).width
        self._succeeded = 0
        self._refused: float | None = None
        """For how long it asked to be left alone, since the last decision."""

    async def enter(self) -> None:
        """Wait for a place."""
        await self.take(_PLACE)

    def leave(self) -> None:
        """Give the place back."""
        self.give_back(_PLACE)

    def widen(self) -> None:
        """A call succeeded."""
        self._succeeded += self.full

    def narrow(self, retry_after: float | None = None) -> None:
        """A call was refused, because there are too many."""
        self._refused = max(self._refused or 0.0, retry_after or 0.0)
        # Nothing starts before all are told.
        self.held = self.used
        self.changed = True
        self.leases.wake()

    def limit(self) -> Callable[[dict[str, str], float], Budget]:
        start, succeeded, refused = self._start, self._succeeded, self._refused
        self._succeeded, self._refused = 0, None

        def find(rows: dict[str, str], now: float) -> Budget:
            width = _read_width(rows.get(BASE) or as_row(start))
            for _ in range(succeeded):
                width.widen()
            if refused is not None:
                width.narrow(now, refused)
            rows[BASE] = as_row(width)
            return Budget(calls=width.places(now))

        return find


class Leases:
    """Everything that a worker has leased, under a name that it has locked in the journal."""

    def __init__(self, journal: Journal, me: str) -> None:
        self._journal, self._me = journal, me
        self._table = journal.open_leases()
        self._accounts: dict[str, _Account] = {}
        self._deciding: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()
        self._failure: AutoreasonError | None = None
        self._seen: frozenset[str] = frozenset()
        self.open = True
        """Whether calls may start with what is held; not while something is decided."""
        self.allowed = True
        """Whether this worker may ask for more."""

    def limiter(self, provider: str) -> LeasedLimiter:
        """The places of a provider."""
        limiter = self._accounts[provider_account(provider)] = LeasedLimiter(self, provider)
        return limiter

    def budget(self, suite: str, budget: Budget, seconds_left: float | None) -> LeasedBudget:
        """The budget of a suite."""
        account = self._accounts.setdefault(suite, _SuiteAccount(self, budget))
        assert isinstance(account, _SuiteAccount)
        return LeasedBudget(account, seconds_left)

    def allow(self, allowed: bool) -> None:
        """Let calls start, or let none start and hold nothing for them."""
        if allowed != self.allowed:
            self.allowed, self.open = allowed, False
            self.wake()

    def check(self) -> None:
        """Raise why nothing can be leased any more."""
        if self._failure:
            raise type(self._failure)(*self._failure.args)

    def wake(self) -> None:
        """Decide soon."""
        self._asked.set()
        if self._deciding is None:
            self._deciding = asyncio.create_task(self._decide_always())

    async def _decide_always(self) -> None:
        poll, counted = _FIRST_POLL, monotonic()
        while True:
            accounts = {name: each for name, each in self._accounts.items() if not each.idle}
            waiting = any(each.queue for each in accounts.values())
            refresh = max(_REFRESH, _REFRESH_BY_HOLDER * len(self._seen))
            with suppress(TimeoutError):
                async with asyncio.timeout(poll if waiting else refresh if accounts else None):
                    await self._asked.wait()
            # What happens in this moment is decided together.
            await asyncio.sleep(0)
            self._asked.clear()
            dead: frozenset[str] = frozenset()
            if waiting and monotonic() >= counted + _CENSUS:
                # Whoever has written a row was locked before.
                dead = self._seen - await asyncio.to_thread(self._journal.locked_runs)
                counted = monotonic()
            try:
                progress = await self._decide(dead - {BASE, self._me})
            except AutoreasonError as failure:
                self._fail(failure)
                return
            poll = _FIRST_POLL if progress else min(_LAST_POLL, 1.5 * poll)

    async def _decide(self, dead: frozenset[str]) -> bool:
        accounts = {name: each for name, each in self._accounts.items() if not each.idle}
        self.open = False
        questions = {name: each.ask() for name, each in accounts.items()}

        def decide(rows: Rows, now: float) -> dict[str, _Decision]:
            return {
                name: each.decide(self._me, dead, rows[name], now)
                for name, each in questions.items()
            }

        decisions = await self._table.update(list(questions), decide)
        self.open = self.allowed
        for name, decision in decisions.items():
            accounts[name].apply(decision)
            accounts[name].admit()
        self._seen = frozenset().union(*(each.holders for each in decisions.values()))
        return any(each.calls for each in decisions.values())

    def _fail(self, failure: AutoreasonError) -> None:
        self._failure = failure
        for account in self._accounts.values():
            for waiting in account.queue:
                if not waiting.turn.done():
                    waiting.turn.set_exception(type(failure)(*failure.args))
