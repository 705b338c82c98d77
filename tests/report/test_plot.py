"""A plot is the same bytes every time, holds nothing that acts, and is drawn only when it is looked at."""

from __future__ import annotations

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from autoreason.report.plot import Chart, Plot, Point, Series, plot_charts

HEIGHTS = [Point(1, 0.25, "low"), None, Point(2, 0.5), Point(3, 0.75, "high & <wide>")]


def a_plot(*points: Point | None, **known: object) -> Plot:
    series = [Series("one", "#0b6e99", points), Series("two", "#d1495b", points, dashed=True)]
    return plot_charts("Heights", Chart(series, "pass", **known), Chart(series, "pass"))  # type: ignore[arg-type]


def texts(plot: Plot, kind: str) -> list[str | None]:
    axis = ElementTree.fromstring(plot.svg).find(f".//*[@class='{kind}']")
    assert axis is not None
    return [each.text for each in axis.iter() if each.tag.endswith("text")]


def test_nothing_in_it_acts_clashes_or_changes_from_day_to_day() -> None:
    svg = a_plot(*HEIGHTS).svg
    assert svg == a_plot(*HEIGHTS).svg
    assert not re.search(r"<script|<desc|<!--| id=|@import|url\(|href|user-select", svg)
    assert re.findall(r"https?:[^\"]*", svg) == ["http://www.w3.org/2000/svg"]


def test_a_dot_says_what_it_is_about_and_a_corner_is_no_dot() -> None:
    root = ElementTree.fromstring(a_plot(*HEIGHTS).svg)
    titles = [each.text for each in root.iter() if each.tag.endswith("title")]
    assert titles.count("high & <wide>") == 4
    circles = [each.get("r") for each in root.iter() if each.tag.endswith("circle")]
    assert circles.count("0") == 4
    assert len(circles) == 12


def test_only_whole_passes_have_ticks_and_names_stand_for_numbers() -> None:
    assert texts(a_plot(*HEIGHTS), "axis x") == ["1", "2", "3"]
    assert texts(a_plot(*HEIGHTS, names={1.0: "easy", 3.0: "hard"}), "axis x") == ["easy", "hard"]
    longer = [Point(number, 1) for number in range(61)]
    assert texts(a_plot(*longer), "axis x") == ["0", "10", "20", "30", "40", "50", "60"]


@pytest.mark.parametrize("height", [0.0, 5e-324, 1e300, 1e15 + 0.125])
def test_numbers_that_hardly_differ_are_drawn_too(height: float) -> None:
    ElementTree.fromstring(a_plot(Point(1, height), Point(2, height * (1 + 1e-15))).svg)


def test_the_library_is_loaded_when_a_plot_is_looked_at_and_no_later_import_warns() -> None:
    ask = (
        "import sys; from autoreason.report.plot import Chart, Point, Series, plot_charts;"
        "plot = plot_charts('t', Chart([Series('s', 'red', [Point(1, 2)])], 'x'));"
        "print('pygal' in sys.modules); plot.svg; print('pygal' in sys.modules); import colorsys"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ask], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
