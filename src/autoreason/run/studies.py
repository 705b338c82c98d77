"""The library's way to a blind panel and to a comparison: texts or strategies in, the report out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.events import FINISHED
from autoreason.exchange import Model, Spent
from autoreason.journal import Journal
from autoreason.keys import Key
from autoreason.plugins import absolute
from autoreason.run.refine import as_task, refine_async, wait_for
from autoreason.run.result import Result
from autoreason.settings import DEFAULT_MODEL
from autoreason.studies.compare.report import ComparisonReport, comparison_report
from autoreason.studies.panels.entries import cut_options, make_entries
from autoreason.studies.panels.panel_report import PanelReport, require_statistics
from autoreason.studies.panels.results import panel_report
from autoreason.task import Task


def judge(
    brief: str | Task, texts: Mapping[str, str], model: str | Model = DEFAULT_MODEL, **options: Any
) -> PanelReport:
    """Run a blind panel and wait for it; takes what `judge_async` takes."""
    return wait_for(lambda: judge_async(brief, texts, model, **options), "judge")


async def judge_async(
    brief: str | Task,
    texts: Mapping[str, str],
    model: str | Model = DEFAULT_MODEL,
    *,
    judges: int = 7,
    pairwise: bool = False,
    equal_length: bool = False,
    **options: Any,
) -> PanelReport:
    """A blind panel over 2 to 10 texts by name; other options are those of `refine_async`."""
    require_statistics()
    task = replace(as_task(brief), entries=make_entries(texts, equal_length=equal_length))
    strategy = "judge_pairs" if pairwise else "judge"
    own = cut_options(texts, equal_length=equal_length)
    result = await refine_async(
        task, model, strategy=strategy, strategy_options=own, judges=judges, **options
    )
    return panel_report(_finished(result).story)


def compare(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Any
) -> ComparisonReport:
    """Compare strategies and wait for it; takes what `compare_async` takes."""
    return wait_for(lambda: compare_async(brief, model, **options), "compare")


async def compare_async(
    brief: str | Task,
    model: str | Model = DEFAULT_MODEL,
    *,
    strategies: Sequence[str] = ("autoreason", "single", "critique_revise"),
    repeats: int | None = None,
    match: str = "calls",
    allowance: Decimal | int | None = None,
    panel_judges: int = 7,
    journal: Journal | str | Path | None = None,
    **options: Any,
) -> ComparisonReport:
    """Strategies from one shared draft with matched budgets; other options are those of `refine_async`."""
    require_statistics()
    terms: dict[str, Any] = {
        "strategies": [absolute(name) for name in strategies],
        "match": match,
        "judges": panel_judges,
    }
    if repeats is not None:
        terms["repeats"] = repeats
    if allowance is not None:
        terms["allowance"] = str(allowance)
    with ExitStack() as exits:
        if not isinstance(journal, Journal):
            url = str(journal) if journal else None
            journal = exits.enter_context(Journal.open(url, create=True))
        result = await refine_async(
            brief, model, journal=journal, strategy="compare", strategy_options=terms, **options
        )
        return comparison_report(_finished(result).story, spent_by_part(journal, result.run))


def spent_by_part(journal: Journal, run: str) -> dict[str, Spent]:
    """What each part of a comparison took; a panel that was run again is one part with the first."""
    spent: dict[str, Spent] = {}
    for call in journal.calls(run):
        part = Key.parse(call.request.key).part
        if part:
            name = str(replace(part, attempt=0))
            spent[name] = spent.get(name, Spent()).plus(call.reply)
    return spent


def _finished(result: Result) -> Result:
    if result.status not in FINISHED:
        raise InvalidInput(
            f"run {result.run} paused ({result.status}: {result.reason}); resume it for its report"
        )
    return result
