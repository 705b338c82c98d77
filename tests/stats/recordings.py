"""The recorded experiments as this folder's tests read them: 70 % of the whole set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Line = dict[str, Any]

SONNET_4 = "claude-sonnet-4-20250514"
SONNET_46 = "claude-sonnet-4-6"


def recorded(shared: Path, name: str) -> list[Line]:
    text = (shared / "recorded" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def audit(shared: Path, ref: str, claim: str) -> Line:
    """The one line of the audit with this reference whose claim starts like this."""
    lines = recorded(shared, "paper_vs_data")
    (found,) = [line for line in lines if line["ref"] == ref and line["claim"].startswith(claim)]
    return found


ARMS = {
    "Table 10": {
        "autoreason": ("code_s46", "autoreason", SONNET_46),
        "c&r": ("code_s46", "critique", SONNET_46),
        "single": ("code_s46", "single", SONNET_46),
    },
    "Table 19": {
        "sonnet": ("code_haiku", "single", SONNET_4),
        "ar": ("code_haiku", "autoreason", "haiku"),
        "single": ("code_haiku", "single", "haiku"),
        "c&r": ("code_haiku", "critique", "haiku"),
        "best6": ("code_best_of_n", "best6", "haiku"),
    },
    "Table 20": {
        "ar": ("code_haiku45", "autoreason", "haiku"),
        "c&r": ("code_haiku45", "critique", "haiku"),
        "single": ("code_haiku45", "single", "haiku"),
        "sonnet": ("code_haiku45", "single", SONNET_4),
    },
}
CLAIMS = {"Table 10": "S4.6 code", "Table 19": "Haiku 3.5 code", "Table 20": "Haiku 4.5 code"}


def private_shares(shared: Path, table: str) -> dict[str, float]:
    """The share of 150 problems each arm solved, as the whole set gives it."""
    line = audit(shared, table, CLAIMS[table])
    figures = line["paper"] if line["data"] == "identical" else line["data"]
    return {arm: private / 100 for arm, (_, private) in figures.items()}
