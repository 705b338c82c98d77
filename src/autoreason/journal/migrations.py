"""Migrations of events, from each version to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]
Step = Callable[[Fields], Fields]

_TYPES = {
    "CritiqueMade": "CritiqueWritten",
    "GuidanceTaken": "GuidanceGiven",
    "PanelHeld": "PanelDecided",
    "PartTold": "PartEvent",
}
_SETTINGS = {
    "balanced": "balanced_orders",
    "close": "close_margin",
    "inconclusive": "max_inconclusive",
    "more_judges": "extra_judges",
    "most_drafts": "max_drafts",
    "most_judges": "max_judges",
    "output_limit": "max_tokens",
    "spare_judges": "early_stop",
}
_PROMPTS = {
    f"{folder}mend_{what}": f"{folder}fix_{what}"
    for folder in ("", "small/")
    for what in ("contract", "leak")
}


def _to_2(fields: Fields) -> Fields:
    """Plain names for events, settings and prompts."""
    fields = fields | {"type": _TYPES.get(fields["type"], fields["type"])}
    match fields["type"]:
        case "PartEvent":
            fields["event"] = _to_2(fields["event"])
        case "PassDecided" if fields["outcome"] == "taken":
            fields["outcome"] = "unjudged"
        case "RunStarted":
            fields["settings"] = _rename(fields["settings"], _SETTINGS)
            fields["prompts"] = _rename(fields["prompts"], _PROMPTS)
        case "RunResumed":
            fields["settings"] = _rename(fields["settings"], _SETTINGS)
    return fields


def _to_3(fields: Fields) -> Fields:
    """A plain sentence for passes in which critics found nothing."""
    match fields["type"]:
        case "PartEvent":
            fields["event"] = _to_3(fields["event"])
        case "PassDecided" if fields.get("reason") == "two critics found nothing to mend":
            fields["reason"] = "two critics found nothing to fix"
    return fields


def _rename(fields: Fields, names: dict[str, str]) -> Fields:
    return {names.get(name, name): value for name, value in fields.items()}


STEPS: tuple[Step, ...] = (_to_2, _to_3)
"""One step for every version but the newest."""
