"""Concurrent work: results in order, and nothing left running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def use_in_order(work: list[Coroutine[Any, Any, T]], use: Callable[[T], object]) -> None:
    """Use results in the order of the work, as soon as those before are used; all ends before a failure is raised.

    Calls next to the one that failed are paid for, so they are awaited and recorded.
    """
    tasks = [asyncio.ensure_future(item) for item in work]
    failure: Exception | None = None
    try:
        for task in tasks:
            try:
                result = await task
            except Exception as raised:
                failure = failure or raised
            else:
                if not failure:
                    use(result)
        if failure:
            raise failure
    finally:
        await cancel(tasks)


async def cancel(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait until they have ended: what they record later could conflict with other records."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
