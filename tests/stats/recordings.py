"""The recorded experiments as this folder's tests read them: 70 % of the whole set."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

Line = dict[str, Any]

SONNET_4 = "claude-sonnet-4-20250514"
SONNET_46 = "claude-sonnet-4-6"

OPEN = ("v2_task01", "multi_task", "monte_carlo")
"""The ten runs of Sonnet 4 on open tasks."""


def recorded(shared: Path, name: str) -> list[Line]:
    """Every line of a recorded file."""
    text = (shared / "recorded" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def passes_with_rankings(shared: Path, judge_model: str | None = None) -> list[Line]:
    """Passes of which every judge's ranking and order were kept."""
    kept = [line for line in recorded(shared, "ballots") if line["replay"] == "ballots"]
    return [line for line in kept if judge_model in (None, line["judge_model"])]


def rankings(line: Line) -> list[list[str]]:
    """The rankings of one pass, best first."""
    return [judge["ranking"] for judge in line["judges"]]


def winners(shared: Path, *experiments: str) -> dict[str, list[str]]:
    """Who won each pass, run by run, of runs that judged A, B and AB with a panel."""
    runs: defaultdict[str, list[Line]] = defaultdict(list)
    for line in recorded(shared, "ballots"):
        if (
            line["replay"] != "pick"
            and line["k"]
            and line["experiment"] in (experiments or [line["experiment"]])
        ):
            runs[f"{line['experiment']}/{line['run']}"].append(line)
    return {
        run: [line["winner"] for line in sorted(lines, key=lambda line: int(line["pass"]))]
        for run, lines in runs.items()
    }


def panels_with_methods(shared: Path) -> list[Line]:
    """Final comparisons of which the ballots are known method by method."""
    lines = recorded(shared, "panels")
    return [line for line in lines if line["ballots"] and line["label_map_status"] != "unknown"]


def audit(shared: Path, ref: str, claim: str) -> Line:
    """The one line of the audit with this reference whose claim starts like this."""
    lines = recorded(shared, "paper_vs_data")
    (found,) = [line for line in lines if line["ref"] == ref and line["claim"].startswith(claim)]
    return found


def stopped_at(won: list[bool], k: int) -> int | None:
    """The pass at which `k` survivals in a row would have stopped a run; None where they never came."""
    streak = 0
    for number, survived in enumerate(won, start=1):
        streak = streak + 1 if survived else 0
        if streak == k:
            return number
    return None


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
