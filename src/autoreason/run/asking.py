"""The run's `ask`: what the journal knows is answered from there, everything else is paid for once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic

from autoreason.errors import Accepted, CallFailed, ProviderFailed, RecordDiverged, Stopped
from autoreason.exchange import CallEnded, CallStarted, OnSignal, Outcome, Reply, Request
from autoreason.journal import Journal, RecordedReply
from autoreason.models.budget import Purse
from autoreason.models.pool import ModelPool
from autoreason.models.prices import rates
from autoreason.run.result import Switch

_LOOK_EVERY = 0.5


class Memory:
    """Replies of the record by key; a request that differs from the one recorded is never answered with its reply."""

    def __init__(self, replies: Mapping[str, RecordedReply]) -> None:
        self._replies = replies

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
        return recorded.reply


class Asker:
    """Answers the tournament's requests for one run."""

    def __init__(
        self,
        run: str,
        journal: Journal,
        pool: ModelPool,
        purse: Purse,
        switch: Switch,
        on_signal: OnSignal | None = None,
    ) -> None:
        self._run = run
        self._journal = journal
        self._pool = pool
        self._memory = Memory(journal.replies(run))
        self._switch = switch
        self._on_signal = on_signal
        self._accepted = False
        self.purse = purse

    async def __call__(self, request: Request) -> Reply:
        known = self._memory.recall(request)
        if known is not None:
            self._signal_end(request, known, replayed=True)
            return known
        if request.role == "person":
            return await self._journal.record_guidance(self._run, request)
        self._heed_commands()
        reservation = await self.purse.reserve(self.purse.bound(request, rates(request.model)))
        try:
            reply = await self._send(request)
        except BaseException:
            self.purse.release(reservation)
            raise
        self.purse.settle(reservation, reply)
        await self._journal.record_reply(self._run, request, reply)
        self._signal_end(request, reply)
        return reply

    async def _send(self, request: Request) -> Reply:
        started = monotonic()
        if self._on_signal:
            self._on_signal(CallStarted(request.key, request.role, request.model))
        self._journal.asked(self._run, request)
        try:
            return await self._pool.lend(request.model).ask(request, self._on_signal)
        except (ProviderFailed, CallFailed) as error:
            if self._on_signal:
                seconds = monotonic() - started
                self._on_signal(CallEnded(request.key, Outcome.PROVIDER_ERROR, seconds))
            raise ProviderFailed(str(error)) from error

    async def watch_for_commands(self) -> None:
        """Look for what a person typed in another terminal, for as long as the run lasts."""
        while True:
            command = self._journal.take_command(self._run)
            if command:
                self._accepted = command.kind == "accept"
                self._switch.stop()
            await asyncio.sleep(_LOOK_EVERY)

    def _heed_commands(self) -> None:
        if self._accepted:
            raise Accepted("a person accepted the text as it stands")
        if self._switch.stopped:
            raise Stopped("a person stopped the run")

    def _signal_end(self, request: Request, reply: Reply, *, replayed: bool = False) -> None:
        if self._on_signal and request.role != "person":
            self._on_signal(
                CallEnded(
                    request.key, reply.outcome, reply.seconds, reply.usage, reply.cost, replayed
                )
            )


def _same_question(recorded: Request, request: Request) -> bool:
    """Whether the same is asked; who answers, how warmly and at what length may differ."""
    return (recorded.role, recorded.messages, recorded.schema) == (
        request.role,
        request.messages,
        request.schema,
    )
