"""Event loops that are closed early, as they are when a program ends, is interrupted or fails elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


def closed_after(turns: int, begin: Callable[[], Coroutine[Any, Any, object]]) -> bool:
    """Let a loop turn so often, then close it, which cancels every task at once; whether the work was done by then."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(begin())
        for _ in range(turns):
            loop.call_soon(loop.stop)
            loop.run_forever()
        done = task.done()
    return done and task.exception() is None
