"""What a suite may still spend."""

from __future__ import annotations

from tests.journal.samples import a_reply, a_request, create_run

from autoreason.journal import Journal
from autoreason.run.cell_budget import open_budget
from autoreason.settings import Budget


async def test_a_limit_counts_every_suite_that_was_added_to(journal: Journal) -> None:
    for suite, base in (("one", None), ("two", "one"), ("three", "two"), ("other", None)):
        create_run(journal, suite, forked_from=base)
        create_run(journal, f"{suite}.0001")
        await journal.record_reply(f"{suite}.0001", a_request(), a_reply())
    for suite, calls in (("one", 1), ("two", 2), ("three", 3)):
        budget = open_budget(journal, Budget(calls=9), suite)
        assert budget is not None
        assert budget.used.calls == calls
