"""Migrations of events, from each version to the next, and of queries that were recorded as requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

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
_RECOVERY = ("forgiven", "failed_panels", "redrafts")
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


def _rename(fields: Fields, names: dict[str, str]) -> Fields:
    return {names.get(name, name): value for name, value in fields.items()}


def _to_3(fields: Fields) -> Fields:
    """What a run recovered from is no setting, and problems are a kind of work."""
    if fields["type"] == "RunStarted":
        task = dict(fields["task"])
        problems = task.pop("assignments", ())
        work = {"type": "Assignments", "assignments": problems} if problems else None
        fields |= {"task": task | {"work": work}}
    if fields["type"] == "RunResumed":
        settings = dict(fields["settings"])
        recovery = {name: settings.pop(name) for name in _RECOVERY if name in settings}
        fields |= {"settings": settings, "recovery": recovery}
    return fields


def _to_4(fields: Fields) -> Fields:
    """A plain sentence for passes in which critics found nothing."""
    match fields["type"]:
        case "PartEvent":
            fields["event"] = _to_4(fields["event"])
        case "PassDecided" if fields.get("reason") == "two critics found nothing to mend":
            fields["reason"] = "two critics found nothing to fix"
    return fields


def _to_5(fields: Fields) -> Fields:
    """The streak that ends a run is no longer called as the one that was reached; one pass is no passes."""
    match fields:
        case {"type": "PartEvent", "event": event}:
            fields["event"] = _to_5(event)
        case {"type": "Delivered", "evidence": {"survival": {"streak": _} as survival}}:
            survival["required_streak"] = survival.pop("streak")
    if fields["type"] == "Delivered":
        for text, plain in _SINGULAR.items():
            fields["reason"] = re.sub(rf"\b{text}", plain, fields["reason"])
    return fields


_SINGULAR = {
    "A survived 1 passes in a row": "A survived a pass",
    "1 passes were run": "1 pass was run",
}


def _to_6(fields: Fields) -> Fields:
    """A single pass is not one of several."""
    match fields:
        case {"type": "PartEvent", "event": event}:
            fields["event"] = _to_6(event)
        case {"type": "Delivered", "reason": reason}:
            fields["reason"] = re.sub(r"(?<=\bA survived a pass, )1 of them ", "", reason)
    return fields


STEPS: tuple[Step, ...] = (_to_2, _to_3, _to_4, _to_5, _to_6)
"""One step for every version but the newest."""


def upgrade_answer(kind: str, question: Any, answer: Any) -> tuple[str, Any, Any]:
    """A query and its answer; before there were queries, both were put as JSON into a request and its reply."""
    if kind not in _QUERIES_AS_REQUESTS:
        return kind, question, answer
    key, text = {"key": question["key"]}, answer["text"]
    contents = [msgspec.json.decode(message["text"]) for message in question["messages"]]
    match kind, contents:
        case "budget", [need]:
            return "budget_check", key | need, text
        case "policy", [turn]:
            return "next_action", key | {"turn": turn}, text
        case "examiner", [inputs, probe]:
            probe = probe | {"inputs": inputs}
            return "observation", key | {"probe": probe}, msgspec.json.decode(text)
        case "examiner", [examination]:
            question = key | {"examination": examination}
            return "examination", question, msgspec.json.decode(text)
    return "guidance", key, text


_QUERIES_AS_REQUESTS = frozenset({"person", "budget", "policy", "examiner"})
"""Roles of such requests; no query is of a kind with one of these names."""
