"""One person at a time."""

from __future__ import annotations

import pytest
from tests.studies.raters.conftest import Study

from autoreason.errors import InvalidInput
from autoreason.studies.raters.session import Desk, DeskOccupied
from autoreason.studies.raters.sheets import FinishClick, RankingClick, StepClick
from autoreason.studies.raters.storage import read_sheets


@pytest.fixture
def lines() -> list[str]:
    """What the desk says."""
    return []


@pytest.fixture
def desk(study: Study, lines: list[str]) -> Desk:
    """A free desk."""
    return Desk(study.folder, study.packet, lines.append)


def test_a_second_browser_is_reported_who_is_rating(desk: Desk) -> None:
    desk.sit("one", "Anna")
    with pytest.raises(DeskOccupied, match="Anna is rating now"):
        desk.sit("two", "Ben")
    assert desk.sheet("two") is None


def test_only_the_browser_at_the_desk_can_click(desk: Desk, study: Study) -> None:
    desk.sit("one", "Anna")
    with pytest.raises(DeskOccupied, match="nothing was saved"):
        desk.click("two", StepClick(1))
    assert [sheet.step for sheet in read_sheets(study.folder, study.packet)] == [0]


def test_handing_over_frees_the_desk_and_keeps_what_was_done(desk: Desk) -> None:
    desk.sit("one", "Anna")
    desk.click("one", StepClick(2))
    desk.leave("one")
    desk.sit("two", "Ben")
    desk.leave("two")
    desk.sit("two", "Anna")
    sheet = desk.sheet("two")
    assert sheet is not None
    assert sheet.step == 2


def test_no_one_can_hand_over_for_someone_else(desk: Desk) -> None:
    desk.sit("one", "Anna")
    desk.leave("two")
    assert desk.sheet("one") is not None


def test_a_desk_left_without_a_word_can_be_freed(desk: Desk) -> None:
    desk.sit("one", "Anna")
    desk.clear()
    desk.sit("two", "Ben")
    with pytest.raises(DeskOccupied):
        desk.click("one", StepClick(1))


def test_no_one_sits_down_without_a_name(desk: Desk) -> None:
    with pytest.raises(InvalidInput, match="needs a name"):
        desk.sit("one", " ")
    assert desk.session is None


def test_the_terminal_hears_how_far_people_are(desk: Desk, study: Study, lines: list[str]) -> None:
    desk.sit("one", "Anna")
    desk.click("one", RankingClick(0, study.codes))
    desk.click("one", StepClick(3))
    desk.click("one", FinishClick())
    assert lines == [
        "Anna sits down: 0 of 4 steps done",
        "Anna goes on: 1 of 4 steps done",
        "Anna has finished: 1 of 4 steps done",
    ]
