"""A result that shows itself: on a terminal, on a page, in a notebook, to a program."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from autoreason.characters import in_markdown, without_controls
from autoreason.errors import InvalidInput
from autoreason.report.numbers import capital
from autoreason.report.table import WIDEST, Table, lay_out, wrap

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from autoreason.report.charts import Chart
    from autoreason.report.page import SideBySide


NOTHING_KNOWN: Mapping[str, str] = {}


class Section(NamedTuple):
    """A part of a report, declared: what it says and has to show; terminal and page lay it out."""

    title: str = ""
    sentences: Sequence[tuple[str, str]] = ()
    """Labels and sentences; a label may be empty."""
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    text: str = ""
    """In Markdown; a terminal shows it as it is, line by line."""
    detail: bool = False
    """For pages, where it is folded; on a terminal it would hide the rest."""
    folded: bool = False
    """Evidence: folded on a page, and on a terminal as it is."""
    texts: SideBySide | None = None
    patch: str = ""


class Report:
    """A result with one sentence that says what it comes to, and sections that show why."""

    __slots__ = ()

    heading: ClassVar[str] = "Report"
    is_summarized: ClassVar[bool] = False
    """Whether commands print its summary, and all of it with --evidence."""

    @property
    def conclusion(self) -> str:
        """What it comes to, in one sentence."""
        raise NotImplementedError

    def summary(self, took: str = "") -> list[str]:
        """What a person reads first: up to five lines; `took` is what the run that found it took."""
        return [self.sentence, *filter(None, [took])]

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
            text = capital(text)
        return text if text.endswith((".", "!", "?")) else f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, the conclusion first."""
        first = {"conclusion": self.conclusion, "summary": self.summary()}
        return first | plain_values(self)

    def data(self) -> Sequence[Table]:
        """Tables that are too long for a page, which its files have; each with a title."""
        return ()

    def to_files(self, about: Mapping[str, str] | None = None) -> dict[str, str]:
        """All of it as files by name: pages, numbers, tables for a spreadsheet and for LaTeX, and charts."""
        about = self.about() if about is None else about
        sections = self.page_sections()
        charts = {chart.title: chart for section in sections for chart in section.charts}
        names = {title: f"{_slug(title)}.svg" for title in charts}
        tables = [
            each if each.title else each._replace(title=section.title or self.heading)
            for section in sections
            for each in section.tables
        ]
        tables += [each.numbers._replace(title=title) for title, each in charts.items()]
        return {
            "report.html": self.to_html(about),
            "report.md": self.to_markdown(about, names),
            "report.json": pretty_json(self.to_dict()),
            "report.tex": "\n\n".join(table.to_latex() for table in tables),
            **{
                f"{_slug(table.title)}.csv": table.to_csv()
                for table in [*tables, *self.data()]
                if table.rows
            },
            **{names[title]: chart.svg for title, chart in charts.items()},
        }

    def run_fields(self) -> dict[str, Any]:
        """What the JSON of the run that ended with it says of it."""
        return {"conclusion": self.conclusion, "report": self}

    def to_markdown(
        self, about: Mapping[str, str] = NOTHING_KNOWN, charts: Mapping[str, str] = NOTHING_KNOWN
    ) -> str:
        """A page in Markdown; `about` is what else is known, `charts` are files of charts by title."""
        parts = [f"# {in_markdown(self.heading)}", f"**{in_markdown(self.sentence)}**"]
        parts.append("\n".join(f"- {name}: {in_markdown(text)}" for name, text in about.items()))
        for section in self.page_sections():
            parts += [f"## {in_markdown(section.title)}"] if section.title else []
            for chart in section.charts:
                file = charts.get(chart.title)
                parts += [f"![{in_markdown(chart.title)}]({file})"] if file else []
                parts += [f"**{in_markdown(chart.title)}**", chart.numbers.to_markdown()]
            for table in section.tables:
                parts += [f"**{in_markdown(table.title)}**"] if table.title else []
                parts += [table.to_markdown()]
            labelled = any(label for label, _ in section.sentences)
            sentences = (
                f"- {label}: {in_markdown(text)}" if label else in_markdown(text)
                for label, text in section.sentences
            )
            parts.append(("\n" if labelled else "\n\n").join(sentences))
            parts += map(_fenced, filter(None, (section.text, section.patch)))
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_html(self, about: Mapping[str, str] | None = None) -> str:
        """One file for a browser, light or dark as that is set, which needs nothing from any network."""
        about = self.about() if about is None else about
        lines = self.summary()
        full = Section("The conclusion in full", [("", self.sentence)], folded=True)
        sections = [*([] if self.sentence in lines else [full]), *self.page_sections()]
        return report_page(self.heading, lines, sections, about)

    def page_sections(self) -> Sequence[Section]:
        """What a page shows, which needs no command line."""
        return self.sections()

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
        from autoreason.report.page import ASSETS, fill, render

        sections = self.page_sections()
        template = ASSETS / "notebook.html"
        return fill(template, conclusion=self.sentence, sections=sections, render=render)

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


