"""What was spent is shown against its limits, and unknown stays unknown."""

from __future__ import annotations

import pytest

from autoreason.exchange import Spent
from autoreason.jobs import allowance


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
    assert allowance.tokens(spent, limit) == sentence


def test_calls_of_unknown_price_are_counted_beside_what_is_known() -> None:
    assert allowance.spending(Spent(calls=2, unpriced=2), 4.06) == (
        "2 calls, 0 tokens, cost unknown, 4.1 s"
    )
    assert allowance.spending(Spent(calls=2, input=5)) == "2 calls, 5 tokens, $0.00"
