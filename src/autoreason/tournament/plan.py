"""How many calls a tournament takes, by role, estimated beforehand."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from autoreason.jobs.job import Plan, Plans
from autoreason.settings import Settings
from autoreason.tournament.candidates import (
    ballot_size,
    judges_revisions,
    revisers_by_slot,
    writes_synthesis,
)
from autoreason.tournament.challengers import MAX_RIVALS
from autoreason.tournament.critics import CRITICS
from autoreason.tournament.evidence import survival_chances
from autoreason.tournament.judges import seat_calls
from autoreason.tournament.panel_size import whole_size

TRIES = 2
"""A text, a critique or a ballot that cannot be used is asked for once more."""
CALLS_PER_TEXT = 2
"""A text that breaks the contract: the text itself, and a request to fix it."""
MAX_CALLS_PER_TEXT = TRIES + 2
"""The most a text can take: one more call to fix a leak and one to fix a breach of contract."""


def min_plan(settings: Settings) -> Plan:
    """Critics find nothing from the start, or small changes end it sooner."""
    found_nothing = {
        "author": settings.drafts,
        "critic": CRITICS * min(settings.k, settings.passes),
        "judge": 0,
    }
    if not 0 < settings.plateau <= settings.passes:
        return found_nothing
    judges, playoff = (
        number // 2 + 1 if settings.early_stop and number else number
        for number in (settings.judges, settings.playoff)
    )
    small_changes = {
        "author": settings.drafts,
        "critic": settings.plateau,
        "reviser": settings.plateau * len(revisers_by_slot(settings)),
        "synthesizer": settings.plateau * writes_synthesis(settings),
        "judge": settings.plateau * judges + playoff,
    }
    return min(found_nothing, small_changes, key=lambda plan: sum(plan.values()))


def broken_plan(settings: Settings, *, given: bool) -> Plan:
    """No text keeps the contract, so that each is sent back and the first pass is the last."""
    drafts, revisions = 0 if given else settings.max_drafts, len(revisers_by_slot(settings))
    texts = {"author": drafts, "reviser": revisions, "synthesizer": writes_synthesis(settings)}
    return {role: CALLS_PER_TEXT * number for role, number in texts.items()}


def likely_plan(settings: Settings) -> Plan:
    """As many passes as chance alone would take until A survives k times in a row, ties aside."""
    panel = replace(whole_size(settings), required_lead=settings.required_lead)
    survival, tie = survival_chances(panel, ballot_size(settings), settings.voting)
    expected = 0.0
    for _ in range(settings.k):
        # A streak of one more: those before it and one pass, as often as it takes until A survives that;
        # after a tie it takes one more pass and not the streak again.
        expected = (expected * (1 - tie) + 1) / survival if survival else inf
    passes = round(min(settings.passes, expected))
    return {
        "author": settings.drafts,
        "critic": passes,
        "reviser": passes * len(revisers_by_slot(settings)),
        "synthesizer": passes * writes_synthesis(settings),
        "judge": (passes * settings.judges + _other_judges(settings)) * seat_calls(settings).usual,
    }


def max_plan(settings: Settings) -> Plan:
    """Every request is repeated as often as possible."""
    seats = max(settings.judges, settings.max_judges) if settings.extra_judges else settings.judges
    rivals = MAX_RIVALS * (settings.rivals and judges_revisions(settings))
    texts = settings.passes * MAX_CALLS_PER_TEXT
    return {
        "author": (settings.max_drafts + settings.passes * rivals) * MAX_CALLS_PER_TEXT,
        "critic": settings.passes * CRITICS * TRIES,
        "reviser": texts * len(revisers_by_slot(settings)),
        "synthesizer": texts * writes_synthesis(settings),
        "judge": (settings.passes * seats + _other_judges(settings)) * seat_calls(settings).most,
    }


def without_drafts(plans: Plans, drafts: int) -> Plans:
    """Plans without first drafts that need not be written."""
    low, likely, high = plans
    return (
        _less_author(low, drafts),
        _less_author(likely, drafts),
        _less_author(high, drafts * MAX_CALLS_PER_TEXT),
    )


def _less_author(plan: Plan, calls: int) -> Plan:
    return {**plan, "author": max(0, plan.get("author", 0) - calls)}


def _other_judges(settings: Settings) -> int:
    """Those of the panels before and after the passes."""
    among_drafts = settings.judges if settings.drafts > 1 else 0
    return among_drafts + settings.playoff + settings.confirmation
