"""What every plot shares: the frame, the legend, the axes and the colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from autoreason.characters import in_markup

LEGEND = 20
"""Height of a line of the legend."""
_COLOURS = ("#0b6e99", "#d1495b", "#3a7d44", "#8e5ea2", "#b7791f", "#7a7a7a", "#c2559a")
_STYLE = (
    "text{font:11px sans-serif;fill:var(--ink,#333)}.title{font-weight:bold}"
    ".axis{fill:var(--muted,#777)}.grid{stroke:var(--line,#ddd);stroke-width:1}"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round}.paper{fill:var(--paper,#fff)}"
    ".mark{fill:#fff;font-size:8px;font-weight:bold}"
)


class Plot(NamedTuple):
    """A picture as an SVG document; on a page it takes the page's colours, light or dark."""

    title: str
    svg: str


class Scale(NamedTuple):
    """Numbers to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a number lies."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name."""
    return {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(names)}


def frame(title: str, width: int, height: int, parts: Iterable[str]) -> Plot:
    """The picture around its parts."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{in_markup(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        *parts,
        "</svg>",
    ]
    return Plot(title, "\n".join(lines) + "\n")


def legend(found: Mapping[str, str]) -> Iterator[str]:
    """The name of each colour."""
    for at, (name, colour) in enumerate(found.items()):
        y = 16 + LEGEND * at
        yield f'<circle cx="16" cy="{y - 4}" r="4" fill="{colour}"/>'
        yield label(name, 28, y)


def label(text: str, x: float, y: float, kind: str = "", anchor: str = "") -> str:
    """A text at a place; what it says acts on no page."""
    named = f' class="{kind}"' if kind else ""
    end = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}"{end}>{in_markup(text)}</text>'
