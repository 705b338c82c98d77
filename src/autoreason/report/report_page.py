"""The page of a report: the outcome as its heading, what shows it, and the evidence folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from autoreason.characters import in_markup
from autoreason.report import charts
from autoreason.report.markdown import render
from autoreason.report.page import ASSETS, document

if TYPE_CHECKING:
    from autoreason.report.charts import Chart
    from autoreason.report.section import Section

_STYLES = (charts.STYLES, ASSETS / "report.css")
_SCRIPTS = (ASSETS / "report.js",)
_NOTEBOOK = (
    ".autoreason{max-width:60rem}.autoreason table{border-collapse:collapse}.autoreason .n{text-align:right}"
    ".autoreason th,.autoreason td{padding:.2rem .7rem .2rem 0;text-align:left}"
    ".autoreason svg{max-width:100%;height:auto;background:#fff}"
)


_COMMAND = re.compile(r"(?:; | · )[^;·]*(?:--\w+|\bautoreason \w+)[^;·]*|[:;] see --\w+")


def report_page(
    heading: str,
    summary: Sequence[str],
    sections: Sequence[Section],
    concluded: str,
    about: Mapping[str, str],
) -> str:
    """One file; `concluded` is the conclusion where the summary says it otherwise."""
    first, *lines = _without_commands(summary)
    opened = [each for each in sections if not (each.detail or each.folded)]
    folded = [each for each in sections if each.detail or each.folded]
    parts = [
        f'<p class="kick">{in_markup(heading)}</p><h1>{in_markup(first)}</h1>',
        *(f'<p class="lead">{in_markup(line)}</p>' for line in lines),
        *(line for at, section in enumerate(opened) for line in _open(section, at)),
    ]
    if folded or concluded:
        parts.append('<section aria-labelledby="evidence"><h2 id="evidence">Evidence</h2>')
        parts += [f"<p>{in_markup(concluded)}</p>"] if concluded else []
        parts += (line for section in folded for line in _folded(section))
        parts.append("</section>")
    known = " · ".join(f"{name}: {text}" for name, text in about.items())
    parts += [f"<footer>{in_markup(known)}</footer>"] if known else []
    return document(heading, "\n".join(parts), styles=_STYLES, scripts=_SCRIPTS)


def _without_commands(lines: Sequence[str]) -> Iterator[str]:
    """The lines without columns and without commands, which are for terminals; a page has the same below."""
    for line in lines:
        shown = _COMMAND.sub("", line)
        if "  " not in shown.strip() and not line.startswith("  "):
            yield shown if shown == line or shown.endswith(".") else f"{shown}."


def notebook_part(conclusion: str, sections: Sequence[Section]) -> str:
    """Conclusion, sentences, tables and charts, with no style but their own."""
    parts = [
        f'<div class="autoreason"><style>{_NOTEBOOK}</style><p><b>{in_markup(conclusion)}</b></p>'
    ]
    for section in sections:
        parts += [f"<h4>{in_markup(section.title)}</h4>"] if section.title else []
        parts += [*(each.svg for each in section.charts), *(e.to_html() for e in section.tables)]
        parts += [*_paragraphs(section.sentences), *_labelled(section.sentences)]
        parts += _whole_text(section.text)
    return "\n".join([*parts, "</div>"])


def _open(section: Section, at: int) -> Iterator[str]:
    if not section.title:
        yield from _content(section)
        return
    yield f'<section aria-labelledby="part-{at}"><h2 id="part-{at}">{in_markup(section.title)}</h2>'
    yield from _content(section)
    yield "</section>"


def _folded(section: Section) -> Iterator[str]:
    title = in_markup(section.title or "Details")
    yield f"<details><summary>{title}</summary><div>"
    yield from _content(section)
    yield "</div></details>"


def _content(section: Section) -> Iterator[str]:
    yield from _paragraphs(section.sentences)
    yield from map(_figure, section.charts)
    if section.texts:
        yield section.texts.to_html()
    for table in section.tables:
        yield _scrolling(table.to_html(), table.title or section.title or "Table")
    yield from _labelled(section.sentences)
    yield from _whole_text(section.text)
    if section.patch:
        yield _scrolling(
            f'<pre class="patch">{"".join(_patch_lines(section.patch))}</pre>', "Patch"
        )


def _figure(chart: Chart) -> str:
    numbers = _scrolling(chart.numbers.to_html(), f"{chart.title}: numbers")
    drawn = chart.html if chart.on_page else _scrolling(chart.html, chart.title)
    note = f'<p class="small muted">{in_markup(chart.note)}</p>' if chart.note else ""
    return (
        f'<figure class="card"><figcaption>{in_markup(chart.title)}</figcaption>{drawn}{note}'
        f'<details class="plain"><summary>Numbers</summary><div>{numbers}</div></details></figure>'
    )


def _scrolling(html: str, name: str) -> str:
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{in_markup(name)}">{html}</div>'
    )


def _paragraphs(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Sentences without a label: one as a paragraph, several as a list."""
    plain = [in_markup(text) for label, text in rows if not label]
    if plain[1:]:
        yield f"<ul>{''.join(f'<li>{text}</li>' for text in plain)}</ul>"
    else:
        yield from (f'<p class="sub">{text}</p>' for text in plain)


def _labelled(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    labelled = [(in_markup(label.strip()), in_markup(text)) for label, text in rows if label]
    if labelled:
        pairs = "\n".join(f"<dt>{label}</dt><dd>{text}</dd>" for label, text in labelled)
        yield f"<dl>{pairs}</dl>"


def _whole_text(text: str) -> Iterator[str]:
    if text:
        yield f'<div class="doc small" dir="auto">{render(text)}</div>'


def _patch_lines(patch: str) -> Iterator[str]:
    for line in patch.splitlines(keepends=True):
        tag = "" if line.startswith(("+++", "---")) else {"+": "ins", "-": "del"}.get(line[:1], "")
        yield f"<{tag}>{in_markup(line)}</{tag}>" if tag else in_markup(line)
