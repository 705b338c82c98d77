"""A result that shows itself: on a terminal, on a page, in a notebook, to a program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from autoreason.characters import in_markdown, without_controls
from autoreason.report.layout import WIDEST, lay_out, wrap
from autoreason.report.table import Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from autoreason.report.plot import Plot

NOTHING_KNOWN: Mapping[str, str] = {}


class Section(NamedTuple):
    """One part of a report."""

    title: str = ""
    sentences: Sequence[tuple[str, str]] = ()
    """Labels and sentences; a label may be empty."""
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()
    text: str = ""
    """Shown as it is, line by line."""
    detail: bool = False
    """For pages; on a terminal it would hide the rest."""


class Report:
    """A result with one sentence that says what it comes to, and sections that show why."""

    __slots__ = ()

    heading: ClassVar[str] = "Report"
    """The title of its page."""

    @property
    def conclusion(self) -> str:
        """What it comes to, in one sentence."""
        raise NotImplementedError

    def sections(self) -> Sequence[Section]:
        """What it rests on, the most important first."""
        raise NotImplementedError

    def names(self) -> Sequence[str]:
        """What the conclusion may begin with that is written as it is."""
        return ()

    def about(self) -> Mapping[str, str]:
        """What a page says of where it comes from."""
        return NOTHING_KNOWN

    @property
    def sentence(self) -> str:
        """The conclusion with a capital and a full stop; a name stays as it is written."""
        text = self.conclusion
        if not text.startswith(tuple(self.names())):
            text = text[:1].upper() + text[1:]
        return text if text.endswith((".", "!", "?")) else f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, the conclusion first."""
        return {"conclusion": self.conclusion, **plain_values(self)}

    def run_fields(self) -> dict[str, Any]:
        """What the JSON of the run that ended with it says of it."""
        return {"conclusion": self.conclusion, "report": self}

    def to_markdown(
        self, about: Mapping[str, str] = NOTHING_KNOWN, plots: Mapping[str, str] = NOTHING_KNOWN
    ) -> str:
        """A page in Markdown; `about` is what else is known, `plots` are files of plots by title."""
        parts = [f"# {in_markdown(self.heading)}", f"**{in_markdown(self.sentence)}**"]
        parts.append("\n".join(f"- {name}: {in_markdown(text)}" for name, text in about.items()))
        for section in self.sections():
            parts += [f"## {in_markdown(section.title)}"] if section.title else []
            drawn = [plot.title for plot in section.plots if plot.title in plots]
            parts += [f"![{in_markdown(title)}]({plots[title]})" for title in drawn]
            for table in section.tables:
                parts += [f"**{in_markdown(table.title)}**"] if table.title else []
                parts += [table.to_markdown()]
            labelled = any(label for label, _ in section.sentences)
            parts.append(("\n" if labelled else "\n\n").join(map(_in_markdown, section.sentences)))
            parts.append(_fenced(section.text))
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_html(self, about: Mapping[str, str] | None = None) -> str:
        """One file for a browser, light or dark as that is set, which needs nothing from any network."""
        from autoreason.report.page import page

        about = self.about() if about is None else about
        return page(self.heading, self.sentence, self.sections(), about)

    def to_text(self, width: int = WIDEST) -> str:
        """The report in plain text."""
        lines = ("".join(text for text, _ in line).rstrip() for line in self._lines(width))
        return "\n".join(lines)

    def __str__(self) -> str:
        """The report in plain text, no wider than the terminal."""
        import shutil

        return self.to_text(min(WIDEST, shutil.get_terminal_size((WIDEST, 0)).columns))

    def __repr__(self) -> str:
        """Short, for a prompt; `print` shows the report."""
        return f"<{type(self).__name__}: {self.sentence}>"

    def _repr_html_(self) -> str:
        """The report in a notebook."""
        from autoreason.report.page import body

        return body(self.sentence, self.sections(), {})

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The report on a terminal."""
        from rich.text import Text

        whole = not console.is_terminal and options.overflow == "ignore"
        for line in self._lines(options.max_width):
            text = Text(no_wrap=whole, overflow="ignore" if whole else "fold")
            for piece, style in line:
                text.append(piece, style)
            text.rstrip()
            yield text

    def _lines(self, width: int) -> Iterator[list[tuple[str, str]]]:
        """Lines as pieces with styles, within `width`."""
        for line in wrap(without_controls(self.sentence), min(width, WIDEST)):
            yield [(line, "bold")]
        for section in self.sections():
            if not section.detail:
                yield from _section_lines(section, width)


def plain_values(fields: object) -> dict[str, Any]:
    """Fields as JSON has them, sums of money as numbers."""
    import msgspec

    encoded = msgspec.json.Encoder(decimal_format="number").encode(fields)
    return msgspec.json.decode(encoded, type=dict[str, Any])


def _section_lines(section: Section, width: int) -> Iterator[list[tuple[str, str]]]:
    from autoreason.report.table import STYLES

    if section.title:
        yield []
        for words in wrap(without_controls(section.title), min(width, WIDEST)):
            yield [(words, "bold")]
    for at, table in enumerate(section.tables):
        if at or not section.title:
            yield []
        for words in wrap(table.title, width):
            yield [(words, "bold")]
        for line in table.lines(width):
            yield [(piece.text, STYLES[piece.tone]) for piece in line]
    if section.sentences and (section.tables or not section.title):
        yield []
    clean = [(label, without_controls(text)) for label, text in section.sentences]
    for label, text in lay_out(clean, width):
        yield [(label, "dim"), (text, "")]
    yield from ([(line, "")] for line in without_controls(section.text).splitlines())


def _fenced(text: str) -> str:
    """A text that nothing in it can end."""
    if not text:
        return ""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", text))])
    return f"{fence}\n{without_controls(text).rstrip()}\n{fence}"


def _in_markdown(row: tuple[str, str]) -> str:
    label, text = row
    return f"- {label}: {in_markdown(text)}" if label else in_markdown(text)
