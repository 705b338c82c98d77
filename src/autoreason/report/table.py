"""Sentences and tables on a terminal and on a page in Markdown or HTML; plain values for a spreadsheet."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

from autoreason.characters import in_csv, in_markdown, in_markup, without_controls
from autoreason.report.numbers import UNKNOWN
from autoreason.stats import Estimate

if TYPE_CHECKING:
    from rich.text import Text


WIDEST = 100
"""Columns that a sentence takes at most; longer lines are hard to read."""
_LABEL = 11
_NARROWEST = 20
_HARD = "\u00a0"
_TOGETHER = re.compile(
    r"p [<=] \S+|\d+ (?:h|min) \d\d (?:min|s)\b"
    r"|(?:(?:under|over) |(?:\d+ / )+)?[\d.,]+ (?:%|(?:ms|s|min|h|MB|GB)\b)"
)


def join_units(text: str) -> str:
    """The text with a no-break space between every number and its unit."""
    return _TOGETHER.sub(lambda found: found[0].replace(" ", _HARD), text)


def restore_spaces(text: str) -> str:
    return text.replace(_HARD, " ")


def wrap(sentence: str, width: int, indent: str = "") -> list[str]:
    """Lines of whole words that never part a number from its unit; `indent` begins all but the first."""
    lines = textwrap.wrap(
        join_units(sentence),
        width,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return list(map(restore_spaces, lines))


def lay_out(labelled: Sequence[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Labels and sentences as lines of at most `width` columns, sentences aligned."""
    lines = []
    column = max([_LABEL, *(len(label) + 2 for label, _ in labelled)])
    for label, sentence in labelled:
        indent = column if label else 0
        # Narrow terminals get whole words, however few fit on a line.
        wrapped = wrap(sentence, max(_NARROWEST, min(width, WIDEST) - indent))
        lines += [(f"{label if i == 0 else '':<{indent}}", part) for i, part in enumerate(wrapped)]
    return lines


Tone = Literal["good", "warning", "bad", "muted"]
STYLES: dict[str, str] = {
    "": "",
    "heading": "dim",
    "good": "green",
    "warning": "yellow",
    "bad": "bold red",
    "muted": "dim",
}
UNLIMITED = 10_000
"""Columns where no screen sets a limit."""
_GAP = 2
_LONGEST_WORD = 24
_WIDEST_TEXT = 68


Cell = str | tuple[str, ...]


class Figure(NamedTuple):
    """A value as programs read it, and as people do."""

    value: float | Decimal | Estimate | None
    shown: Cell


class Column(NamedTuple):
    """A column of words, or of figures, which are never wrapped or cut."""

    title: str
    figures: bool = True
    spare: int = 0
    """What a narrow terminal leaves out first is 1, together with others of the same number; 0 is always shown."""
    least: int = 0
    """Columns that it gets before spare columns do, and where there is room."""


def words(*titles: str) -> list[Column]:
    return [Column(title, figures=False) for title in titles]


def figures(*titles: str) -> list[Column]:
    return [Column(title) for title in titles]


class Fragment(NamedTuple):
    text: str
    tone: str = ""


