"""A server from its start to Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from autoreason.studies.raters.server import Server
from autoreason.studies.raters.session import Say


async def serving(
    folder: Path,
    *,
    port: int | None,
    rater: str | None,
    ready: Callable[[str], None],
    say: Say,
) -> None:
    """Serve a packet until somebody ends it; `ready` is told where."""
    server = Server(folder, rater=rater, say=say)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, ended.set)
    try:
        ready(await server.start(port))
        await ended.wait()
    finally:
        await server.stop()
