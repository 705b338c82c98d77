"""Protocols to compare: those we have, and changes to them."""

from __future__ import annotations

import pytest

from autoreason.errors import InvalidInput
from autoreason.studies.simulate.protocols import named_protocol, read_changes


def test_a_changed_protocol_is_named_after_its_changes() -> None:
    changed = named_protocol(
        "robust", read_changes(["k=3", "tie_order = a > b > ab", "balanced_orders=false"])
    )
    assert changed.name == "robust k=3 tie_order=A>B>AB balanced_orders=False"
    assert (changed.settings.k, changed.settings.balanced_orders) == (3, False)
    assert changed.settings.tie_order == ("A", "B", "AB")
    assert named_protocol("paper").name == "paper"
    assert named_protocol("paper").settings.playoff == 0


@pytest.mark.parametrize("given", ["k", "k=", "=3", "", "k=[1"])
def test_a_change_without_a_name_or_a_value_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="write it like k=3"):
        read_changes([given])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("speed=9", "`speed` makes no difference to a simulated run; set one of drafts, k, passes"),
        ("seed=9", "`seed` makes no difference"),
        ("k=0", "`k` is 0; give a number from 1"),
        ("k=many", "k"),
        ("tie_order=B>A>AB", "`tie_order` is B>A>AB"),
    ],
)
def test_a_change_that_cannot_be_is_refused(given: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        named_protocol("robust", read_changes([given]))
