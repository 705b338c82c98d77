"""A dry run says what a run may take and what it would say first, and calls nothing."""

from __future__ import annotations

from msgspec.structs import replace
from tests.run.runs import TASK, scripted, settings, start_run

from autoreason.journal import Journal
from autoreason.run.estimate import estimate_run


async def test_the_range_is_ordered_and_priced_where_prices_are_known() -> None:
    known = await estimate_run(TASK, settings("openai/gpt-4.1"))
    assert known.calls is not None
    assert known.tokens is not None
    assert known.calls.low < known.calls.likely < known.calls.high
    assert known.tokens.low < known.tokens.likely < known.tokens.high
    assert known.cost is not None
    assert 0 < known.cost[0] < known.cost[1] < known.cost[2]
    assert (await estimate_run(TASK, settings("acme/unheard-of"))).cost is None


async def test_the_first_request_is_the_real_one() -> None:
    drafting = await estimate_run(TASK, settings())
    assert drafting.request is not None
    assert drafting.calls is not None
    assert (drafting.request.key, drafting.request.role) == ("draft/try/0", "author")
    improving = await estimate_run(replace(TASK, draft="A draft."), settings())
    assert improving.request is not None
    assert improving.calls is not None
    assert (improving.request.key, improving.request.role) == ("pass/1/critic/0/try/0", "critic")
    assert improving.calls.low == drafting.calls.low - 1


async def test_no_run_takes_more_calls_than_the_most_or_fewer_than_the_fewest(
    journal: Journal,
) -> None:
    span = (await estimate_run(TASK, settings())).calls
    assert span is not None
    worst = await start_run(journal, scripted({"judge": "no comment"}))
    assert worst.calls < span.high
    best = await start_run(journal, scripted({"critic": '{"problems": []}'}))
    assert best.calls == span.low
