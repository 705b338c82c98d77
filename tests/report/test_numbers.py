"""Every number is written one way, and no rounding says more than is known."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.report import numbers
from autoreason.stats import Estimate

SHARES = st.floats(0, 1)


@given(SHARES)
def test_a_percentage_is_at_most_one_point_off_and_only_all_is_100_and_only_nothing_is_0(
    share: float,
) -> None:
    assert (numbers.percent(share) == "0 %") == (share == 0)
    assert (numbers.percent(share) == "100 %") == (share == 1)
    shown = int(numbers.percent(share).split()[-2])
    assert abs(shown - share * 100) <= 1


@given(SHARES)
def test_a_p_value_is_never_shown_as_zero(p: float) -> None:
    assert float(numbers.p_value(p).removeprefix("< ")) > 0
    assert numbers.p_statement(p) in (f"p = {numbers.p_value(p)}", f"p {numbers.p_value(p)}")
    assert "= <" not in numbers.p_statement(p)


@given(st.decimals(0, 10_000, allow_nan=False, places=8))
def test_only_a_sum_of_nothing_is_shown_as_nothing(cost: Decimal) -> None:
    assert (float(numbers.money(cost).split("$")[1].replace(",", "")) == 0) == (cost == 0)


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (None, "unknown"),
        (Decimal(0), "$0.00"),
        (Decimal("0.00001"), "under $0.0001"),
        (Decimal("0.0123"), "$0.0123"),
        (Decimal("0.07"), "$0.07"),
        (Decimal("0.1"), "$0.10"),
        (Decimal("1234.5"), "$1,234.50"),
    ],
)
def test_small_sums_have_more_digits(cost: Decimal | None, shown: str) -> None:
    assert numbers.money(cost) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(4.12, "4.1 s"), (59, "59 s"), (192, "3 min 12 s"), (7500, "2 h 05 min")]
)
def test_durations_are_in_the_unit_that_suits_them(seconds: float, shown: str) -> None:
    assert numbers.duration(seconds) == shown


def test_nothing_is_a_negative_zero() -> None:
    found = Estimate(-0.0, -0.0001, -0.0)
    assert numbers.interval(found) == "0.00 (0.00 to 0.00)"
    assert numbers.percent_interval(found) == "0.00 % (-0.01 to 0.00)"
    assert numbers.points(found) == "+0.00 (-0.01 to +0.00)"
    assert numbers.decimal(-0.04) == "0"


def test_what_is_not_known_is_a_dash_and_a_value_without_interval_stands_alone() -> None:
    for shown in (numbers.interval, numbers.percent_interval, numbers.points):
        assert shown(Estimate(None)) == numbers.UNKNOWN
        assert "(" not in shown(Estimate(0.5))
    assert numbers.p_value(None) == numbers.UNKNOWN


@pytest.mark.parametrize(
    ("found", "share", "difference"),
    [
        (Estimate(0.77, 0.69, 0.83), "77 % (69 to 83)", "+77.0 (+69.0 to +83.0)"),
        (Estimate(0.0213, 0.0204, 0.0222), "2.1 % (2.0 to 2.2)", "+2.1 (+2.0 to +2.2)"),
        (Estimate(0.0021, 0.0002, 0.0040), "0.2 % (0.0 to 0.4)", "+0.21 (+0.02 to +0.40)"),
        (Estimate(0.5, 0.5, 0.5), "50 % (50 to 50)", "+50.0 (+50.0 to +50.0)"),
        (Estimate(0.02), "2 %", "+2.0"),
    ],
)
def test_a_narrow_interval_has_the_decimals_that_it_needs(
    found: Estimate, share: str, difference: str
) -> None:
    assert numbers.percent_interval(found) == share
    assert numbers.points(found) == difference
