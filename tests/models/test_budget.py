"""The limits of a run are hard: calls made side by side cannot overshoot them together."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import PATIENCE

from autoreason.errors import BudgetReached, InvalidInput
from autoreason.exchange import Message, Outcome, Reply, Request, Schema, Spent, Usage
from autoreason.models.budget import (
    BudgetTracker,
    CostBound,
    Reservation,
    require_prices,
    upper_bound,
)
from autoreason.models.prices import Rates
from autoreason.settings import Budget


def reply(tokens: int | None = 10, cost: str | None = "0.01", cache_read: int = 0) -> Reply:
    usage = Usage(input=tokens, output=None if tokens is None else 0, cache_read=cache_read)
    price = None if cost is None else Decimal(cost)
    return Reply(outcome=Outcome.OK, text="x", model="acme/large", usage=usage, cost=price)


def upper(tokens: int = 10, cost: str = "0.01") -> CostBound:
    return CostBound(1, tokens, Decimal(cost))


# Spending


def test_spending_adds_up() -> None:
    spent = Spent().plus(reply(10, "0.01", cache_read=4)).plus(reply(5, "0.02"))
    assert spent == Spent(calls=2, input=15, cache_read=4, known_cost=Decimal("0.03"))
    assert spent.cost == Decimal("0.03")


def test_one_unknown_price_makes_the_whole_cost_unknown() -> None:
    spent = Spent().plus(reply(cost="0.01")).plus(reply(cost=None)).plus(reply(cost="0.01"))
    assert spent.cost is None
    assert spent.known_cost == Decimal("0.02")
    assert spent.unpriced == 1


async def test_what_a_reply_does_not_say_counts_with_its_upper_bound() -> None:
    budget_tracker = BudgetTracker(Budget(tokens=600, cost=Decimal("0.10")))
    budget_tracker.carry(reply(None, None), upper(500, "0.07"))
    assert (budget_tracker.spent.unmetered, budget_tracker.spent.cost) == (1, None)
    with pytest.raises(BudgetReached, match="500 of 600 tokens"):
        await budget_tracker.reserve(upper(101))
    with pytest.raises(BudgetReached, match=r"\$0.07 of \$0.10 "):
        await budget_tracker.reserve(upper(1, "0.04"))


# The upper bound of one call


def request(text: str, max_tokens: int = 1000, schema: Schema | None = None) -> Request:
    return Request(
        role="judge",
        key="pass/1/judge/0/try/0",
        model="acme/large",
        messages=(Message("user", text),),
        max_tokens=max_tokens,
        schema=schema,
    )


def test_a_call_can_take_its_text_in_bytes_its_schema_and_all_it_may_write() -> None:
    bound = upper_bound(request("a" * 3001), Rates(Decimal(3), Decimal(15)))
    assert bound == CostBound(1, 1001 + 8 + 1000, Decimal("0.018027"))
    assert upper_bound(request("漢" * 300), None) == CostBound(1, 300 + 8 + 1000, None)
    schema = Schema("ballot", {"type": "object"}, "Answer with a ballot.")
    assert upper_bound(request("x", schema=schema), None) > upper_bound(request("x"), None)


# Prices


def test_a_limit_in_money_needs_every_price() -> None:
    prices: dict[str, Rates | None] = {
        "acme/large": Rates(Decimal(1), Decimal(2)),
        "acme/new": None,
    }
    with pytest.raises(
        InvalidInput, match=r"acme/new is not known, so the limit of \$5\.00 .*limit"
    ):
        require_prices(Budget(cost=Decimal(5)), prices)
    require_prices(Budget(tokens=5), prices)
    require_prices(Budget(cost=Decimal(5)), {"acme/large": prices["acme/large"]})


async def test_a_call_without_a_price_is_refused_under_a_limit_in_money() -> None:
    with pytest.raises(InvalidInput, match="price"):
        await BudgetTracker(Budget(cost=Decimal(1))).reserve(CostBound(1, 10, None))
    await BudgetTracker(Budget(calls=1)).reserve(CostBound(1, 10, None))


# Reserving


async def test_a_call_that_could_cost_too_much_is_refused_with_the_numbers() -> None:
    budget_tracker = BudgetTracker(Budget(cost=Decimal(5)))
    budget_tracker.carry(reply(cost="4.97"), upper())
    with pytest.raises(BudgetReached) as why:
        await budget_tracker.reserve(upper(cost="0.08"))
    assert str(why.value) == ("$4.97 of $5.00 are spent and the next call could cost $0.08")


async def test_a_call_that_could_take_too_many_tokens_is_refused_with_the_numbers() -> None:
    budget_tracker = BudgetTracker(Budget(tokens=100_000))
    budget_tracker.carry(reply(98_000), upper())
    with pytest.raises(BudgetReached, match=r"98,000 of 100,000 tokens .* 4,500$"):
        await budget_tracker.reserve(upper(4500))


async def test_one_call_too_many_is_refused() -> None:
    budget_tracker = BudgetTracker(Budget(calls=50))
    for _ in range(49):
        budget_tracker.carry(reply(), upper())
    budget_tracker.settle(await budget_tracker.reserve(upper()), reply())
    with pytest.raises(BudgetReached, match="the limit of 50 calls is reached") as reached:
        await budget_tracker.reserve(upper())
    assert reached.value.limit == "calls"


async def test_without_limits_nothing_is_refused_and_all_is_counted() -> None:
    budget_tracker = BudgetTracker(Budget())
    budget_tracker.settle(await budget_tracker.reserve(CostBound(1, 10**12, None)), reply(7, None))
    assert budget_tracker.spent == Spent(calls=1, input=7, unpriced=1)


async def test_a_limit_may_be_spent_to_the_last_cent() -> None:
    budget_tracker = BudgetTracker(Budget(cost=Decimal("0.03")))
    for _ in range(3):
        budget_tracker.settle(await budget_tracker.reserve(upper(cost="0.01")), reply(cost="0.01"))
    assert budget_tracker.spent.cost == Decimal("0.03")


async def test_a_call_waits_where_another_may_leave_enough() -> None:
    budget_tracker = BudgetTracker(Budget(tokens=100))
    first = await budget_tracker.reserve(upper(80))
    second = asyncio.ensure_future(budget_tracker.reserve(upper(80)))
    await asyncio.sleep(0)
    assert not second.done()
    budget_tracker.settle(first, reply(20))
    budget_tracker.settle(await second, reply(30))
    assert budget_tracker.spent.tokens == 50


async def test_a_call_that_waited_in_vain_is_refused() -> None:
    budget_tracker = BudgetTracker(Budget(tokens=100))
    first = await budget_tracker.reserve(upper(80))
    second = asyncio.ensure_future(budget_tracker.reserve(upper(80)))
    await asyncio.sleep(0)
    budget_tracker.settle(first, reply(21))
    with pytest.raises(BudgetReached):
        await second


async def test_a_call_that_gave_no_reply_costs_nothing() -> None:
    budget_tracker = BudgetTracker(Budget(calls=1))
    budget_tracker.release(await budget_tracker.reserve(upper()))
    budget_tracker.settle(await budget_tracker.reserve(upper()), reply())
    assert budget_tracker.spent.calls == 1


async def test_small_calls_do_not_overtake_a_large_one_for_ever() -> None:
    budget_tracker = BudgetTracker(Budget(tokens=100))
    first = await budget_tracker.reserve(upper(50))
    large = asyncio.ensure_future(budget_tracker.reserve(upper(90)))
    await asyncio.sleep(0)
    small = asyncio.ensure_future(budget_tracker.reserve(upper(10)))
    await asyncio.sleep(0)
    assert not small.done()
    budget_tracker.settle(first, reply(0))
    await large
    await small


async def test_a_waiting_call_that_is_cancelled_holds_no_one_up() -> None:
    budget_tracker = BudgetTracker(Budget(tokens=100))
    await budget_tracker.reserve(upper(50))
    large = asyncio.ensure_future(budget_tracker.reserve(upper(90)))
    await asyncio.sleep(0)
    small = asyncio.ensure_future(budget_tracker.reserve(upper(10)))
    await asyncio.sleep(0)
    large.cancel()
    await asyncio.wait_for(small, PATIENCE)


async def test_a_call_cancelled_as_it_is_granted_gives_everything_back() -> None:
    budget_tracker = BudgetTracker(Budget(tokens=100))
    first = await budget_tracker.reserve(upper(100))
    second = asyncio.ensure_future(budget_tracker.reserve(upper(100)))
    third = asyncio.ensure_future(budget_tracker.reserve(upper(100)))
    await asyncio.sleep(0)
    budget_tracker.release(first)
    second.cancel()
    await asyncio.wait_for(third, PATIENCE)
    assert second.cancelled()


async def test_a_call_cancelled_as_it_is_refused_is_simply_gone() -> None:
    budget_tracker = BudgetTracker(Budget(calls=1))
    first = await budget_tracker.reserve(upper())
    second = asyncio.ensure_future(budget_tracker.reserve(upper()))
    await asyncio.sleep(0)
    budget_tracker.settle(first, reply())
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second


# Whatever happens


class Plan(NamedTuple):
    """One call: the most it can take, the share of it that it takes, and how it ends."""

    upper: CostBound
    share: float
    end: str
    steps: tuple[int, int]
    """How long it lets others go first: before it reserves, and before it ends."""


class Till:
    """A purse, watched."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.budget_tracker = BudgetTracker(budget)

    @property
    def left(self) -> CostBound:
        budget, spent = self.budget, self.budget_tracker.used
        return CostBound(
            0 if budget.calls is None else budget.calls - spent.calls,
            0 if budget.tokens is None else budget.tokens - spent.tokens,
            Decimal(0) if budget.cost is None else budget.cost - (spent.cost or 0),
        )

    async def call(self, plan: Plan) -> None:
        before, after = plan.steps
        await others_go_first(before)
        waiting = asyncio.ensure_future(self.budget_tracker.reserve(plan.upper))
        if plan.end == "is cancelled":
            await others_go_first(after)
            waiting.cancel()
        await asyncio.wait((waiting,))
        if waiting.cancelled() or isinstance(waiting.exception(), BudgetReached):
            return
        await others_go_first(after)
        self._end(plan, waiting.result())
        assert all((part or 0) >= 0 for part in self.left), "a limit is overshot"

    def _end(self, plan: Plan, reservation: Reservation) -> None:
        cost = plan.upper.cost or Decimal(0)
        match plan.end:
            case "settles":
                taken = reply(
                    int(plan.upper.tokens * plan.share), str(round(cost * Decimal(plan.share), 4))
                )
                self.budget_tracker.settle(reservation, taken)
            case "hides its usage":
                self.budget_tracker.settle(reservation, reply(None, None))
            case _:
                self.budget_tracker.release(reservation)


