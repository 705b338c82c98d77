"""The audit finds by itself what is known to be wrong with the original experiments.

The recordings are about 70 % of the whole, so each figure is counted here again, from the raw lines.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chisquare

from autoreason.studies.audit.audit import Audit, audit_runs
from autoreason.studies.audit.files import read_records
from autoreason.studies.audit.findings import AuditFinding

Line = dict[str, Any]


@pytest.fixture(scope="session")
def recorded(shared: Path) -> Path:
    """The folder of the recordings."""
    return shared / "recorded"


@pytest.fixture(scope="session")
def lines(recorded: Path) -> list[Line]:
    """Every recorded pass as it stands in the file."""
    text = (recorded / "ballots.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="session")
def audit(recorded: Path) -> Audit:
    """What the audit makes of all passes."""
    return audit_runs(read_records(recorded / "ballots.jsonl"))


@pytest.fixture(scope="session")
def whole(recorded: Path) -> Audit:
    """What the audit makes of the folder: all passes, and texts where there are any."""
    started = time.process_time()
    audited = audit_runs(read_records(recorded))
    assert time.process_time() - started < 10, "an audit takes a few seconds"
    return audited


def finding(audit: Audit, name: str) -> AuditFinding:
    (found,) = [each for each in audit.findings if each.name == name]
    return found


def runs_of(lines: list[Line]) -> list[list[Line]]:
    runs: defaultdict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        runs[line["experiment"], line["run"]].append(line)
    return [sorted(run, key=lambda line: int(line["pass"])) for run in runs.values()]


def converged(lines: list[Line]) -> list[list[Line]]:
    return [
        run
        for run in runs_of(lines)
        if run[0]["k"] and (run[-1]["streak_after"] or 0) >= run[0]["k"]
    ]


def tied(line: Line) -> bool:
    top, second, *_ = sorted(line["scores"].values(), reverse=True)
    return bool(top == second)


def test_rule_1_empty_panels_counted_as_wins_and_runs_converged_on_them(
    audit: Audit, lines: list[Line]
) -> None:
    found = finding(audit, "empty panels")
    assert found.level == "alarm"
    empty = [line for line in lines if line["valid_ballots_implied"] == 0]
    won = [line for line in empty if line["winner"] == "A"]
    ended = [run for run in converged(lines) if any(line in won for line in run[-run[0]["k"] :])]
    assert won
    assert ended
    assert f"{len(empty)} of {len(lines)} panels" in found.statement
    assert f"{len(won)} of them counted as a win for A" in found.statement
    assert f"{len(ended)} runs converged on one" in found.statement


def test_rule_2_one_judge_model_gave_most_invalid_of_its_ballots(
    audit: Audit, lines: list[Line]
) -> None:
    found = finding(audit, "invalid ballots")
    assert found.level == "alarm"
    haiku = [line for line in lines if "haiku" in line["judge_model"]]
    asked = sum(line["panel_size"] for line in haiku)
    invalid = asked - sum(line["valid_ballots_implied"] for line in haiku)
    assert invalid > 0.7 * asked
    assert f"{invalid} of {asked} by {haiku[0]['judge_model']}" in found.statement


def test_rule_2_few_answers_hold_the_exact_line_and_all_but_one_can_be_read(
    whole: Audit, recorded: Path
) -> None:
    found = finding(whole, "ballot form")
    assert found.level == "look"
    texts = [judge["text"] for line in transcript_passes(recorded) for judge in line["judges"]]
    exact = sum(any(_is_the_line(row) for row in text.splitlines()) for text in texts)
    assert exact < 0.5 * len(texts)
    assert f"{exact} of {len(texts)} answers" in found.statement
    assert f"reads {len(texts) - 1} of the {len(texts)}" in found.statement


def _is_the_line(row: str) -> bool:
    head, _, ranking = row.rstrip().partition("RANKING: ")
    return head == "" and sorted(ranking.split(", ")) == ["1", "2", "3"]


def transcript_passes(recorded: Path) -> list[Line]:
    files = sorted((recorded / "transcripts").glob("*.jsonl"))
    rows = [json.loads(row) for file in files for row in file.read_text("utf-8").splitlines()]
    return [row for row in rows if row["type"] == "pass"]


def test_rule_4_most_revisions_gave_themselves_away(whole: Audit, recorded: Path) -> None:
    found = finding(whole, "leaks")
    assert found.level == "alarm"
    passes = len(transcript_passes(recorded))
    assert f"of {passes} revisions" in found.statement
    share = int(found.statement.split("%")[0].rpartition("(")[2])
    # The audit of the whole set counted 59 %.
    assert 45 < share < 70


def test_rule_5_texts_were_whole_where_they_were_kept_and_lengths_pile_up_in_the_others(
    audit: Audit, recorded: Path
) -> None:
    for file in sorted((recorded / "transcripts").glob("*.jsonl")):
        assert finding(audit_runs(read_records(file)), "cut-off texts").level == "fine", file.name
    found = finding(audit, "cut-off texts")
    assert found.level == "look"
    # These are the runs whose texts ended at 4,096 tokens.
    assert "s46_" in found.statement


def test_rule_7_position_decides_and_not_alike_for_every_model(
    audit: Audit, lines: list[Line]
) -> None:
    found = finding(audit, "position")
    assert found.level == "alarm"
    for model in ("claude-sonnet-4-20250514", "claude-sonnet-4-6"):
        firsts = Counter(
            judge["order"].index(judge["ranking"][0])
            for line in lines
            if line["judge_model"] == model
            for judge in line["judges"] or ()
            if judge["ranking"] and len(judge["ranking"]) == 3
        )
        counts = [firsts[place] for place in range(3)]
        assert chisquare(counts).pvalue < 1e-6
        shares = " / ".join(f"{count / sum(counts) * 100:.0f}" for count in counts)
        assert f"{model}: {shares} % of {sum(counts)} (p < 0.001)" in found.statement


def test_rule_8_one_order_for_all_judges_feigned_unanimity(audit: Audit, lines: list[Line]) -> None:
    found = finding(audit, "shared order")
    assert found.level == "alarm"
    assert found.p_value_adjusted is not None
    assert found.p_value_adjusted < 0.001
    panels = [line for line in lines if line["panel_size"] > 1]
    one_order = [line for line in panels if line["one_order_for_all_judges"]]
    assert f"{len(one_order)} of {len(panels)} panels" in found.statement
    shares = {}
    for shared in (True, False):
        full = [
            line
            for line in panels
            if line["one_order_for_all_judges"] is shared
            and line["judge_model"] == one_order[0]["judge_model"]
            and line["scores"]
            and line["panel_size"] == _valid(line)
        ]
        best = [max(line["scores"].values()) for line in full]
        points = [1 if line["aggregation"] == "majority" else 3 for line in full]
        agreed = sum(
            b == p * line["panel_size"] for b, p, line in zip(best, points, full, strict=True)
        )
        shares[shared] = f"{agreed / len(full) * 100:.0f} %"
    assert f"in {shares[True]} of them" in found.statement
    assert f"against {shares[False]}" in found.statement


def _valid(line: Line) -> int:
    recorded, implied = line["valid_ballots_recorded"], line["valid_ballots_implied"]
    return int(implied if recorded is None else recorded)


def test_rule_9_convergence_is_no_more_than_coin_flips(audit: Audit, lines: list[Line]) -> None:
    found = finding(audit, "streaks")
    assert found.level == "alarm"
    assert found.p_value_adjusted is not None
    assert found.p_value_adjusted > 0.05
    steps = [
        (before["winner"] == "A", now["winner"] == "A")
        for run in runs_of(lines)
        for before, now in pairwise([line for line in run if line["winner"]])
    ]
    after = [now for before, now in steps if before]
    otherwise = [now for before, now in steps if not before]
    assert found.number.value == pytest.approx(sum(after) / len(after))
    assert f"of {len(after)} passes right after a survival" in found.statement
    assert f"of {len(otherwise)} others" in found.statement


def test_rule_9_convergences_rest_on_ties_and_empty_panels(audit: Audit, lines: list[Line]) -> None:
    found = finding(audit, "convergence")
    assert found.level == "alarm"
    ended = converged(lines)
    affected_runs = [run for run in ended if any(tied(line) for line in run[-run[0]["k"] :])]
    assert f"{len(affected_runs)} of {len(ended)} convergences" in found.statement


def test_rule_10_a_fresh_winner_falls_one_pass_later(audit: Audit, lines: list[Line]) -> None:
    found = finding(audit, "novelty")
    assert found.level == "alarm"
    pairs = [
        (
            before["scores"][before["winner"]] / before["valid_ballots_implied"],
            now["scores"]["A"] / now["valid_ballots_implied"],
        )
        for run in runs_of(lines)
        for before, now in pairwise(run)
        if before["winner"] in ("B", "AB")
        and before["aggregation"] == now["aggregation"] == "borda"
        and before["valid_ballots_implied"]
        and now["valid_ballots_implied"]
    ]
    won = sum(pair[0] for pair in pairs) / len(pairs)
    stood = sum(pair[1] for pair in pairs) / len(pairs)
    assert won > 2.6
    assert stood < 1.9
    assert found.number.value == pytest.approx(stood - won)
    assert (
        f"{won:.1f} points per ballot and {stood:.1f} one pass later ({len(pairs)}"
        in found.statement
    )


def test_rule_12_no_critic_ever_found_nothing(whole: Audit, recorded: Path) -> None:
    found = finding(whole, "critics")
    assert found.level == "look"
    assert f"none of {len(transcript_passes(recorded))} critiques" in found.statement


def test_rule_15_clones_were_judged(audit: Audit, lines: list[Line]) -> None:
    found = finding(audit, "clones")
    assert found.level == "alarm"
    cloned = [line for line in lines if any(flag.startswith("clone") for flag in line["flags"])]
    assert found.statement.startswith(f"{len(cloned)} of {len(lines)} panels")


def test_what_holds_up_raises_no_alarm(audit: Audit) -> None:
    for name in ("length preferred", "agreement", "concordance", "partial rankings"):
        assert finding(audit, name).level == "fine", name
