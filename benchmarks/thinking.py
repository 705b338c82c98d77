"""A model that answers in the process that asks, after a while: no server takes processor time beside it."""

from __future__ import annotations

import asyncio

from autoreason.exchange import OnSignal, Reply, Request
from autoreason.models.doubles import EchoModel

_SECONDS = 0.05


class ThinkingModel(EchoModel):
    """An echo after a moment."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Think, then answer."""
        await asyncio.sleep(_SECONDS)
        return await super().ask(request, on_signal)
