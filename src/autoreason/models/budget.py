"""The budget of a run: hard limits that concurrent calls cannot exceed together."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import inf
from typing import NamedTuple, Protocol

import msgspec

from autoreason.errors import BudgetReached, InvalidInput
from autoreason.exchange import Reply, Request, Spent
from autoreason.models.providers import Rates
from autoreason.report.numbers import count, duration, money
from autoreason.settings import Budget

_BYTES_PER_TOKEN = 3
_TOKENS_PER_MESSAGE = 8
_MILLION = Decimal(1_000_000)


class CostBound(NamedTuple):
    """An upper bound of what one or more calls can take."""

    calls: int
    tokens: int
    cost: Decimal | None
    """US dollars; None where the price is not known."""

    def plus(self, other: CostBound, sign: int = 1) -> CostBound:
        """Both together, or the difference where the sign is -1."""
        # An unknown price occurs only without a limit in money.
        cost = (self.cost or 0) + sign * (other.cost or Decimal(0))
        return CostBound(self.calls + sign * other.calls, self.tokens + sign * other.tokens, cost)


NOTHING_USED = CostBound(0, 0, Decimal(0))


class Shortage(NamedTuple):
    """A limit that leaves too little for what comes next."""

    limit: str
    left: str

    def __str__(self) -> str:
        """`3 of 20 calls were left`."""
        return f"{self.left} were left"


def upper_bound(request: Request, rates: Rates | None) -> CostBound:
    """The most a request can take: its text at three bytes per token, and all it may write."""
    texts = [message.text for message in request.messages]
    if request.schema:
        texts.append(request.schema.plain)
        texts.append(msgspec.json.encode(request.schema.definition).decode())
    read = sum(-(-len(text.encode()) // _BYTES_PER_TOKEN) + _TOKENS_PER_MESSAGE for text in texts)
    cost = None
    if rates:
        cost = (rates.input * read + rates.output * request.max_tokens) / _MILLION
    return CostBound(1, read + request.max_tokens, cost)


def require_prices(budget: Budget, rates: Mapping[str, Rates | None]) -> None:
    if budget.cost is None:
        return
    for address, rate in rates.items():
        if rate is None:
            raise InvalidInput(
                f"the price of {address} is not known, so the limit of {money(budget.cost)} "
                "cannot be kept; limit tokens or calls instead"
            )


@dataclass(frozen=True, eq=False)
class Reservation:
    """Money, tokens and a call reserved for one request."""

    upper: CostBound


_NOTHING = CostBound(1, 0, None)


class SharedBudget(Protocol):
    """What several runs may spend together; the methods are those of `BudgetTracker`."""

    async def reserve(self, upper: CostBound) -> Reservation: ...
    def settle(self, reservation: Reservation, reply: Reply) -> None: ...
    def release(self, reservation: Reservation) -> None: ...
    def time_reached(self, failure: str = "") -> BudgetReached | None: ...


class BudgetTracker:
    """What a run may still spend. Every call reserves its upper bound before it is sent."""

    def __init__(
        self,
        budget: Budget,
        elapsed: Callable[[], float] = lambda: 0.0,
        shared: SharedBudget | None = None,
    ) -> None:
        self._budget = budget
        self._elapsed = elapsed
        """Working time so far in seconds, that of earlier processes included."""
        self._began, self._settled = elapsed(), 0
        """Of this process: what one before had to wait for is not a pace."""
        self._limited = budget != Budget()
        self.spent = Spent()
        # Assumed where providers report no usage: it counts towards the limits and is never shown.
        self._assumed = NOTHING_USED
        self._largest = NOTHING_USED
        """The most that any single call could have taken."""
        self._out: set[Reservation] = set()
        self._reserved = NOTHING_USED
        self._queue: deque[tuple[asyncio.Future[Reservation], CostBound]] = deque()
        self._shared = shared
        """The budget of all runs that this one belongs to; every call reserves from both."""
        self._from_shared: dict[Reservation, Reservation] = {}

    def bound(self, request: Request, rates: Rates | None) -> CostBound:
        return upper_bound(request, rates) if self._limited or self._shared else _NOTHING

    async def reserve(self, upper: CostBound) -> Reservation:
        """Reserve a call's upper bound; wait where it may fit once other calls are settled."""
        own = await self._reserve(upper)
        if self._shared:
            try:
                self._from_shared[own] = await self._shared.reserve(upper)
            except BaseException:
                self.release(own)
                raise
        return own

    async def _reserve(self, upper: CostBound) -> Reservation:
        if not self._limited:
            return Reservation(upper)
        self._check(upper)
        if not self._queue and self._fits(upper):
            return self._grant(upper)
        turn: asyncio.Future[Reservation] = asyncio.get_running_loop().create_future()
        self._queue.append((turn, upper))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._look_again()
            elif not turn.exception():
                # Granted and cancelled in the same moment.
                self.release(turn.result())
            raise

    def settle(self, reservation: Reservation, reply: Reply) -> None:
        if self._shared:
            self._shared.settle(self._from_shared.pop(reservation), reply)
        self._settled += 1
        self.carry(reply, reservation.upper)
        self.release(reservation)

    def carry(self, reply: Reply, upper: CostBound) -> None:
        """Count a reply as spent; its upper bound replaces what it does not report."""
        self.spent = self.spent.plus(reply)
        if not self._limited:
            return
        costs = [each.cost for each in (self._largest, upper) if each.cost is not None]
        most = max(self._largest.tokens, upper.tokens)
        self._largest = CostBound(1, most, max(costs, default=None))
        tokens = 0 if reply.usage.metered else max(0, upper.tokens - reply.usage.total)
        cost = upper.cost if reply.cost is None else None
        # A call that was under way at a kill is counted already, and reserved as none.
        self._assumed = self._assumed.plus(CostBound(upper.calls - 1, tokens, cost))

    def carry_used(self, used: CostBound) -> None:
        """Count what other runs have used; less than nothing where too much was counted."""
        self._assumed = self._assumed.plus(used)
        self._look_again()

    def release(self, reservation: Reservation) -> None:
        """Give back all of it: the call left no reply."""
        if self._shared and reservation in self._from_shared:
            self._shared.release(self._from_shared.pop(reservation))
        if not self._limited:
            return
        self._out.remove(reservation)
        self._reserved = self._reserved.plus(reservation.upper, -1)
        self._look_again()

    def time_reached(self, failure: str = "") -> BudgetReached | None:
        """That the time is over, for this run or all together, and what a provider answered last; None before."""
        if self.seconds_left > 0:
            return self._shared.time_reached(failure) if self._shared else None
        return out_of_time(f"the time limit of {duration(self._budget.seconds or 0)}", failure)

    @property
    def seconds_left(self) -> float:
        return inf if self._budget.seconds is None else self._budget.seconds - self._elapsed()

    @property
    def used(self) -> CostBound:
        spent = CostBound(self.spent.calls, self.spent.known_tokens, self.spent.known_cost)
        return spent.plus(self._assumed)

    def shortage(self, calls: int, steps: int) -> Shortage | None:
        """What is left of a limit that so many calls like those so far would exceed, in so many steps of time."""
        budget, used = self._budget, self.used
        if budget.calls is not None and used.calls + calls > budget.calls:
            return Shortage("calls", f"{budget.calls - used.calls:,} of {budget.calls:,} calls")
        growth = 1 + Decimal(calls) / used.calls if used.calls else Decimal(1)
        seconds = self._elapsed()
        ahead = (seconds - self._began) * steps / (self._settled or inf)
        if budget.seconds is not None and seconds + ahead > budget.seconds:
            rest = max(0.0, budget.seconds - seconds)
            return Shortage("seconds", f"{duration(rest)} of {duration(budget.seconds)}")
        # A call is sent only if all that it could take is left, and judges of the last panels read the most.
        spare = self._largest
        if budget.tokens is not None and used.tokens * growth + 2 * spare.tokens > budget.tokens:
            left = budget.tokens - used.tokens
            return Shortage("tokens", f"{left:,} of {budget.tokens:,} tokens")
        cost = used.cost or Decimal(0)
        if budget.cost is not None and cost * growth + 2 * (spare.cost or 0) > budget.cost:
            return Shortage("cost", f"{money(budget.cost - cost)} of {money(budget.cost)}")
        return None

    def _grant(self, upper: CostBound) -> Reservation:
        reservation = Reservation(upper)
        self._out.add(reservation)
        self._reserved = self._reserved.plus(upper)
        return reservation

    def _look_again(self) -> None:
        while self._queue:
            turn, upper = self._queue[0]
            if not turn.done():
                try:
                    self._check(upper)
                except BudgetReached as reached:
                    turn.set_exception(reached)
                else:
                    if not self._fits(upper):
                        return
                    turn.set_result(self._grant(upper))
            self._queue.popleft()

    def _check(self, upper: CostBound) -> None:
        """Refuse what would not fit even if every call under way cost nothing."""
        if reached := self.time_reached():
            raise reached
        check_limits(self._budget, self.used, upper)

    def _fits(self, upper: CostBound) -> bool:
        return fits(self._budget, self.used.plus(self._reserved).plus(upper))


