"""Strategies without revision: independent attempts, and one of them."""

from __future__ import annotations

from autoreason.events import Delivered
from autoreason.programs.program_strategy import ProgramStrategy


class SingleProgram(ProgramStrategy):
    """Independent attempts until one passes every public test; that one is handed in.

    Where none does, the first is handed in: there is nothing to choose by.
    """

    summary = (
        "independent attempts; the first that passes the public tests, or else the first of all"
    )
    counts_tests = False
    used_settings = ()

    async def run(self) -> Delivered:
        """Try until one passes or the calls are spent."""
        while self.may_ask():
            attempt = await self.author()
            if attempt and attempt.passes_all:
                return self.hand_in(attempt)
        return self.hand_in(self.attempts[0] if self.attempts else None)


class BestOfNPrograms(ProgramStrategy):
    """Independent attempts; the one that passes most public tests is handed in, the earliest among equals.

    It stops early only where one passes them all: no other could be chosen before it.
    """

    summary = "independent attempts; the one that passes most public tests"
    used_settings = ()

    async def run(self) -> Delivered:
        """Try as often as there are calls, then choose."""
        while self.may_ask():
            attempt = await self.author()
            if attempt and attempt.passes_all:
                break
        return self.hand_in(self.best())
