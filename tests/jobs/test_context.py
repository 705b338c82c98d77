"""Work side by side, whose story is told one after another, and a run's randomness."""

from __future__ import annotations

import asyncio
import gc
import random
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.errors import InvalidInput, ProviderFailed, Stopped
from autoreason.events import AnyEvent, DraftFailed
from autoreason.exchange import Outcome, Reply, Spent, Usage
from autoreason.jobs.context import (
    Allowance,
    Emit,
    boundary,
    run_in_windows,
    side_by_side,
    use_in_order,
)
from autoreason.report.numbers import show_tokens, spending
from autoreason.settings import Unit
from autoreason.tournament.voting import PanelSize


def reply(tokens: int | None = 10, cost: str | None = "0.5") -> Reply:
    return Reply(
        outcome=Outcome.OK,
        text="x",
        model="m",
        usage=Usage(input=tokens, output=0 if tokens is not None else None),
        cost=None if cost is None else Decimal(cost),
    )


@given(
    unit=st.sampled_from(["calls", "tokens", "cost"]),
    amount=st.integers(0, 60),
    a_pass=st.integers(1, 7),
    after=st.integers(0, 9),
)
def test_passes_that_are_all_alike_never_overstep_it(
    unit: Unit, amount: int, a_pass: int, after: int
) -> None:
    price = {"calls": Decimal(1), "tokens": Decimal(10), "cost": Decimal("0.5")}[unit]
    allowance = Allowance(unit, amount * price)
    passes = 0
    while allowance.fits_another(a_pass, after) and passes < 100:
        allowance.begin_pass()
        for _ in range(a_pass):
            allowance.charge(reply())
        allowance.end_pass()
        passes += 1
    if unit == "calls" or passes > 1:
        assert passes == 0 or passes * a_pass + after <= amount
    assert (passes + 1) * a_pass + after > amount
    assert passes <= 1 or passes * a_pass <= amount


def test_without_a_limit_everything_fits_and_else_what_is_left_is_what_was_not_taken() -> None:
    allowance = Allowance("calls")
    assert allowance.left is None
    for _ in range(5):
        assert allowance.fits_another(1000, 1000)
        allowance.charge(reply())
    assert allowance.spent == 5
    allowance = Allowance("calls", Decimal(2))
    assert allowance.left == 2
    allowance.charge(reply())
    assert allowance.left == 1


def test_an_allowance_of_nothing_allows_nothing_also_to_models_that_cost_nothing() -> None:
    for unit in ("calls", "tokens", "cost"):
        assert not Allowance(unit, Decimal(0)).fits_another()
    allowance = Allowance("cost", Decimal(0))
    allowance.charge(reply(cost="0"))
    assert not allowance.fits_another()


@pytest.mark.parametrize(
    ("unit", "uncounted"), [("cost", reply(cost=None)), ("tokens", reply(tokens=None))]
)
def test_what_is_not_counted_cannot_be_matched(unit: Unit, uncounted: Reply) -> None:
    allowance = Allowance(unit, Decimal(5))
    allowance.charge(uncounted)
    with pytest.raises(InvalidInput, match=f"does not report {unit}"):
        allowance.fits_another()


@given(st.integers(2, 9), st.integers(2, 60))
def test_the_seats_of_a_panel_share_its_calls(judges: int, calls: int) -> None:
    size = PanelSize(min(judges, calls), calls=calls)
    shares = [size.requests(seat) for seat in range(size.judges)]
    assert sum(shares) <= calls
    assert min(shares) >= 1
    assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize(
    ("spent", "limit", "sentence"),
    [
        (Spent(), None, "0 tokens"),
        (Spent(calls=1, input=900, output=300), None, "1,200 tokens"),
        (Spent(calls=1, input=900, output=300), 5000, "1,200 of 5,000 tokens"),
        (Spent(calls=2, input=900, output=300, unmetered=1), None, "at least 1,200 tokens"),
        (Spent(calls=2, input=900, unmetered=1), 5000, "at least 900 of 5,000 tokens"),
        (Spent(calls=1, unmetered=1), None, "tokens unknown"),
        (Spent(calls=1, unmetered=1), 5000, "tokens unknown of 5,000"),
    ],
)
def test_tokens_that_no_provider_counted_are_unknown(
    spent: Spent, limit: int | None, sentence: str
) -> None:
    assert show_tokens(spent, limit) == sentence


