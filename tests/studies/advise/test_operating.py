"""Advice in worlds whose truth is known."""

from __future__ import annotations

import re
from math import sqrt
from pathlib import Path

import pytest

from autoreason.studies.advise.operating import WORLDS, study_advice

PAGE = Path(__file__).parents[3] / "docs" / "advice.md"
RUNS = 600


def test_every_piece_of_advice_ends_in_something_and_within_its_calls() -> None:
    study = study_advice(200, 1)
    assert [each.world for each in study.outcomes] == list(WORLDS)
    for each in study.outcomes:
        assert abs(sum(each.endings.values()) - 1) < 1e-9
        assert 20 <= each.calls <= 150
    assert study == study_advice(200, 1)


def test_more_calls_decide_more_often() -> None:
    few, many = study_advice(400, 1, 100), study_advice(400, 1, 200)
    assert (few.pilots, many.pilots) == (2, 6)
    for one, other in zip(few.outcomes[:3], many.outcomes[:3], strict=True):
        assert one.endings["run it"] < other.endings["run it"]


def test_limits_too_small_for_pilots_leave_everything_undecided() -> None:
    study = study_advice(50, 1, 60)
    assert study.pilots == 0
    assert study.outcomes[0].endings["run it"] == 0


@pytest.mark.parametrize(("at", "call_limit"), [(0, 150), (1, 200)])
def test_the_page_shows_what_the_command_prints(at: int, call_limit: int) -> None:
    study = study_advice(RUNS, 2, call_limit)
    page = PAGE.read_text("utf-8")
    for each in study.outcomes:
        name = re.escape(each.world.name.replace("%", " %"))
        row = re.findall(rf"^\| {name} \| (.*) \| (\d+) \|$", page, re.MULTILINE)[at]
        printed = [float(cell.split()[-2]) / 100 for cell in row[0].split(" | ")]
        for shown, share in zip(printed, each.endings.values(), strict=True):
            spread = sqrt(max(shown * (1 - shown), 0.01) / RUNS)
            assert abs(shown - share) <= 4 * spread + 0.006, each.world.name
        assert abs(float(row[1]) - each.calls) < 6
