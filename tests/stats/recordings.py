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
