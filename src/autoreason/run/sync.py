"""Waiting for a coroutine in a program without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from autoreason.errors import InvalidInput

T = TypeVar("T")


def wait_for(call: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
    """Run a coroutine to its result; `name` is the function that was called."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise InvalidInput(
            f"{name}() cannot wait inside a running event loop; write `await {name}_async(...)`"
        )
    return asyncio.run(call())