def test_calls_of_unknown_price_are_counted_beside_what_is_known() -> None:
    assert spending(Spent(calls=2, unpriced=2), 4.06) == ("2 calls, 0 tokens, cost unknown, 4.1 s")
    assert spending(Spent(calls=2, input=5)) == "2 calls, 5 tokens, $0.00"


def event(part: int, step: int) -> AnyEvent:
    return DraftFailed(attempt=step, reason="empty", detail=str(part))


async def work(part: int, steps: int, luck: random.Random, emit: Emit) -> int:
    for step in range(steps):
        await asyncio.sleep(luck.random() / 5000)
        emit(event(part, step))
    return part


@settings(max_examples=20)
@given(st.lists(st.integers(0, 4), max_size=5), st.integers(0, 2**16))
async def test_events_come_part_after_part_whichever_is_quicker(
    steps: list[int], seed: int
) -> None:
    emitted: list[AnyEvent] = []
    luck = random.Random(seed)
    works = [partial(work, part, count, luck) for part, count in enumerate(steps)]
    assert await side_by_side(emitted.append, works) == list(range(len(steps)))
    assert emitted == [event(part, s) for part, count in enumerate(steps) for s in range(count)]


@settings(max_examples=15)
@given(st.integers(0, 2**16))
async def test_parts_within_parts_keep_their_order_too(seed: int) -> None:
    luck = random.Random(seed)

    async def nested(part: int, emit: Emit) -> list[int]:
        return await side_by_side(
            emit, [partial(work, 10 * part + inner, 2, luck) for inner in range(3)]
        )

    emitted: list[AnyEvent] = []
    await side_by_side(emitted.append, [partial(nested, part) for part in range(3)])
    assert emitted == [event(10 * p + i, s) for p in range(3) for i in range(3) for s in range(2)]


@pytest.mark.parametrize("failure", [Stopped("x"), ProviderFailed("x"), LookupError("x")])
async def test_whatever_fails_the_others_are_waited_for(failure: Exception) -> None:
    ended: list[int] = []

    async def one(number: int) -> int:
        if number == 1:
            raise failure
        await asyncio.sleep(0.002 * number)
        ended.append(number)
        return number

    results: list[int] = []
    with pytest.raises(type(failure)):
        await use_in_order([one(number) for number in range(4)], results.append)
    assert results == [0], "what comes after a failure is not a result yet"
    assert ended == [0, 2, 3], "but it is paid for"


@pytest.mark.parametrize("where", ["the work", "the use"])
async def test_nothing_goes_on_after_a_caller_that_was_broken_off(where: str) -> None:
    class Broken(BaseException):
        pass

    recorded: list[int] = []

    async def one(number: int) -> int:
        if number == 0 and where == "the work":
            raise Broken
        for _ in range(number):
            await asyncio.sleep(0)
        recorded.append(number)
        return number

    def use(number: int) -> None:  # noqa: ARG001
        raise Broken

    with pytest.raises(Broken):
        await use_in_order([one(number) for number in range(20)], use)
    before = list(recorded)
    for _ in range(30):
        await asyncio.sleep(0)
    assert recorded == before
    assert len(before) < 19


