"""The page of a report: the outcome as its heading, what shows it, and the evidence folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from autoreason.report import charts
from autoreason.report.markdown import render
from autoreason.report.page import ASSETS, fill, fill_page
from autoreason.report.section import Section

_COMMAND = re.compile(r"(?:; | · )[^;·]*(?:--\w+|\bautoreason \w+)[^;·]*|[:;] see --\w+")


def report_page(
    heading: str, summary: Sequence[str], sections: Sequence[Section], about: Mapping[str, str]
) -> str:
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


def notebook_part(conclusion: str, sections: Sequence[Section]) -> str:
    """Conclusion, sentences, tables and charts, with no style but their own."""
    return fill(ASSETS / "notebook.html", conclusion=conclusion, sections=sections, render=render)