async def others_go_first(steps: int) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)


def dollars(most: int) -> st.SearchStrategy[Decimal]:
    return st.decimals("0.01", most, places=2)


budgets = st.builds(
    Budget,
    cost=st.none() | dollars(2),
    tokens=st.none() | st.integers(1, 150),
    calls=st.none() | st.integers(1, 20),
)
plans = st.builds(
    Plan,
    st.builds(CostBound, st.just(1), st.integers(0, 60), dollars(1)),
    st.floats(0, 1),
    st.sampled_from(["settles", "hides its usage", "gives no reply", "is cancelled"]),
    st.tuples(st.integers(0, 6), st.integers(0, 6)),
)


@given(budgets, st.lists(plans, min_size=1, max_size=25))
async def test_no_interleaving_overshoots_a_limit_or_leaves_anyone_waiting(
    budget: Budget, made: list[Plan]
) -> None:
    till = Till(budget)
    tasks = [asyncio.ensure_future(till.call(plan)) for plan in made]
    done, waiting = await asyncio.wait(tasks, timeout=PATIENCE)
    assert not waiting
    for task in done:
        task.result()
    # Nothing stays set aside: all that is left can be had in one piece.
    await asyncio.wait_for(till.budget_tracker.reserve(till.left), PATIENCE)


async def test_no_call_begins_after_the_time_limit_and_those_under_way_are_settled() -> None:
    now = [0.0]
    tracker = BudgetTracker(Budget(seconds=90), lambda: now[0])
    reservation = await tracker.reserve(tracker.bound(request("x"), None))
    now[0] = 90.0
    with pytest.raises(BudgetReached, match="the time limit of 90 s is reached"):
        await tracker.reserve(tracker.bound(request("x"), None))
    tracker.settle(reservation, Reply(outcome=Outcome.OK, text="", model="x"))
    assert tracker.spent.calls == 1


def test_a_pass_that_would_take_longer_than_is_left_does_not_fit() -> None:
    now = [0.0]
    tracker = BudgetTracker(Budget(seconds=7200), lambda: now[0])
    for _ in range(10):
        tracker.carry(
            Reply(outcome=Outcome.OK, text="", model="x"), tracker.bound(request("x"), None)
        )
    now[0] = 4000.0
    assert tracker.shortage(5) is None
    assert str(tracker.shortage(10)) == "53.3 min of 2 h were left"