async def test_the_first_failure_in_order_is_raised_and_no_other_is_left_unretrieved(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(number: int) -> Any:
        await asyncio.sleep(0.001 * (3 - number))
        raise Stopped(str(number))

    with pytest.raises(Stopped, match="0"):
        await use_in_order([fail(number) for number in range(3)], print)
    gc.collect()
    assert not caplog.records


async def test_where_telling_fails_nothing_that_comes_later_gets_ahead_of_it() -> None:
    emitted: list[AnyEvent] = []

    def emit(now: AnyEvent) -> None:
        if now == event(1, 1):
            raise Stopped("the record cannot be written")
        emitted.append(now)

    async def last_words(emit: Emit) -> int:
        emit(event(1, 0))
        emit(event(1, 1))
        try:
            await asyncio.sleep(60)
        finally:
            emit(event(1, 2))
        return 1

    with pytest.raises(Stopped):
        await side_by_side(emit, [partial(work, 0, 2, random.Random(1)), partial(last_words)])
    gc.collect()
    await asyncio.sleep(0.01)
    assert emitted == [event(0, 0), event(0, 1), event(1, 0)]


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 3), max_size=12),
    st.integers(1, 4),
    st.integers(0, 6),
    st.integers(0, 2**16),
)
async def test_in_windows_so_many_are_at_work_and_each_tells_as_it_happens(
    steps: list[int], width: int, further: int, seed: int
) -> None:
    emitted: list[AnyEvent] = []
    luck = random.Random(seed)
    at_work: set[int] = set()
    begun: list[int] = []
    ended: set[int] = set()

    async def watched(part: int, count: int) -> None:
        begun.append(part)
        at_work.add(part)
        assert len(at_work) <= width
        waiting = min(set(range(len(steps))) - ended)
        assert part < waiting + width + further
        await work(part, count, luck, emitted.append)
        at_work.discard(part)
        ended.add(part)

    works = (partial(watched, part, count) for part, count in enumerate(steps))
    await run_in_windows(works, width, width + further)
    assert begun == list(range(len(steps)))
    for part, count in enumerate(steps):
        own = [event(part, s) for s in range(count)]
        assert [each for each in emitted if each in own] == own


async def test_after_a_failure_the_window_is_finished_and_nothing_beyond_it_is_started() -> None:
    emitted: list[AnyEvent] = []
    begun: list[int] = []

    async def failing(part: int) -> None:
        begun.append(part)
        await asyncio.sleep(0)
        if part == 2:
            raise ProviderFailed("out of reach")
        emitted.append(event(part, 0))

    works = (partial(failing, part) for part in range(100))
    with pytest.raises(ProviderFailed, match="out of reach"):
        await run_in_windows(works, 2, 5)
    assert begun == list(range(2 + 5))
    assert emitted == [event(part, 0) for part in begun if part != 2]


async def test_a_slow_part_does_not_delay_the_events_of_others() -> None:
    emitted: list[AnyEvent] = []
    others_told = asyncio.Event()

    async def slow() -> None:
        await others_told.wait()
        emitted.append(event(0, 0))

    async def quick(part: int) -> None:
        emitted.append(event(part, 0))
        if len(emitted) == 3:
            others_told.set()

    async with asyncio.timeout(5):
        await run_in_windows([slow, *(partial(quick, part) for part in (1, 2, 3))], 2, 8)
    assert emitted == [event(part, 0) for part in (1, 2, 3, 0)]


FIRST, SECOND, THIRD = "8448fe055a1a457a", "690642e10642396c", "e40eaf895e1e2542"


def test_a_boundary_follows_from_seed_and_purpose_and_is_drawn_again_where_a_text_has_it() -> None:
    assert boundary(7, "pass/1/critic/0") == FIRST
    assert boundary(7, "pass/1/critic/1") != FIRST != boundary(8, "pass/1/critic/0")
    assert boundary(7, "pass/1/critic/0", "One.", f"<<<TEXT {FIRST}>>>") == SECOND
    assert boundary(7, "pass/1/critic/0", f"{SECOND} and", FIRST) == THIRD