class Table(NamedTuple):
    """Values, a row each; columns of words at the left identify the row."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]
    """Cells, numbers, figures that are shown otherwise than they are, and None for what is not known."""
    title: str = ""
    tones: Mapping[str, Tone] = {}
    """What the text of a cell means, by that text."""
    headings: bool = True

    @property
    def cells(self) -> list[list[Cell]]:
        return [[_shown(value) for value in row] for row in self.rows]

    def lines(self, width: int = UNLIMITED) -> Iterator[list[Fragment]]:
        """Lines of at most `width` columns: headings and words wrap, spare columns go, others follow beneath."""
        layout = _Layout(self)
        kept = layout.kept(width)
        for block in layout.blocks(kept, width):
            yield from layout.block(block, width)
        missing = [col.title for at, col in enumerate(self.columns) if at not in kept]
        if missing:
            yield [Fragment(f"on a wider terminal also: {', '.join(missing)}", "muted")]

    def to_text(self, width: int = UNLIMITED) -> str:
        found = ["".join(piece.text for piece in line).rstrip() for line in self.lines(width)]
        return "\n".join([*([self.title] if self.title else []), *found])

    def to_rich(self, width: int = UNLIMITED) -> Iterator[Text]:
        from rich.text import Text

        for line in self.lines(width):
            found = Text.assemble(*((piece.text, STYLES[piece.tone]) for piece in line))
            found.rstrip()
            yield found

    def to_markdown(self) -> str:
        titles: list[Cell] = [column.title for column in self.columns]
        rows = [[_in_markdown(cell) for cell in row] for row in (titles, *self.cells)]
        widths = [max(3, *map(_width, column)) for column in zip(*rows, strict=True)]
        rules = [
            "-" * (width - 1) + ":" if column.figures else "-" * width
            for column, width in zip(self.columns, widths, strict=True)
        ]
        rows.insert(1, rules)
        return "\n".join(
            "| " + " | ".join(map(_aligned, row, widths, self._figures())) + " |" for row in rows
        )

    def to_html(self) -> str:
        def heading(column: Column) -> str:
            if not column.title:
                return "<td></td>"
            kind = ' class="n"' if column.figures else ""
            # The room that the column has on a terminal, too.
            least = f' style="min-width:{column.least}ch"' if column.least else ""
            return f'<th scope="col"{kind}{least}>{in_markup(column.title)}</th>'

        def entry(cell: Cell, figure: bool) -> str:
            names = " ".join(filter(None, ("n" if figure else "", self._tone(cell))))
            text = "<br>".join(map(in_markup, _lines_of(cell)))
            return f'<td class="{names}">{text}</td>' if names else f"<td>{text}</td>"

        caption = f"<caption>{in_markup(self.title)}</caption>" if self.title else ""
        head = f"<thead><tr>{''.join(map(heading, self.columns))}</tr></thead>\n"
        rows = ("".join(map(entry, row, self._figures())) for row in self.cells)
        body = "\n".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table>{caption}\n{head * self.headings}<tbody>\n{body}\n</tbody></table>"

    def to_csv(self) -> str:
        """The values for a spreadsheet or a program; an estimate has the ends of its interval in two columns more."""
        names: list[str] = []
        values: list[Sequence[object]] = []
        for at, column in enumerate(self.columns):
            name = column.title.replace(" ", "_")
            found = (row[at] for row in self.rows)
            raw = [each.value if isinstance(each, Figure) else each for each in found]
            estimates = [each if isinstance(each, Estimate) else Estimate(None) for each in raw]
            if any(isinstance(each, Estimate) for each in raw):
                names += [name, f"{name}_low", f"{name}_high"]
                values += zip(*((e.value, e.low, e.high) for e in estimates), strict=True)
            else:
                names.append(name)
                values.append(raw)
        return to_csv(names, zip(*values, strict=True))

    def to_latex(self) -> str:
        kinds = "".join("r" if column.figures else "l" for column in self.columns)
        titles: list[Cell] = [column.title for column in self.columns]
        title = [f"% {_in_latex(self.title)}"] if self.title else []
        head, *rows = (
            " & ".join(_in_latex(" ".join(_lines_of(cell))) for cell in row) + r" \\"
            for row in (titles, *self.cells)
        )
        begin, line = rf"\begin{{tabular}}{{{kinds}}}", r"\hline"
        return "\n".join([*title, begin, line, head, line, *rows, line, r"\end{tabular}"])

    def _tone(self, cell: Cell) -> str:
        return self.tones.get(cell, "") if isinstance(cell, str) else ""

    def _figures(self) -> list[bool]:
        return [column.figures for column in self.columns]


def to_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Values for a spreadsheet or a program: numbers in full, what is not known empty, no text a formula."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_in_csv(value) for value in row] for row in (names, *rows))
    return out.getvalue()


def _in_csv(value: object) -> str:
    if isinstance(value, str | tuple):
        return in_csv(" ".join(_lines_of(value)))
    shown = _shown(value) if isinstance(value, bool) else value
    return "" if shown is None else str(shown)


def _shown(value: object) -> Cell:
    if isinstance(value, Figure):
        return value.shown
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple):
        return tuple(map(str, value))
    return f"{value:g}" if isinstance(value, float | Decimal) else str(value)


_LATEX = re.compile(r"[\\&%$#_{}~^]")


def _in_latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return _LATEX.sub(lambda found: special.get(found[0], f"\\{found[0]}"), text)


class _Layout:
    """How wide the columns of a table are on a terminal."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._shown = table.cells
        self._rows = [[_lines_of(cell) for cell in row] for row in self._shown]
        cells = list(zip(*self._rows, strict=True)) or [()] * len(table.columns)
        headings = table.columns if table.headings else [Column("")] * len(table.columns)
        titles = [without_controls(column.title) for column in headings]
        self._titles = titles
        self._wide = [
            max([_width(title), *(_width(line) for cell in column for line in cell)])
            for title, column in zip(titles, cells, strict=True)
        ]

        def narrowest(title: str, column: Column, cells: Sequence[list[str]]) -> int:
            measure = _width if column.figures else _longest_word
            return max([_longest_word(title), *(measure(line) for cell in cells for line in cell)])

        self._narrow = list(map(narrowest, titles, table.columns, cells))
        self._least = [
            max(0, min(wide, col.least) - narrow)
            for narrow, wide, col in zip(self._narrow, self._wide, table.columns, strict=True)
        ]
        self._narrow = [sum(both) for both in zip(self._narrow, self._least, strict=True)]
        figures = [col.figures for col in table.columns]
        self._keys = figures.index(True) if True in figures else len(figures)

    def kept(self, room: int) -> list[int]:
        """The columns shown, without what a narrow terminal can do without."""
        kept = list(range(len(self._wide)))
        columns = self._table.columns
        for spare in sorted({column.spare for column in columns if column.spare}):
            if _total([self._narrow[each] for each in kept]) <= room:
                break
            kept = [at for at in kept if columns[at].spare != spare]
        return kept

    def blocks(self, kept: Sequence[int], room: int) -> Iterator[list[int]]:
        """As many columns at a time as fit next to those that identify a row, and at least one."""
        keys = [at for at in kept if at < self._keys]
        block: list[int] = []
        for at in kept[len(keys) :]:
            if block and _total([self._narrow[each] for each in (*keys, *block, at)]) > room:
                yield [*keys, *block]
                block = []
            block.append(at)
        yield [*keys, *block]

    def block(self, columns: Sequence[int], room: int) -> Iterator[list[Fragment]]:
        widths = self._widths(columns, room)
        if self._table.headings:
            titles = [[title] for title in self._titles]
            yield from self._row(titles, columns, widths, ["heading"] * len(titles))
        for row, lines in zip(self._shown, self._rows, strict=True):
            yield from self._row(lines, columns, widths, list(map(self._table._tone, row)))

    def _widths(self, columns: Sequence[int], room: int) -> dict[int, int]:
        widths = {at: self._narrow[at] for at in columns}
        for at in columns:
            widths[at] -= min(self._least[at], max(0, _total(list(widths.values())) - room))
        # Words first: a heading of two lines reads better than a sentence of ten.
        for at in sorted(columns, key=lambda at: self._table.columns[at].figures):
            wish = min(self._wide[at], max(_WIDEST_TEXT, self._narrow[at])) - widths[at]
            widths[at] += max(0, min(wish, room - _total(list(widths.values()))))
        return widths

    def _row(
        self,
        cells: Sequence[list[str]],
        columns: Sequence[int],
        widths: Mapping[int, int],
        tones: Sequence[str],
    ) -> Iterator[list[Fragment]]:
        wrapped = {
            at: [each for line in cells[at] for each in _filled(line, widths[at])] for at in columns
        }
        for line in range(max(map(len, wrapped.values()))):
            found: list[Fragment] = []
            for at in columns:
                text = wrapped[at][line] if line < len(wrapped[at]) else ""
                gap = " " * _GAP if found else ""
                shown = _aligned(text, widths[at], self._table.columns[at].figures)
                found.append(Fragment(gap + shown, tones[at]))
            yield found


def _lines_of(cell: Cell) -> list[str]:
    lines = (cell,) if isinstance(cell, str) else cell
    return [" ".join(without_controls(line).split()) for line in lines]


def _filled(line: str, width: int) -> list[str]:
    """Lines of whole words; a name too long for its column keeps its end, which distinguishes files."""
    if _width(line) <= width:
        return [line]
    lines: list[str] = []
    for word in join_units(line).split(" "):
        if _width(word) > width:
            while _width(word) > width - 1:
                word = word[1:]
            word = f"…{word}"
        longer = f"{lines[-1]} {word}" if lines else word
        if _width(longer) <= width:
            lines[-1:] = [longer]
        else:
            lines.append(word)
    return list(map(restore_spaces, lines))


def _longest_word(text: str) -> int:
    return min(_LONGEST_WORD, max(map(_width, join_units(text).split(" ")), default=0))


def _total(widths: Sequence[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _aligned(text: str, width: int, right: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if right else text + blank


def _in_markdown(cell: Cell) -> str:
    return "<br>".join(in_markdown(line).replace("|", "\\|") for line in _lines_of(cell))


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
