"""Runs for the tests of lists."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from msgspec.structs import replace
from tests.cli.made_up import EVIDENCE

from autoreason.contract import Contract, count_words
from autoreason.events import Delivered, DraftReady, Preference
from autoreason.exchange import Spent
from autoreason.journal import RunRow
from autoreason.pages.listed import ListedRun
from autoreason.settings import Budget, Models, make_settings
from autoreason.stats.shares import exact_share
from autoreason.story import Story
from autoreason.task import Task

DRAFT = "# A plan\n\nWe open on Sundays."
RESULT = "# Sunday opening\n\n- We ask for 300 euros.\n- We open on Sundays."


def asked(prefer: int, judges: int) -> Preference:
    found = exact_share(prefer, judges)
    assert found.low is not None
    assert found.high is not None
    return Preference(judges=judges, prefer=prefer, low=found.low, high=found.high)


def ended(found: Preference | None = None, **changes: Any) -> Story:
    evidence = replace(EVIDENCE, survival=None, preference=found)
    words = count_words(RESULT)
    end: dict[str, Any] = {"text": RESULT, "words": words, "origin": "pass 1 B", "violations": ()}
    end |= {"status": "converged", "reason": "", "ended_by": "survivals", "evidence": evidence}
    settings = make_settings(Models.everywhere("echo/echo"), 1, budget=Budget(cost=Decimal("3.00")))
    task = Task(brief="Open on Sundays?", contract=Contract(max_words=20))
    story = Story(task=task, settings=settings)
    story.apply(DraftReady(text=DRAFT, words=count_words(DRAFT), given=False))
    story.apply(Delivered(**end | changes))
    return story


def row(**changes: Any) -> RunRow:
    at = datetime(2026, 11, 17, 10, 45, tzinfo=UTC)
    values: dict[str, Any] = {"id": "20261117-solar-vole", "title": "Open on Sundays?"}
    values |= {"status": "converged", "created": at, "updated": at, "version": "1", "live": False}
    values |= {"forked_from": None, "spent": Spent(calls=62, known_cost=Decimal("0.27"))}
    return RunRow(**values | changes)


def listed(**changes: Any) -> ListedRun:
    values: dict[str, Any] = {"run": "20261117-solar-vole", "title": "Sunday opening"}
    values |= {"kind": "text", "outcome": "preferred", "rounds": ("rewrite", "kept", None, "merge")}
    values |= {"line": "9 of 9 fresh judges prefer it to the first draft.", "limits": "kept"}
    values |= {"words_before": 144, "words": 171}
    values |= {"cost": Decimal("0.27"), "cost_limit": Decimal("3.00"), "created": row().created}
    return ListedRun(**values | changes)