def charge(reply: Reply, upper: CostBound) -> CostBound:
    tokens, cost = reply.usage.total, reply.cost
    return CostBound(
        # None where the call was under way at a kill and is counted already.
        upper.calls,
        tokens if reply.usage.metered else max(tokens, upper.tokens),
        upper.cost if cost is None else cost,
    )


def fits(budget: Budget, needed: CostBound) -> bool:
    limits = (budget.calls, budget.tokens, budget.cost)
    pairs = zip(needed, limits, strict=True)
    return all(limit is None or (each or 0) <= limit for each, limit in pairs)


def check_limits(budget: Budget, used: CostBound, upper: CostBound) -> None:
    if budget.calls is not None and used.calls + upper.calls > budget.calls:
        raise BudgetReached(f"the limit of {count(budget.calls, 'call')} is reached", "calls")
    if budget.tokens is not None and used.tokens + upper.tokens > budget.tokens:
        raise BudgetReached(
            f"{used.tokens:,} of {budget.tokens:,} tokens are spent and the next call could "
            f"take {upper.tokens:,}",
            "tokens",
        )
    if budget.cost is None:
        return
    if upper.cost is None:
        raise InvalidInput("the price of a call is not known; limit tokens or calls instead")
    spent = used.cost or Decimal(0)
    if spent + upper.cost > budget.cost:
        raise BudgetReached(
            f"{money(spent)} of {money(budget.cost)} are spent and the next call could "
            f"cost {money(upper.cost)}",
            "cost",
        )


_NEEDED = re.compile(r"\$?([\d,.]+) of .+ spent and the next call could (?:take|cost) \$?([\d,.]+)")


def find_needed(reason: str) -> float:
    """What a run that paused for such a reason needs in all for its next call; 0 where it does not say."""
    found = _NEEDED.fullmatch(reason)
    return sum(float(each.replace(",", "")) for each in found.groups()) if found else 0.0


def out_of_time(limit: str, failure: str) -> BudgetReached:
    return BudgetReached(f"{limit} is reached{f'; {failure}' if failure else ''}", "seconds")
