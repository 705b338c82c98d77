"""Limits and stops reach calls that wait: for a retry, for their turn, for a server that says nothing."""

from __future__ import annotations

import asyncio
from math import inf
from pathlib import Path
from typing import Any

import pytest
from tests.models.fake_provider import Answer, FakeProvider, provider
from tests.patience import PATIENCE
from tests.run.suites import SMALL, run_suite

from autoreason.journal import Journal
from autoreason.models.budget import BudgetTracker
from autoreason.run.refine import refine
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget

__all__ = ["provider"]

MODEL = "ollama/fake-large"
LIMIT = Budget(seconds=5)


class Clock:
    """Time that passes when a test says so."""

    left = 1.0

    def run_out(self, answer: Answer) -> Answer:
        """The time is over when this is answered."""
        self.left = 0.0
        return answer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of every budget with a time limit."""
    clock = Clock()

    def seconds_left(tracker: BudgetTracker) -> float:
        return clock.left if tracker._budget.seconds else inf

    monkeypatch.setattr(BudgetTracker, "seconds_left", property(seconds_left))
    return clock


def refusing(status: int) -> Answer:
    """An answer that asks to wait for longer than any test does."""
    body = {"error": {"message": "not now"}}
    return Answer(status=status, body=body, headers={"retry-after": "110"})


@pytest.mark.parametrize("status", [429, 500])
async def test_a_time_limit_ends_the_wait_for_a_retry_and_says_what_was_answered(
    provider: FakeProvider, clock: Clock, status: int
) -> None:
    provider.minded = lambda body: clock.run_out(refusing(status)) if body else Answer()
    async with asyncio.timeout(PATIENCE):
        paused = await refine.aio("Tides.", MODEL, base_url=provider.openai, budget=LIMIT)
    assert paused.conclusion == (
        f"paused at the budget: the time limit of 5.0 s is reached; ollama answered {status}: not now"
    )
    assert f"autoreason resume {paused.run} with a higher --time-limit" in paused.to_text()


async def test_a_call_under_way_at_the_time_limit_is_still_waited_for(
    provider: FakeProvider, clock: Clock
) -> None:
    provider.minded = lambda body: clock.run_out(Answer(delay=1.5)) if body else Answer()
    paused = await refine.aio("Tides.", MODEL, base_url=provider.openai, budget=LIMIT)
    assert paused.status == "budget"
    assert paused.calls == 1


async def test_the_time_limit_of_a_suite_ends_the_waits_of_its_cells(
    tmp_path: Path, journal: Journal, provider: FakeProvider, clock: Clock
) -> None:
    provider.minded = lambda body: clock.run_out(refusing(429)) if body else Answer()
    options: dict[str, Any] = {"base_url": provider.openai, "budget": LIMIT}
    async with asyncio.timeout(PATIENCE):
        paused = await run_suite(tmp_path, journal, SMALL, model=MODEL, **options)
    assert paused.reason == (
        "all cells together: the time limit of 5.0 s is reached; ollama answered 429: not now"
    )


async def test_the_time_limit_of_a_suite_ends_the_waits_in_other_processes(
    tmp_path: Path, journal: Journal, provider: FakeProvider
) -> None:
    provider.minded = lambda body: refusing(429) if body else Answer()
    options: dict[str, Any] = {"base_url": provider.openai, "budget": LIMIT, "workers": 1}
    async with asyncio.timeout(PATIENCE):
        paused = await run_suite(tmp_path, journal, SMALL, model=MODEL, **options)
    assert paused.reason.startswith("all cells together: the time limit")


async def test_a_stop_that_waited_long_enough_ends_a_reply_under_way(
    provider: FakeProvider,
) -> None:
    switch = StopSwitch()

    def answer(body: object) -> Answer:
        if body:
            switch.stop(wait=0.0)
        return Answer(delay=3600 if body else 0)

    provider.minded = answer
    async with asyncio.timeout(PATIENCE):
        stopped = await refine.aio("Tides.", MODEL, base_url=provider.openai, stop_switch=switch)
    assert stopped.status == "stopped"
    assert "asked again" in stopped.reason
