"""The passes of a run as a table and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from autoreason.report.numbers import UNKNOWN, percent
from autoreason.report.plot import Chart, Plot, Point, Series, colours, plot_charts
from autoreason.report.table import Table, figures, words
from autoreason.tournament.candidates import SLOT_NAMES, slots_and
from autoreason.tournament.statements import code_voters, scores

if TYPE_CHECKING:
    from autoreason.events import PassDecided
    from autoreason.story import Story

_OPEN = "inconclusive"


def passes_table(passes: Sequence[PassDecided]) -> Table:
    """One row per pass: who won, by how much, and how long the text is then."""
    measured = figures("margin", "by chance", "ballots", "words")
    columns = [*figures("pass"), *words("winner", "points"), *measured]
    return Table(columns, [_row(each) for each in passes])


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
    """The margin of each pass in its winner's colour, and the length of the text beneath."""
    shades = colours(slots_and(_OPEN))
    bars: dict[str, list[Point | None]] = {name: [] for name in shades}
    words: list[Point] = []
    for each in passes:
        won, margin = each.winner or _OPEN, max(0, each.verdict.margin) if each.verdict else 0
        about = f"pass {each.number}: {won}, margin {margin}"
        # A pass without a lead is still there to be seen, as a dot.
        bars[won] += [Point(each.number, 0), Point(each.number, margin, about), None]
        words.append(Point(each.number, each.words, f"pass {each.number}: {each.words:,} words"))
    won_by = [
        Series(SLOT_NAMES.get(name, name), shades[name], bars[name])
        for name in shades
        if bars[name]
    ]
    across = passes[0].number - 0.5, passes[-1].number + 0.5
    most = max(1, *(point.y for bar in bars.values() for point in bar if point))
    margins = Chart(won_by, "pass", "Margin, in points", x_range=across, y_range=(0, most))
    longest = max(1, *(point.y for point in words))
    length = Chart(
        [Series("", shades["A"], words)],
        "pass",
        "Words after the pass",
        x_range=across,
        y_range=(0, longest),
    )
    return plot_charts("Margin and length, pass by pass", margins, length)


def passes_of(story: Story) -> list[PassDecided]:
    """The passes that are over."""
    return [each.decided for each in story.passes if each.decided]
