"""What a suite may still spend."""

from __future__ import annotations

import pytest
from tests.journal.samples import a_reply, a_request, change, create_run

from autoreason.errors import BudgetReached
from autoreason.events import RunStarted
from autoreason.journal import Journal
from autoreason.models.budget import CostBound
from autoreason.run.cells import open_budget, open_tracker
from autoreason.settings import Budget, Models, Settings
from autoreason.task import Task


async def test_a_limit_counts_every_suite_that_was_added_to(journal: Journal) -> None:
    for suite, base in (("one", None), ("two", "one"), ("three", "two"), ("other", None)):
        create_run(journal, suite, forked_from=base)
        create_run(journal, f"{suite}.0001")
        await journal.record_reply(f"{suite}.0001", a_request(), a_reply())
    for suite, calls in (("one", 1), ("two", 2), ("three", 3)):
        budget = open_budget(journal, Budget(calls=9), suite)
        assert budget is not None
        assert budget.used.calls == calls


async def test_calls_under_way_at_a_kill_count_until_they_are_answered(journal: Journal) -> None:
    create_run(journal, "one")
    create_run(journal, "one.0001")
    for key, replies in (("lost", 0), ("lost", 0), ("also", 0), ("answered", 1)):
        journal.record_request("one.0001", a_request(key))
        if replies:
            await journal.record_reply("one.0001", a_request(key), a_reply())
    for calls in (3, 3):
        budget = open_budget(journal, Budget(calls=9), "one")
        assert budget is not None
        assert budget.used.calls == calls
        await journal.flush()
        journal.record_request("one.0001", a_request("also"))
    await journal.record_reply("one.0001", a_request("also"), a_reply())
    await journal.record_reply("one.0001", a_request("lost"), a_reply())
    budget = open_budget(journal, Budget(calls=9), "one")
    assert budget is not None
    assert budget.used.calls == 3


async def test_a_time_limit_counts_every_suite_that_was_added_to(journal: Journal) -> None:
    settings = Settings(models=Models.judging("echo/echo"), seed=1)
    started = RunStarted(task=Task(brief="a"), settings=settings, prompts={}, version="")
    await journal.begin_run("a", "", started, "one")
    await journal.record_reply("one", a_request(), a_reply())
    an_hour_before = "UPDATE events SET at = datetime(at, '-1 hour') || '+00:00'"
    change(str(journal.place), an_hour_before)
    for suite, base in (("two", "one"), ("other", None)):
        create_run(journal, suite, forked_from=base)
    budget = Budget(seconds=3600)
    other, two = (open_tracker(journal, budget, suite) for suite in ("other", "two"))
    assert other is not None
    assert two is not None
    await other.reserve(CostBound(1, 1, None))
    with pytest.raises(BudgetReached, match="time limit"):
        await two.reserve(CostBound(1, 1, None))
