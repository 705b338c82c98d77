"""Sentences and tables on a terminal and on a page in Markdown or HTML; plain values for a spreadsheet."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import takewhile, zip_longest
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


CellText = str | tuple[str, ...]


class Figure(NamedTuple):
    """A value as programs read it, and as people do."""

    value: float | Decimal | Estimate | None
    shown: CellText


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
    def cells(self) -> list[list[CellText]]:
        return [[_shown(value) for value in row] for row in self.rows]

    def lines(self, width: int = UNLIMITED) -> Iterator[list[tuple[str, str]]]:
        """Lines of at most `width` columns: headings and words wrap, spare columns go, others follow beneath.

        A line is pieces with their styles.
        """
        columns = zip(*self.cells, strict=True) if self.rows else [()] * len(self.columns)
        shown = [
            _measure(column, [(_lines_of(each), self._tone(each)) for each in cells], self.headings)
            for column, cells in zip(self.columns, columns, strict=True)
        ]
        kept, gone = shown, []
        for spare in sorted({column.spare for column in self.columns if column.spare}):
            if _total([each.narrow for each in kept]) > width:
                kept = [each for each in kept if each.column.spare != spare]
                gone.append(spare)
        keys = list(takewhile(lambda each: not each.column.figures, kept))
        blocks = [[*keys]]
        for each in kept[len(keys) :]:
            # At least one column goes beside those that identify a row.
            beside = [other.narrow for other in (*blocks[-1], each)]
            if len(blocks[-1]) > len(keys) and _total(beside) > width:
                blocks.append([*keys])
            blocks[-1].append(each)
        for block in blocks:
            yield from _beside(block, width)
        if missing := [column.title for column in self.columns if column.spare in gone]:
            yield [(f"on a wider terminal also: {', '.join(missing)}", STYLES["muted"])]

    def to_text(self, width: int = UNLIMITED) -> str:
        found = ["".join(text for text, _ in line).rstrip() for line in self.lines(width)]
        return "\n".join([*([self.title] if self.title else []), *found])

    def to_rich(self, width: int = UNLIMITED) -> Iterator[Text]:
        from rich.text import Text

        for line in self.lines(width):
            found = Text.assemble(*line)
            found.rstrip()
            yield found

    def to_markdown(self) -> str:
        titles: list[CellText] = [column.title for column in self.columns]
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

        def entry(cell: CellText, figure: bool) -> str:
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
            found = [row[at] for row in self.rows]
            raw = [each.value if isinstance(each, Figure) else each for each in found]
            if Estimate in set(map(type, raw)):
                estimates = (x if isinstance(x, Estimate) else Estimate(None) for x in raw)
                names += [name, f"{name}_low", f"{name}_high"]
                values += zip(*((e.value, e.low, e.high) for e in estimates), strict=True)
            else:
                names.append(name)
                values.append(raw)
        return to_csv(names, zip(*values, strict=True))

    def to_latex(self) -> str:
        kinds = "".join("r" if column.figures else "l" for column in self.columns)
        titles: list[CellText] = [column.title for column in self.columns]
        title = [f"% {_in_latex(self.title)}"] if self.title else []
        head, *rows = (
            " & ".join(_in_latex(" ".join(_lines_of(cell))) for cell in row) + r" \\"
            for row in (titles, *self.cells)
        )
        begin, line = rf"\begin{{tabular}}{{{kinds}}}", r"\hline"
        return "\n".join([*title, begin, line, head, line, *rows, line, r"\end{tabular}"])

    def _tone(self, cell: CellText) -> str:
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


def _in_csv(value: object) -> object:
    """The value itself where its writer knows how to write it."""
    match value:
        case None:
            return ""
        case str():
            return in_csv(" ".join(without_controls(value).split()))
        case tuple():
            return _in_csv(" ".join(value))
        case bool():
            return _shown(value)
    return value


def _shown(value: object) -> CellText:
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


class _Shown(NamedTuple):
    """A column on a terminal."""

    column: Column
    rows: Sequence[tuple[list[str], str]]
    """Lines and tone of its cells, the heading first."""
    wide: int
    """What it takes if nothing is wrapped."""
    narrow: int
    """What it takes if no word is broken."""
    extra: int
    """Of that, what it can do without."""


def _measure(column: Column, rows: Sequence[tuple[list[str], str]], headings: bool) -> _Shown:
    titles = [without_controls(column.title)] if headings else []
    lines = [line for cell, _ in rows for line in cell]
    wide = max(map(_width, [*titles, *lines]), default=0)
    measure = _width if column.figures else _longest_word
    narrow = max([*map(_longest_word, titles), *map(measure, lines)], default=0)
    extra = max(0, min(wide, column.least) - narrow)
    heading = [(titles, "heading")] if headings else []
    return _Shown(column, [*heading, *rows], wide, narrow + extra, extra)


def _beside(block: Sequence[_Shown], room: int) -> Iterator[list[tuple[str, str]]]:
    """The lines of columns that stand beside each other."""
    widths = [each.narrow for each in block]
    for at, each in enumerate(block):
        widths[at] -= min(each.extra, max(0, _total(widths) - room))
    # Words first: a heading of two lines reads better than a sentence of ten.
    for at in sorted(range(len(block)), key=lambda at: block[at].column.figures):
        wish = min(block[at].wide, max(_WIDEST_TEXT, block[at].narrow)) - widths[at]
        widths[at] += max(0, min(wish, room - _total(widths)))
    for row in zip(*(each.rows for each in block), strict=True):
        wrapped = [
            [part for line in lines for part in _filled(line, width)]
            for (lines, _), width in zip(row, widths, strict=True)
        ]
        for parts in zip_longest(*wrapped, fillvalue=""):
            found: list[tuple[str, str]] = []
            for each, part, width, (_, tone) in zip(block, parts, widths, row, strict=True):
                gap = " " * _GAP if found else ""
                found.append((gap + _aligned(part, width, each.column.figures), STYLES[tone]))
            yield found


def _lines_of(cell: CellText) -> list[str]:
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


def _in_markdown(cell: CellText) -> str:
    return "<br>".join(in_markdown(line).replace("|", "\\|") for line in _lines_of(cell))


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
