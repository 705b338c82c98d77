"""A result that shows itself: on a terminal, on a page, in a notebook, to a program."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from autoreason.characters import in_markdown, in_markup, without_controls
from autoreason.errors import InvalidInput
from autoreason.report.plot import DARK, LIGHT
from autoreason.report.table import WIDEST, Table, lay_out, wrap

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from autoreason.report.plot import Plot


_STYLE = """\
.report{--ink:#222;--muted:#666;--line:#ddd;--edge:#0005;--paper:#fff;--good:#2c6e36;--warning:#8a5a00;--bad:#b3261e;
 color:var(--ink);background:var(--paper);font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
@media (prefers-color-scheme:dark){.report{--ink:#e6e6e6;--muted:#a0a0a0;--line:#444;--edge:#fff8;--paper:#181818;
 --good:#7cc68a;--warning:#e0b050;--bad:#ff8a80}}
.report h1,.report h2{line-height:1.2}.report .conclusion{font-size:1.15em;font-weight:600}
.report .scroll{overflow-x:auto;background:
 linear-gradient(to left,var(--paper) 50%,transparent) right/4rem 100% no-repeat local,
 linear-gradient(to left,var(--edge),transparent) right/1.25rem calc(100% - 4px) no-repeat}
.report table{border-collapse:collapse;margin:1rem 0;font-size:.9em}
.report th:first-child,.report td:first-child{position:sticky;left:0;background:var(--paper)}
.report caption{text-align:left;font-weight:600;padding:.25rem 0}
.report th,.report td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;
 border-bottom:1px solid var(--line)}
.report th{color:var(--muted);font-weight:400;vertical-align:bottom}
.report .figure{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.report th.figure{white-space:normal}.report dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}
.report dt,.report .muted{color:var(--muted)}.report dd{margin:0}
.report .text{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:0}
.report svg{max-width:100%;height:auto;display:block}.report .tree{max-width:none;min-width:46rem}
.report rect.paper{fill:none}
@media (max-width:40rem){.report dl{display:block}.report dd{margin:0 0 .5rem}}
.report .good{color:var(--good)}.report .warning{color:var(--warning)}.report .bad{color:var(--bad);font-weight:600}
"""
_PLOTS = f".report{{{LIGHT}}}@media (prefers-color-scheme:dark){{.report{{{DARK}}}}}"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_BACKGROUND = "html{background:#fff}@media (prefers-color-scheme:dark){html{background:#181818}}body{margin:0}"


def page(
    heading: str, conclusion: str, sections: Sequence[Section], about: Mapping[str, str]
) -> str:
    title = in_markup(heading)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{title}</title><style>{_BACKGROUND}</style></head>",
            "<body>",
            body(conclusion, sections, about, title),
            "</body></html>\n",
        ]
    )


def body(
    conclusion: str, sections: Sequence[Section], about: Mapping[str, str], title: str = ""
) -> str:
    parts = [
        f'<div class="report"><style>{_STYLE}{_PLOTS}</style>',
        *([f"<h1>{title}</h1>"] if title else []),
        f'<p class="conclusion">{in_markup(conclusion)}</p>',
        *(line for section in sections for line in _section(section)),
        *(["<h2>About</h2>"] if about else []),
        *_sentences(list(about.items())),
        "</div>",
    ]
    return "\n".join(parts)


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield f"<h2>{in_markup(section.title)}</h2>"
    wide = (*(plot.svg for plot in section.plots), *(each.to_html() for each in section.tables))
    yield from (f'<div class="scroll">{each}</div>' for each in wide)
    yield from _sentences(section.sentences)
    if section.text:
        yield f'<pre class="text">{in_markup(section.text)}</pre>'


def _sentences(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Labelled sentences as a list, others as paragraphs."""
    labelled = [(in_markup(label), in_markup(text)) for label, text in rows if label]
    yield from (f"<p>{in_markup(text)}</p>" for label, text in rows if not label)
    if labelled:
        yield (
            "<dl>"
            + "\n".join(f"<dt>{label}</dt><dd>{text}</dd>" for label, text in labelled)
            + "</dl>"
        )


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
            text = text[:1].upper() + text[1:]
        return text if text.endswith((".", "!", "?")) else f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, the conclusion first."""
        first = {"conclusion": self.conclusion, "summary": self.summary()}
        return first | plain_values(self)

    def data(self) -> Sequence[Table]:
        """Tables that are too long for a page, which its files have; each with a title."""
        return ()

    def to_files(self, about: Mapping[str, str] | None = None) -> dict[str, str]:
        """All of it as files by name: pages, numbers, tables for a spreadsheet and for LaTeX, and plots."""
        import msgspec

        about = self.about() if about is None else about
        sections = self.sections()
        plots = {plot.title: plot for section in sections for plot in section.plots}
        names = {title: f"plot-{at}.svg" for at, title in enumerate(plots, 1)}
        tables = [
            each if each.title else each._replace(title=section.title or self.heading)
            for section in sections
            for each in section.tables
        ]
        encoded = msgspec.json.Encoder(decimal_format="number").encode(self.to_dict())
        return {
            "report.html": self.to_html(about),
            "report.md": self.to_markdown(about, names),
            "report.json": msgspec.json.format(encoded, indent=2).decode(),
            "report.tex": "\n\n".join(table.to_latex() for table in tables),
            **{
                f"{_slug(table.title)}.csv": table.to_csv()
                for table in [*tables, *self.data()]
                if table.rows
            },
            **{names[title]: plot.svg for title, plot in plots.items()},
        }

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
            sentences = (
                f"- {label}: {in_markdown(text)}" if label else in_markdown(text)
                for label, text in section.sentences
            )
            parts.append(("\n" if labelled else "\n\n").join(sentences))
            if section.text:
                # Longer than what could end it within the text.
                fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", section.text))])
                parts.append(f"{fence}\n{without_controls(section.text).rstrip()}\n{fence}")
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_html(self, about: Mapping[str, str] | None = None) -> str:
        """One file for a browser, light or dark as that is set, which needs nothing from any network."""
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


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "table"


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


_OWN = re.compile(r"report\.(html|md|json|tex)|[a-z0-9-]+\.csv|plot-\d+\.svg")


def write_folder(folder: Path, files: Mapping[str, str], runs: Collection[str] = ()) -> None:
    """Write files into a folder, which is created where it is missing; an earlier report on these runs is replaced."""
    with usable(folder):
        for path in _earlier_files(folder, runs):
            path.unlink()
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if text.endswith("\n") else text + "\n", "utf-8")


def check_folder(folder: Path | None, runs: Collection[str] = (), *, create: bool = False) -> None:
    """Refuse a folder for a report that cannot be used; `create` finds out by making it, and removes it again."""
    import tempfile

    if folder is None or _earlier_files(folder, runs):
        return
    with usable(folder):
        new = [each for each in (folder, *folder.absolute().parents) if not each.exists()]
        above = new[-1].absolute().parent if new else folder
        if not above.is_dir():
            raise InvalidInput(f"{above} is a file; name a new folder for the report")
        if not new and any(folder.iterdir()):
            raise InvalidInput(f"{folder} is not empty; name a new folder for the report")
        if create:
            created = []
            try:
                for each in reversed(new):
                    each.mkdir()
                    created.append(each)
                with tempfile.NamedTemporaryFile(dir=folder):
                    pass
            finally:
                for each in reversed(created):
                    each.rmdir()


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
        raise InvalidInput(
            f"cannot write {error.filename or folder}: {error.strerror}; name another folder"
        ) from None
