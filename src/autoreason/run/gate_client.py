"""The gate of all calls, as a process that runs cells sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from math import inf
from time import monotonic

from msgspec.structs import replace

from autoreason.errors import BudgetReached
from autoreason.exchange import Reply
from autoreason.models.budget import CostBound, Reservation, out_of_time
from autoreason.models.layers import idle_section
from autoreason.run.cell_messages import (
    Enter,
    FromGate,
    Granted,
    Release,
    Reserve,
    Settle,
    Sign,
    ToGate,
)


class GateClient:
    """Asks for places and money, and knows what it has been granted."""

    def __init__(self, send: Callable[[ToGate], None]) -> None:
        self._send = send
        self._numbers = count(1)
        self._waiting: dict[int, tuple[Enter | Reserve, asyncio.Future[None]]] = {}
        self._granted: dict[int, Enter | Reserve] = {}
        self._limiters: dict[str, RemoteLimiter] = {}
        self.settled = 0
        """How many calls were paid for so far."""

    @property
    def granted(self) -> list[Enter | Reserve]:
        """What was granted and not given back."""
        return list(self._granted.values())

    @property
    def waiting(self) -> list[Enter | Reserve]:
        """What was asked for and not granted yet, in order."""
        return [message for message, _ in self._waiting.values()]

    def limiter(self, provider: str) -> RemoteLimiter:
        """The places of a provider."""
        limiter = self._limiters[provider] = RemoteLimiter(self, provider)
        return limiter

    def return_spare(self) -> None:
        """Give back every place that no call uses."""
        for limiter in self._limiters.values():
            limiter.return_spare()

    def number(self) -> int:
        """For the next thing to ask for."""
        return next(self._numbers)

    async def ask(self, message: Enter | Reserve) -> None:
        """Wait until something is granted."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[message.number] = message, turn
        self._send(message)
        try:
            await turn
        except asyncio.CancelledError:
            self._waiting.pop(message.number, None)
            self.give_back(Release(number=message.number))
            raise

    def take(self, message: FromGate) -> None:
        """Act on a message of the gate."""
        if isinstance(message, Granted):
            self._answer(message)
        elif limiter := self._limiters.get(message.provider):
            limiter.return_spare()

    def _answer(self, message: Granted) -> None:
        asked, turn = self._waiting.pop(message.number, (None, None))
        if asked is None or turn is None or turn.done():
            return
        if message.refusal:
            turn.set_exception(BudgetReached(message.refusal, message.limit))
        else:
            self._granted[message.number] = asked
            if isinstance(asked, Enter):
                self._limiters[asked.provider].keeps = message.spare
            turn.set_result(None)

    def give_back(self, message: Settle | Release) -> None:
        """Something that was granted is no longer needed, or is paid for."""
        self._granted.pop(message.number, None)
        self.settled += isinstance(message, Settle)
        self._send(message)


class RemoteLimiter:
    """The places of a provider, which the gate grants."""

    limit = None

    def __init__(self, client: GateClient, provider: str) -> None:
        self._client, self._provider = client, provider
        self._inside: list[int] = []
        self._spare: list[int] = []
        """Places that are kept for the next call."""
        self.keeps = False
        """Whether places may be kept."""
        self._sign: Sign = "other"
        self._retry_after: float | None = None

    async def enter(self) -> None:
        """Take a place that was kept, or wait for one."""
        if self._spare:
            self._inside.append(self._spare.pop())
            return
        message = Enter(number=self._client.number(), provider=self._provider)
        with idle_section():
            await self._client.ask(message)
        self._inside.append(message.number)

    def widen(self) -> None:
        """The call that leaves next succeeded."""
        self._sign = "well"

    def narrow(self, retry_after: float | None = None) -> None:
        """The call that leaves next was refused, because there are too many."""
        self._sign, self._retry_after = "refused", retry_after

    def leave(self) -> None:
        """Give the place back, or keep it; one is like another."""
        number = self._inside.pop()
        if self.keeps and self._sign != "refused":
            self._spare.append(number)
            self._sign = "other"
            return
        self._client.give_back(
            Release(number=number, sign=self._sign, retry_after=self._retry_after)
        )
        self._sign, self._retry_after = "other", None

    def return_spare(self) -> None:
        """Give back the places that were kept, and keep none."""
        self.keeps = False
        while self._spare:
            self._client.give_back(Release(number=self._spare.pop()))


class RemoteBudget:
    """The budget of all cells, which the gate keeps, as one run draws on it."""

    def __init__(self, client: GateClient, run: str, seconds_left: float | None = None) -> None:
        self._client, self._run = client, run
        self._time_ends = inf if seconds_left is None else monotonic() + seconds_left
        self._numbers: dict[Reservation, int] = {}

    async def reserve(self, upper: CostBound) -> Reservation:
        """Ask for a reservation and wait for it."""
        number, reservation = self._client.number(), Reservation(upper)
        await self._client.ask(Reserve(number=number, run=self._run, upper=upper))
        self._numbers[reservation] = number
        return reservation

    def settle(self, reservation: Reservation, reply: Reply) -> None:
        """Pay for a reply."""
        small = replace(reply, text="", reasoning="")
        self._client.give_back(Settle(number=self._numbers.pop(reservation), reply=small))

    def release(self, reservation: Reservation) -> None:
        """Give back all of it."""
        self._client.give_back(Release(number=self._numbers.pop(reservation)))

    def time_reached(self, failure: str = "") -> BudgetReached | None:
        """That the time for all cells is over; None before."""
        return out_of_time("the time limit", failure) if monotonic() >= self._time_ends else None
