"""A part of a report, declared: what it says and has to show; terminal and page lay it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from autoreason.report.charts import Chart
    from autoreason.report.side_by_side import SideBySide
    from autoreason.report.table import Table


class Section(NamedTuple):
    """One part of a report."""

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
