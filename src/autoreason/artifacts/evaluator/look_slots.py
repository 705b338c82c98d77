"""How many looks are taken at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class LookSlots:
    """So many looks at a time, each with a number; one that is to be alone waits for all others."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._free = list(range(count))
        self._alone = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def take(self, *, alone: bool) -> AsyncIterator[int]:
        """A slot, or all of them."""
        async with self._changed:
            self._alone += alone
            try:
                await self._changed.wait_for(lambda: self._is_free(alone=alone))
            except BaseException:
                self._alone -= alone
                self._changed.notify_all()
                raise
            taken = [self._free.pop() for _ in range(self._count if alone else 1)]
        try:
            yield taken[0]
        finally:
            async with self._changed:
                self._alone -= alone
                self._free += taken
                self._changed.notify_all()

    def _is_free(self, *, alone: bool) -> bool:
        if alone:
            return len(self._free) == self._count
        return bool(self._free) and not self._alone