_COMMAND = re.compile(r"(?:; | · )[^;·]*(?:--\w+|\bautoreason \w+)[^;·]*|[:;] see --\w+")


def report_page(
    heading: str, summary: Sequence[str], sections: Sequence[Section], about: Mapping[str, str]
) -> str:
    """The outcome as heading, what shows it, and the evidence folded."""
    from autoreason.report import charts
    from autoreason.report.page import ASSETS, fill_page, render

    return fill_page(
        ASSETS / "report.html",
        title=heading,
        styles=[charts.STYLES],
        lines=[*_without_commands(summary)],
        opened=[each for each in sections if not (each.detail or each.folded)],
        folded=[each for each in sections if each.detail or each.folded],
        about=about,
        render=render,
    )


def _without_commands(lines: Sequence[str]) -> Iterator[str]:
    """The lines without columns and without commands, which are for terminals; a page has the same below."""
    for line in lines:
        shown = _COMMAND.sub("", line)
        if "  " not in shown.strip() and not line.startswith("  "):
            yield shown if shown == line or shown.endswith(".") else f"{shown}."


def add_warnings(lines: Sequence[str], warnings: Sequence[str]) -> list[str]:
    """An ending in five lines: with what is to be known of it, the most important first, and as much as fits."""
    room = 4 - len(lines)
    last = " ".join(warnings[room:])
    if len(last) > WIDEST and warnings[room + 1 :]:
        last = f"{warnings[room]} · more: see show --evidence"
    return [*lines, *warnings[:room], *filter(None, [last])]


def _fenced(text: str) -> str:
    """As it is, within a fence longer than what could end it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", text))])
    return f"{fence}\n{without_controls(text).rstrip()}\n{fence}"


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "table"


def pretty_json(value: object) -> str:
    """A value over several lines, sums of money as numbers."""
    import msgspec

    encoded = msgspec.json.Encoder(decimal_format="number").encode(value)
    return msgspec.json.format(encoded, indent=2).decode()


def plain_values(fields: object) -> dict[str, Any]:
    """Fields as JSON has them, sums of money as numbers."""
    import msgspec

    encoded = msgspec.json.Encoder(decimal_format="number").encode(fields)
    return msgspec.json.decode(encoded, type=dict[str, Any])


def _section_lines(section: Section, width: int) -> Iterator[list[tuple[str, str]]]:
    if not (section.tables or section.sentences or section.text):
        # Charts and texts side by side are for pages.
        return
    if section.title:
        yield []
        for words in wrap(without_controls(section.title), min(width, WIDEST)):
            yield [(words, "bold")]
    for at, table in enumerate(section.tables):
        if at or not section.title:
            yield []
        for words in wrap(table.title, width):
            yield [(words, "bold")]
        yield from table.lines(width)
    if section.sentences and (section.tables or not section.title):
        yield []
    clean = [(label, without_controls(text)) for label, text in section.sentences]
    for label, text in lay_out(clean, width):
        yield [(label, "dim"), (text, "")]
    yield from ([(line, "")] for line in without_controls(section.text).splitlines())


_OWN = re.compile(r"report\.(html|md|json|tex)|[a-z0-9-]+\.(csv|svg)")


def write_folder(folder: Path, files: Mapping[str, str], runs: Collection[str] = ()) -> None:
    """Write files into a folder, which is created where it is missing; an earlier report on these runs is replaced."""
    with usable(folder):
        for path in _earlier_files(folder, runs):
            path.unlink()
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if text.endswith("\n") else text + "\n", "utf-8")


def check_folder(folder: Path, runs: Collection[str]) -> None:
    """Refuse a folder that has more than an earlier report on these runs."""
    with usable(folder):
        if not _earlier_files(folder, runs) and folder.exists() and any(folder.iterdir()):
            raise InvalidInput(f"{folder} is not empty; name a new folder for the report")


def _earlier_files(folder: Path, runs: Collection[str]) -> list[Path]:
    import msgspec

    try:
        earlier = msgspec.json.decode((folder / "report.json").read_bytes())
    except (OSError, msgspec.MsgspecError):
        return []
    origin = earlier.get("origin") if isinstance(earlier, dict) else None
    if not isinstance(origin, dict) or origin.get("Run") not in runs:
        return []
    return [each for each in folder.iterdir() if _OWN.fullmatch(each.name)]


@contextmanager
def usable(folder: Path) -> Iterator[None]:
    """Refuse a folder that cannot be written."""
    try:
        yield
    except OSError as error:
        why = f"cannot write {error.filename or folder}: {error.strerror}"
        raise InvalidInput(f"{why}; name another folder") from None
