"""A server from its start to Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from autoreason.studies.raters.server import Server
from autoreason.studies.raters.session import OnMessage


async def serve_packet(
    folder: Path,
    *,
    port: int | None,
    rater: str | None,
    ready: Callable[[str], None],
    on_message: OnMessage,
) -> None:
    """Serve a packet until it is stopped; `ready` is called with the address."""
    server = Server(folder, rater=rater, on_message=on_message)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopped.set)
    try:
        ready(await server.start(port))
        await stopped.wait()
    finally:
        await server.stop()
