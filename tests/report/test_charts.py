"""A chart is the same bytes every time, has its numbers as a table, and holds nothing that acts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from autoreason.report.charts import (
    Chart,
    ChartRow,
    ChartVerdict,
    Lines,
    Point,
    Series,
    colours,
    interval_chart,
    line_chart,
    steps,
)
from autoreason.report.page import ASSETS
from autoreason.report.table import Table, figures
from autoreason.stats import Estimate

HEIGHTS = [Point(1, 0.25, "low"), None, Point(2, 0.5), Point(3, 0.75, "high & <wide>")]


NUMBERS = Table(figures("height"), [(1.5,)])


def a_plot(*points: Point | None, **known: object) -> Chart:
    shades = colours(["one", "two"])
    series = [Series(name, shade, points) for name, shade in shades.items()]
    return line_chart("Heights", NUMBERS, Lines(series, "pass", **known))  # type: ignore[arg-type]


def axis(plot: Chart, name: str) -> list[str | None]:
    drawn = ElementTree.fromstring(plot.svg)
    return [each.text for each in drawn if each.get("class") == f"muted {name}"]


def test_nothing_in_it_acts_clashes_or_changes_from_day_to_day() -> None:
    svg = a_plot(*HEIGHTS).svg
    assert svg == a_plot(*HEIGHTS).svg
    assert not re.search(r"<script|<!--| id=|@import|url\(|href", svg)
    assert re.findall(r"https?:[^\"]*", svg) == ["http://www.w3.org/2000/svg"]


def test_a_dot_says_what_it_is_about_and_a_corner_is_no_dot() -> None:
    root = ElementTree.fromstring(a_plot(*HEIGHTS).svg)
    titles = [each.text for each in root.iter() if each.tag.endswith("title")]
    assert titles.count("high & <wide>") == 2
    kinds = [each.get("class") for each in root.iter()]
    # Two dots a series and one beside its name; a line joins two points.
    assert (kinds.count("dot"), kinds.count("line")) == (6, 2)


def test_only_whole_passes_have_ticks_and_steps_stay_until_the_next_point() -> None:
    assert axis(a_plot(*HEIGHTS), "x") == ["1", "2", "3"]
    longer = [Point(number, 1) for number in range(61)]
    assert axis(a_plot(*longer), "x") == ["0", "10", "20", "30", "40", "50", "60"]
    found = steps([Point(1, 5, "start"), Point(4, 7, "kept")], 9)
    assert found == [Point(1, 5, "start"), Point(4, 5), Point(4, 7, "kept"), Point(9, 7)]


@pytest.mark.parametrize("height", [0.0, 5e-324, 1e299, 1e15 + 0.125])
def test_numbers_that_hardly_differ_are_drawn_too(height: float) -> None:
    ElementTree.fromstring(a_plot(Point(1, height), Point(2, height * (1 + 1e-15))).svg)


def test_small_numbers_are_apart_and_what_is_no_finite_number_is_left_out() -> None:
    small = a_plot(Point(1, 1e-10), Point(2, 9e-10))
    assert axis(small, "y") == ["2e-10", "4e-10", "6e-10", "8e-10"]
    nan, inf = float("nan"), float("inf")
    for height in (nan, inf, -inf):
        left = a_plot(Point(1, 1.5, "a dot"), Point(2, height, "none"), Point(nan, 2), Point(3, 2))
        assert left.svg == a_plot(Point(1, 1.5, "a dot"), None, None, Point(3, 2)).svg
        assert a_plot(Point(1, height)).svg.count("no numbers to draw") == 1
    assert "no numbers to draw" in line_chart("Empty", NUMBERS, Lines([], "pass")).svg
    # Nor may a title have words that no document may have.
    for title in ("a\x00b", "a\ud800b"):
        ElementTree.fromstring(line_chart("Bad", NUMBERS, Lines([], title)).svg.encode())


@pytest.mark.parametrize("size", [1e299, 1e160, 1e-160, 1e-290])
def test_the_largest_and_smallest_numbers_are_drawn_in_their_own_size(size: float) -> None:
    heights = a_plot(Point(1, -size), Point(2, size), y_range=(-size, size))
    ticks = [float(str(each).replace(",", "")) for each in axis(heights, "y")]
    assert ticks[0] == pytest.approx(-size)
    assert ticks[-1] == pytest.approx(size)


def test_every_series_has_a_colour_of_its_own_and_another_one_for_the_dark() -> None:
    style = (ASSETS / "base.css").read_text("utf-8")
    shades = colours([f"arm {at}" for at in range(10)])
    assert len({*shades.values()}) == len(shades)
    for shade in shades.values():
        found = re.fullmatch(r"var\((--plot-\d),(#\w+)\)", shade)
        assert found
        assert f"{found[1]}: light-dark({found[2]}, #" in style


def votes(value: float, low: float | None, high: float | None, verdict: ChartVerdict = "") -> Chart:
    row = ChartRow("one & <b>", Estimate(value, low, high), "in words", verdict)
    return interval_chart("Votes <for> one", [row], sides=("other", "one"))


def test_a_dot_has_its_line_and_the_axis_of_a_share_is_whole() -> None:
    page = votes(0.75, 0.5, 1.0, "good").html
    assert 'class="row rewrite"' in page
    assert 'class="reach" style="left:50.0%;width:50.0%"' in page
    assert 'class="dot" style="left:75.0%"' in page
    assert re.findall(r">(\d+ %)<", page) == ["0 %", "50 %", "100 %"]
    assert "--middle:50.0%" in page
    assert "one &amp; &lt;b&gt;" in page


def test_what_has_no_interval_has_words_and_no_dot() -> None:
    chart = votes(0.75, None, None)
    assert "in words" in chart.html
    for drawn in (chart.html, chart.svg):
        assert 'class="dot"' not in drawn
        assert "<circle" not in drawn
    assert "75 %" in chart.numbers.to_text()


def test_intervals_of_numbers_have_the_scale_they_need_with_no_difference_on_it() -> None:
    rows = [ChartRow("gain", Estimate(0.02, 0.01, 0.03), "+0.02", "good")]
    page = interval_chart("Gain", rows, middle=0.0, scale=None, show="{:g}".format).html
    middle = re.search(r"--middle:([\d.]+)%", page)
    assert middle
    assert 0 < float(middle[1]) < 20
    ElementTree.fromstring(interval_chart("Gain", rows, middle=0.0, scale=None).svg)
