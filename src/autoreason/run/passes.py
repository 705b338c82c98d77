"""The passes of a run as a table and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from autoreason.report.numbers import UNKNOWN, percent
from autoreason.report.plot import LEGEND, Plot, Scale, colours, frame, label, legend
from autoreason.report.table import Column, Table
from autoreason.tournament.candidates import SLOT_NAMES, slots_and
from autoreason.tournament.statements import code_voters, scores

if TYPE_CHECKING:
    from autoreason.events import PassDecided
    from autoreason.story import Story

_WIDTH, _HEIGHT = 640, 130
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 26, 22
_OPEN = "inconclusive"


def passes_table(passes: Sequence[PassDecided]) -> Table:
    """One row per pass: who won, by how much, and how long the text is then."""
    heads = ("margin", "by chance", "ballots", "words")
    columns = [Column("pass"), Column("winner", figures=False), Column("points", figures=False)]
    return Table([*columns, *map(Column, heads)], [_row(each) for each in passes])


def _row(decided: PassDecided) -> tuple[str, ...]:
    won, verdict = decided.winner or _OPEN, decided.verdict
    if verdict is None:
        judged = (UNKNOWN,) * 4
    else:
        margin = "tie" if verdict.tied else str(verdict.margin)
        judged = (
            scores(verdict.scores),
            margin,
            percent(verdict.chance),
            " + ".join([str(verdict.ballots), *code_voters(verdict)]),
        )
    return (str(decided.number), won, *judged, f"{decided.words:,}")


def plot_passes(passes: Sequence[PassDecided]) -> Plot:
    """Margins as bars in the winner's colour, and the length of the text beneath."""
    winners = dict.fromkeys(each.winner or _OPEN for each in passes)
    shades = colours(slots_and(_OPEN))
    named = {SLOT_NAMES.get(name, name): shades[name] for name in shades if name in winners}
    top = LEGEND * len(named)
    margins = [each.verdict.margin if each.verdict else 0 for each in passes]
    words = [each.words for each in passes]
    across = Scale(0.5, len(passes) + 0.5, _LEFT, _WIDTH - _RIGHT)
    parts = [
        *legend(named),
        f'<g transform="translate(0 {top})">',
        *_axes("Margin, in points", max(1, *margins), across, passes),
        *_bars(margins, across, [shades[each.winner or _OPEN] for each in passes]),
        "</g>",
        f'<g transform="translate(0 {top + _HEIGHT})">',
        *_axes("Words after the pass", max(1, *words), across, passes),
        *_line(words, across),
        "</g>",
    ]
    return frame("Margin and length, pass by pass", _WIDTH, top + 2 * _HEIGHT, parts)


def _up(highest: int) -> Scale:
    return Scale(0, highest, _HEIGHT - _BOTTOM, _TOP)


def _axes(title: str, highest: int, across: Scale, passes: Sequence[PassDecided]) -> Iterator[str]:
    yield label(title, _LEFT, 16, "title")
    for value in (0, highest):
        y = _up(highest)(value)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield label(f"{value:,}", _LEFT - 5, y + 4, "axis", "end")
    step = -(-len(passes) // 20)
    for at in range(0, len(passes), step):
        yield label(str(passes[at].number), across(at + 1), _HEIGHT - 6, "axis", "middle")


def _bars(margins: Sequence[int], across: Scale, fills: Sequence[str]) -> Iterator[str]:
    up, half = _up(max(1, *margins)), (across(2) - across(1)) * 0.35
    for at, (margin, fill) in enumerate(zip(margins, fills, strict=True), 1):
        # A pass without a lead is still there to be seen.
        height = max(2.0, up(0) - up(max(0, margin)))
        yield (
            f'<rect x="{across(at) - half:.1f}" y="{up(0) - height:.1f}" width="{2 * half:.1f}" '
            f'height="{height:.1f}" fill="{fill}"/>'
        )


def _line(words: Sequence[int], across: Scale) -> Iterator[str]:
    up, shade = _up(max(1, *words)), colours([""])[""]
    points = [(across(at), up(each)) for at, each in enumerate(words, 1)]
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    yield f'<path class="line" stroke="{shade}" d="M{corners}"/>'
    yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{shade}"/>' for x, y in points)


def passes_of(story: Story) -> list[PassDecided]:
    """The passes that are over."""
    return [each.decided for each in story.passes if each.decided]
