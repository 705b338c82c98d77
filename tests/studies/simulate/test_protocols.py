"""Protocols to compare: those we have, and changes to them."""

from __future__ import annotations

import pytest
from tests.studies.simulate.scenes import world

from autoreason.errors import InvalidInput
from autoreason.settings import Settings
from autoreason.studies.simulate.study import (
    NO_DIFFERENCE,
    SETTINGS,
    Plan,
    named_protocol,
    read_changes,
    run_study,
)

SWITCHES = [
    "critic_facts=False",
    "style=anchored",
    "strict_length=False",
    "strict_echo=False",
]


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
        ("revisers=4", "`revisers` is 4; give how many there are, from 1 to 3"),
        ("plateau=-1", "plateau"),
        ("k=0", "`k` is 0; give a number from 1"),
        ("k=many", "k"),
        ("tie_order=B>A>AB", "`tie_order` is B>A>AB"),
    ],
)
def test_a_change_that_cannot_be_is_refused(given: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        named_protocol("robust", read_changes([given]))


@pytest.mark.parametrize("given", SWITCHES)
def test_a_switch_that_no_world_knows_is_accepted_and_said_to_be_played_like_the_default(
    given: str,
) -> None:
    changed = named_protocol("robust", read_changes([given]))
    assert changed.name == f"robust {given}"
    assert changed.settings == named_protocol("robust").settings
    name = given.partition("=")[0]
    assert changed.note == f"`{name}`: {NO_DIFFERENCE[name]}"
    report = run_study([world()], [changed], Plan(2, 1))
    assert changed.note in " ".join(report.to_text(200).split())


def test_every_switch_of_the_tournament_is_known() -> None:
    switches = {"blind_revision", "subtractive_synthesis", "critic_facts", "style"}
    switches |= {"strict_length", "strict_echo", "plateau", "plateau_change"}
    assert switches <= {*SETTINGS, *NO_DIFFERENCE}
    assert set(NO_DIFFERENCE) == {each.partition("=")[0] for each in SWITCHES}
    assert set(NO_DIFFERENCE) <= set(Settings.__struct_fields__)
    assert not set(NO_DIFFERENCE) & set(SETTINGS)
