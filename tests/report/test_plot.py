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


def test_small_numbers_are_apart_and_what_is_no_finite_number_is_left_out() -> None:
    small = a_plot(Point(1, 1e-10), Point(2, 9e-10))
    assert texts(small, "axis y always_show")[0::8] == ["1e-10", "9e-10"]
    nan, inf = float("nan"), float("inf")
    for height in (nan, inf, -inf):
        left = a_plot(Point(1, 1.5, "a dot"), Point(2, height, "none"), Point(nan, 2), Point(3, 2))
        assert left.svg == a_plot(Point(1, 1.5, "a dot"), None, None, Point(3, 2)).svg
        assert a_plot(Point(1, height)).svg.count("no numbers to draw") == 2
    assert "no numbers to draw" in plot_charts("Empty", Chart([], "pass")).svg


@pytest.mark.parametrize("size", [1.7e308, 1e160, 1e-160, 1e-310])
def test_the_largest_and_smallest_numbers_are_drawn_in_their_own_size(size: float) -> None:
    heights = a_plot(Point(1, -size), Point(2, size), y_range=(-size, size))
    ticks = [float(str(each).replace(",", "")) for each in texts(heights, "axis y always_show")]
    assert size / 2 < max(ticks) <= size
    assert -size <= min(ticks) < -size / 2


def test_words_that_no_document_may_have_are_left_out_of_titles_too() -> None:
    for title in ("a\x00b", "a\ud800b"):
        ElementTree.fromstring(plot_charts("Bad", Chart([], title)).svg.encode())


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
