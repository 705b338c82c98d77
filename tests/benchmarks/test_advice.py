"""Advice in worlds whose truth is known."""

from __future__ import annotations

import re
from math import sqrt
from pathlib import Path

from benchmarks.advice import study_advice

PAGE = Path(__file__).parents[2] / "docs" / "advice.md"
RUNS = 600


def test_the_page_shows_what_the_command_prints() -> None:
    study = study_advice(RUNS, 2)
    page = PAGE.read_text("utf-8")
    for each in study.outcomes:
        name = re.escape(each.world.name.replace("%", " %"))
        (row,) = re.findall(rf"^\| {name} \| (.*) \| (\d+) \|$", page, re.MULTILINE)
        printed = [float(cell.split()[-2]) / 100 for cell in row[0].split(" | ")]
        for shown, share in zip(printed, each.endings.values(), strict=True):
            spread = sqrt(max(shown * (1 - shown), 0.01) / RUNS)
            assert abs(shown - share) <= 4 * spread + 0.006, each.world.name
        assert abs(float(row[1]) - each.calls) < 2
