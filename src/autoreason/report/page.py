"""A report as one HTML file: no script, nothing from a network, light or dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from autoreason.characters import in_markup
from autoreason.report.plot import DARK, LIGHT

if TYPE_CHECKING:
    from autoreason.report.report import Section

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
    """The whole file."""
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
    """The contents of the page."""
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
