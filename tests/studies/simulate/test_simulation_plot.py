"""The picture is a well-formed SVG with one chart a world and one line a protocol."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import example, given
from hypothesis import strategies as st

from autoreason.studies.simulate.outcomes import Interval, Summary
from autoreason.studies.simulate.simulation_plot import draw
from autoreason.studies.simulate.study import Cell

NUMBERS = re.compile(r"(-?[\d.]+) (-?[\d.]+)")
SVG = "{http://www.w3.org/2000/svg}"
NONE = Interval(0.0, 0.0, 0.0)
SUMMARY = Summary(
    runs=1,
    quality=NONE,
    passes=NONE,
    calls=NONE,
    worse=None,
    claimed=None,
    claimed_wrongly=None,
)
points = st.tuples(st.floats(1, 500), st.floats(-50, 50))


def cell(world: str, protocol: str, curve: list[tuple[float, float]]) -> Cell:
    """A cell of which only the curve matters."""
    return Cell(world=world, protocol=protocol, summary=SUMMARY, curve=curve)


@example([(1.0, 0.0)], [(1.0, -5e-324)])
@given(st.lists(points, min_size=1, max_size=20), st.lists(points, min_size=1, max_size=20))
def test_every_line_stays_within_its_chart(
    one: list[tuple[float, float]], other: list[tuple[float, float]]
) -> None:
    root = ElementTree.fromstring(draw([cell("w", "p", one), cell("w", "q", other)]).svg)
    lines = [path.attrib["d"] for path in root.iter(f"{SVG}path") if path.get("class") == "line"]
    assert len(lines) == 2
    for line in lines:
        x, y = (list(map(float, numbers)) for numbers in zip(*NUMBERS.findall(line), strict=True))
        assert min(x) >= 0
        assert max(x) <= float(root.attrib["width"])
        assert min(y) >= 0
        assert max(y) <= float(root.attrib["height"])


def test_names_are_escaped_and_worlds_kept_apart() -> None:
    drawn = draw([cell(f"w<{at}", "p & q", [(5.0, 1.0)]) for at in range(5)])
    root = ElementTree.fromstring(drawn.svg)
    texts = list(root.iter(f"{SVG}text"))
    titles = [text.text for text in texts if text.get("class") == "title"]
    assert titles == [f"w<{at}" for at in range(5)]
    assert [text.text for text in texts].count("p & q") == 5
