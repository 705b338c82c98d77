"""A list of runs as a page: where a text is, how it ended, and whether anything is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from autoreason.pages.listed import OUTCOMES, ListedRun, describe_length
from autoreason.report.numbers import money
from autoreason.report.page import fill_page
from autoreason.tournament.endings import short_run
from autoreason.wording import KINDS

LIST_MARK = "<!-- a list of runs, by autoreason -->"
"""By which such a page is known when it is written again."""


def runs_page(runs: Sequence[ListedRun], addresses: Mapping[str, str], more: bool = False) -> str:
    """A page of these runs by the addresses of their pages, running ones first; `more` says there are earlier ones."""
    known = [each.cost for each in runs if each.cost is not None]
    page = fill_page(
        Path(__file__).parent / "assets/runs.html",
        title="Runs",
        runs=sorted(runs, key=lambda each: each.outcome != "running"),
        addresses=addresses,
        more=more,
        running=sum(each.outcome == "running" for each in runs),
        spent=money(sum(known, Decimal(0))),
        unknown=len(runs) - len(known),
        outcomes=OUTCOMES,
        marks=KINDS,
        money=money,
        short_run=short_run,
        describe_length=describe_length,
    )
    return f"{page}{LIST_MARK}\n"
