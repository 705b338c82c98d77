"""How many calls a tournament takes, by role, before it is held."""

from __future__ import annotations

from collections.abc import Mapping

from autoreason.settings import Settings
from autoreason.tournament.challengers import RIVALS
from autoreason.tournament.criticism import CRITICS
from autoreason.tournament.evidence import chance_of_survival
from autoreason.tournament.judging import JUDGES_PER_SEAT

Plan = Mapping[str, int]
"""Calls by role."""
TRIES = 2
"""A text, a critique or a ballot that cannot be used is asked for once more."""
A_TEXT = 2
"""What a text takes that breaks the contract: itself, and a request to put it right."""
TEXT_CALLS = TRIES + 2
"""The most a text can take: one call to mend a leak and one to mend a breach of contract come on top."""


def fewest(settings: Settings) -> Plan:
    """Critics find nothing from the start."""
    return {
        "author": settings.drafts,
        "critic": CRITICS * min(settings.k, settings.passes),
        "judge": 0,
    }


def likely(settings: Settings) -> Plan:
    """As many passes as chance alone would take until A survives k times in a row."""
    stays = chance_of_survival(settings.judges, rule=settings.voting)
    expected = (1 - stays**settings.k) / (stays**settings.k * (1 - stays))
    passes = min(settings.passes, round(expected))
    return {
        "author": settings.drafts,
        "critic": passes,
        "reviser": passes,
        "synthesizer": passes,
        "judge": passes * settings.judges + _other_judges(settings),
    }


def most(settings: Settings) -> Plan:
    """Everything that can be asked again is."""
    seats = max(settings.judges, settings.max_judges) if settings.extra_judges else settings.judges
    drafts = settings.max_drafts + settings.passes * RIVALS * settings.rivals
    return {
        "author": drafts * TEXT_CALLS,
        "critic": settings.passes * CRITICS * TRIES,
        "reviser": settings.passes * TEXT_CALLS,
        "synthesizer": settings.passes * TEXT_CALLS,
        "judge": (settings.passes * seats + _other_judges(settings)) * TRIES * JUDGES_PER_SEAT,
    }


def _other_judges(settings: Settings) -> int:
    """Those of the panels before and after the passes."""
    among_drafts = settings.judges if settings.drafts > 1 else 0
    return among_drafts + settings.playoff + settings.confirmation
