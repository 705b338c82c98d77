"""What a job may spend, and what it has spent."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.errors import InvalidInput
from autoreason.exchange import Outcome, Reply, Spent, Usage
from autoreason.jobs.context import Allowance, show_tokens, spending
from autoreason.settings import Unit
from autoreason.tournament.voting import PanelSize


def reply(tokens: int | None = 10, cost: str | None = "0.5") -> Reply:
    """One call."""
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
            allowance.take(reply())
        allowance.end_pass()
        passes += 1
    if unit == "calls" or passes > 1:
        assert passes == 0 or passes * a_pass + after <= amount
    assert (passes + 1) * a_pass + after > amount
    assert passes <= 1 or passes * a_pass <= amount


def test_without_a_limit_everything_fits_and_is_counted() -> None:
    allowance = Allowance("calls")
    assert not allowance.limited
    for _ in range(5):
        assert allowance.fits_another(1000, 1000)
        allowance.take(reply())
    assert allowance.spent == 5


def test_an_allowance_of_nothing_allows_nothing() -> None:
    for unit in ("calls", "tokens", "cost"):
        assert not Allowance(unit, Decimal(0)).fits_another()


def test_models_that_cost_nothing_do_not_go_on_for_ever() -> None:
    allowance = Allowance("cost", Decimal(0))
    allowance.take(reply(cost="0"))
    assert not allowance.fits_another()


@pytest.mark.parametrize(
    ("unit", "uncounted"), [("cost", reply(cost=None)), ("tokens", reply(tokens=None))]
)
def test_what_is_not_counted_cannot_be_matched(unit: Unit, uncounted: Reply) -> None:
    allowance = Allowance(unit, Decimal(5))
    allowance.take(uncounted)
    with pytest.raises(InvalidInput, match=f"cannot be matched by {unit}"):
        allowance.fits_another()


def test_what_is_left_is_what_was_given_less_what_was_taken() -> None:
    allowance = Allowance("calls", Decimal(2))
    assert allowance.left == 2
    allowance.take(reply())
    assert allowance.left == 1
    assert Allowance("calls").left is None


@given(st.integers(2, 9), st.integers(2, 60))
def test_the_seats_of_a_panel_share_its_calls(judges: int, calls: int) -> None:
    size = PanelSize(start=min(judges, calls), calls=calls)
    shares = [size.requests(seat) for seat in range(size.limit)]
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
