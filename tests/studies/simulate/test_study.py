"""A study fills its table cell by cell, whichever process does the work, and is a report."""

from __future__ import annotations

import pytest
from paper.fast import play_fast
from tests.studies.simulate.scenes import world

from autoreason.errors import InvalidInput
from autoreason.settings import Protocol, Settings
from autoreason.studies.simulate.study import (
    NO_DIFFERENCE,
    SETTINGS,
    NamedProtocol,
    Plan,
    SimulationReport,
    choose_protocols,
    named_protocol,
    run_study,
)


def test_two_processes_fill_the_table_as_one_would() -> None:
    worlds = [world("help"), world("harm-new")]
    protocols = [named_protocol("paper"), named_protocol("robust")]
    heard: list[tuple[int, int]] = []
    on_progress = lambda done, total: heard.append((done, total))  # noqa: E731
    plan = Plan(runs=100, seed=3)
    cells = run_study(worlds, protocols, plan, on_progress, play=play_fast).cells
    assert heard == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert [(cell.world, cell.protocol) for cell in cells] == [
        ("help", "paper"),
        ("help", "robust"),
        ("harm-new", "paper"),
        ("harm-new", "robust"),
    ]
    assert cells[-1:] == run_study(worlds[1:], protocols[1:], plan, play=play_fast).cells


def study(*protocols: Protocol, runs: int = 20) -> SimulationReport:
    named = [named_protocol(name) for name in protocols]
    return run_study([world("help"), world("harm-new")], named, Plan(runs, 1), play=play_fast)


def test_a_study_concludes_which_protocol_delivers_the_best_text() -> None:
    report = study("paper", "robust", runs=2000)
    assert "of 2 worlds, beyond chance; calls on average: paper " in report.conclusion
    assert "robust delivers the best text in" in report.conclusion
    few = study("paper", "robust", runs=2)
    assert few.conclusion.startswith("no protocol delivers a better text")
    assert study("paper").conclusion.startswith("paper delivers quality ")


def test_programs_get_plan_worlds_and_cells() -> None:
    fields = study("paper").to_dict()
    assert list(fields) == ["conclusion", "plan", "worlds", "cells", "alike"]
    assert fields["plan"]["runs"] == 20


@pytest.mark.parametrize("width", [60, 80])
def test_the_report_fits_a_terminal_with_whole_words(width: int) -> None:
    report = study("paper", "robust")
    lines = report.to_text(width).splitlines()
    assert max(map(len, lines)) <= width
    assert set(" ".join(lines).split()) == set(report.to_text(10_000).split())


SWITCHES = [
    "critic_facts=False",
    "style=anchored",
]


def changed_by(*given: str) -> NamedProtocol:
    """Our protocol with changes as they are typed."""
    return choose_protocols(["robust"], given)[-1]


def test_a_changed_protocol_is_named_after_its_changes() -> None:
    changed = changed_by("k=3", "tie_order = a > b > ab", "balanced_orders=false")
    assert changed.name == "robust k=3 tie_order=A>B>AB balanced_orders=False"
    assert (changed.settings.k, changed.settings.balanced_orders) == (3, False)
    assert changed.settings.tie_order == ("A", "B", "AB")
    assert named_protocol("paper").name == "paper"
    assert named_protocol("paper").settings.playoff == 0


@pytest.mark.parametrize("given", ["k", "k=", "=3", ""])
def test_a_change_without_a_name_or_a_value_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="write it like k=3"):
        changed_by(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("speed=9", "unknown setting `speed`; known are drafts, k, passes"),
        ("seed=9", "unknown setting `seed`"),
        ("revisers=4", "`revisers` is 4; give how many there are, from 1 to 3"),
        ("plateau=-1", "plateau"),
        ("k=0", "`k` is 0; give a number from 1"),
        ("k=many", "k"),
        ("tie_order=B>A>AB", "`tie_order` is B>A>AB"),
    ],
)
def test_a_change_that_cannot_be_is_refused(given: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        changed_by(given)


@pytest.mark.parametrize("given", SWITCHES)
def test_a_switch_that_no_world_knows_is_accepted_and_said_to_be_played_like_the_default(
    given: str,
) -> None:
    changed = changed_by(given)
    assert changed.name == f"robust {given}"
    assert changed.settings == named_protocol("robust").settings
    name = given.partition("=")[0]
    assert changed.note == f"`{name}`: {NO_DIFFERENCE[name]}"
    report = run_study([world()], [changed], Plan(2, 1))
    assert changed.note in " ".join(report.to_text(200).split())


def test_every_switch_of_the_tournament_is_known() -> None:
    switches = {"blind_revision", "subtractive_synthesis", "critic_facts", "style"}
    switches |= {"plateau", "plateau_change"}
    assert switches <= {*SETTINGS, *NO_DIFFERENCE}
    assert set(NO_DIFFERENCE) == {each.partition("=")[0] for each in SWITCHES}
    assert set(NO_DIFFERENCE) <= set(Settings.__struct_fields__)
    assert not set(NO_DIFFERENCE) & set(SETTINGS)
