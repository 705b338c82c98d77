"""A provider that answers like the echo model, and counts: who asked what, and how many at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf

import msgspec
from aiohttp import web
from tests.cli.server import request_of

from autoreason.journal import Journal
from autoreason.journal.writer import HeldRows
from autoreason.models.doubles import EchoModel
from autoreason.models.layers import Width
from autoreason.run.leases import BASE, Lease, as_row, provider_account

ADDRESS = "ollama/echo"


@asynccontextmanager
async def three_places(journal: Journal) -> AsyncIterator[None]:
    """Let the server have three places, and never more, in a journal whose leases are written by others too."""
    account, table = provider_account("ollama"), journal.open_leases()

    def decide(rows: HeldRows, _now: float) -> None:
        # As long as somebody has a row, what is known of a provider stays.
        rows[account] = {BASE: as_row(Width(3.0, 3.0)), "somebody": as_row(Lease())}

    async with journal.lock_async("somebody"):
        await table.update([account], decide)
        yield
    table.close()


class CountingServer:
    """Speaks OpenAI's format. A caller that is gone is no longer counted. What it says may be given."""

    def __init__(self, delay: float, says: str = "") -> None:
        self.delay = delay
        self._says = says
        self.refusing: float | None = None
        """Seconds after which the next request may come again; that one is refused."""
        self.url = ""
        self.asked: Counter[bytes] = Counter()
        """Every request, by its body."""
        self.inside = 0
        self.most = 0
        """At once."""
        self.answered = 0
        self.answers = inf
        """How many it gives; the callers of all others wait until there are more."""
        self.arrived: list[float] = []

    def has(self, number: int) -> bool:
        return self.asked.total() > number

    def beyond(self, other: Counter[bytes]) -> int:
        return (self.asked - other).total()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[CountingServer]:
        app = web.Application(client_max_size=2**24)
        app.router.add_get("/v1/models", self._list)
        app.router.add_post("/v1/chat/completions", self._complete)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _list(self, _request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "echo"}]})

    async def _complete(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.arrived.append(asyncio.get_running_loop().time())
        if self.refusing is not None:
            after, self.refusing = self.refusing, None
            return web.json_response({}, status=429, headers={"retry-after": str(after)})
        self.asked[body] += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await asyncio.sleep(self.delay)
            while self.answered >= self.answers:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            self.answered += 1
            echo = await EchoModel().ask(request_of(msgspec.json.decode(body)))
            return web.json_response(_completion(body, self._says or echo.text))
        finally:
            self.inside -= 1


def _completion(body: bytes, text: str) -> dict[str, object]:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": len(body) // 4, "completion_tokens": len(text) // 4}
    return {"choices": [choice], "usage": usage}
