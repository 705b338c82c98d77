"""The paper beside its data: known answers of the sample, and the audit's figures where the recordings are."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from paper.figures import (
    NOTHING,
    Found,
    all_of,
    compare,
    conclude,
    largest,
    majority,
    mean_within,
    paired_gain,
    share_of_whole,
    smallest,
    tally,
)
from paper.recording import PassLine, Recording, Run, read_recording
from paper.reproduce import ReproducedLine, Reproduction, reproduce
from tests.cases import cases
from tests.conftest import DATA
from tests.stats.intervals import ends

SAMPLE = DATA / "reproduce"


@pytest.fixture(scope="module")
def sample() -> Reproduction:
    return reproduce(SAMPLE)


@pytest.fixture(scope="module")
def recorded(shared: Path) -> Reproduction:
    return reproduce(shared / "recorded")


def line_of(report: Reproduction, ref: str, claim: str) -> ReproducedLine:
    (found,) = [line for line in report.lines if line.ref == ref and line.claim.startswith(claim)]
    return found


def values(line: ReproducedLine) -> dict[str, float | None]:
    return {figure.name: figure.value for figure in line.figures}


@cases(
    ("ref", "claim", "verdict", "expected"),
    [
        ("Table 1", "points after one pass, harsh critic", "differs", {"T1": 30, "T2": 10, "T3": None}),
        ("Sec 4.1", "tasks on which", "consistent", {"third": 1}),
        ("Sec 4.3", "votes", "agrees", {"pass 15": 6, "pass 25": 1}),
        ("Fig 4", "passes to two survivals, and words, T1", "differs", {"stop": 5, "words": 140}),
        ("Fig 6", "passes and words, repeat 2", "agrees", {"passes": 6, "words": 1453}),
        ("Fig 6", "passes and words, repeat 5", "differs", {"passes": 3, "words": 1500}),
        ("Fig 6", "passes and words, repeat 3", "no data", {"passes": None}),
        ("Sec 4.5", "five repeats of T1", "consistent", {"converged": 2, "shortest": 1453, "longest": 1500}),
        ("Sec 4.5", "passes in which majorities", "consistent", {"circles": 1}),
        ("Table 14", "runs with Haiku judges", "differs", {"with ballots": 1}),
        ("Sec 4.4", "wins of A with 6 or 7 points", "differs", {"wins": pytest.approx(100 / 7)}),
        ("Sec 7.5", "majority votes are tied", "agrees", {"frequent": 1}),
        ("Sec 7.5", "how votes are counted, majority", "differs", {"passes": 9, "converged": 0}),
        ("Table 17", "votes at equal length, harsh", "agrees", {"autoreason": 7, "other": 0}),
        ("Sec 11", "votes for autoreason", "consistent", {"votes": 9}),
        ("Table 10", "% solved, Sonnet 4.6, autoreason", "consistent", {"private": 80, "easy": 80, "hard": None}),
        ("Table 10", "problems that only", "consistent", {"first": 2, "second": 1, "p": 1}),
        ("Table 19", "% solved, Haiku 3.5, single", "consistent", {"private": pytest.approx(400 / 9)}),
        ("Table 19", "% solved without", "consistent", {"best of 6": pytest.approx(500 / 6), "p": 1}),
        ("Table 11", "% solved by Sonnet 4", "differs", {"single": pytest.approx(82 / 1.5)}),
        ("App D", "panels whose judges", "differs", {"panels": pytest.approx(100 * 20 / 29)}),
        ("Fig 10", "passes of the mixed panel", "no data", {"passes": None}),
    ],
)  # fmt: skip
def test_the_sample_has_its_known_answers(
    sample: Reproduction, ref: str, claim: str, verdict: str, expected: dict[str, float | None]
) -> None:
    line = line_of(sample, ref, claim)
    found = values(line)
    assert {name: found[name] for name in expected} == expected
    assert line.verdict == verdict


def test_the_report_shows_itself(sample: Reproduction) -> None:
    assert sample.conclusion.startswith(f"of {len(sample.lines)} claims in the paper, ")
    assert sample.recounted == (6, 6)
    text, page = sample.to_text(), sample.to_html()
    for shown in (text, page, sample.to_markdown()):
        assert "no data here" in shown
        assert "panels.jsonl line 8 contradicts an earlier one" in " ".join(shown.split())
    printed = sample.to_dict()
    assert printed["lines"][0]["figures"][0]["paper"] == 30
    assert json.loads(json.dumps(printed)) == printed


AS_CLAIMED = ""
NO_DATA = "no data"
CALLS = "calls of autoreason where best of 6 has six, "
Expected = tuple[str, str, str]
"""A line of ours, and figures that the audit names, or one of these; where nothing is listed, all is as claimed."""
AUDITED: dict[tuple[str, str], list[Expected]] = {
    ("Table 1", "single-pass Borda"): [("Table 1", "points", AS_CLAIMED)],
    ("Sec 4.1", "single-pass autoreason"): [("Sec 4.1", "tasks", "third 2")],
    ("Table 1", "autoreason uses"): [("Table 1", "calls", "calls 6")],
    ("Table 2", ""): [("Table 2", "points", AS_CLAIMED)],
    ("Sec 4.1 / Fig 3", ""): [("Sec 4.1", "average", "place 1.4"), ("Fig 3", "average", "place 1.4")],
    ("Table 3", ""): [("Table 3", "passes to", AS_CLAIMED), ("Table 3", "how many", "p 0.83")],
    ("Sec 5", ""): [("Sec 5", "", "A 6, AB 34, B 10")],
    ("Sec 5.2", ""): [("Sec 5.2", "", "converged 1")],
    ("Sec 4.5", "MC Sonnet 4"): [
        ("Sec 4.5", "five repeats of T1", "shortest 1451, longest 1660, deviation of words 95.2")
    ],
    ("Sec 4.5", "MC S4.6"): [("Sec 4.5", "texts of these", "deviation of words 135.3, deviation of points 8.32")],
    ("Sec 4.5", "multi-seed"): [
        ("Sec 4.5", "three seeds of every", "converged 15, passes 7.33, deviation 3.61"),
        ("Sec 4.5", "three seeds of every", "words 1824.9, deviation of words 410.4"),
    ],
    ("Sec 4.5", "Condorcet"): [("Sec 4.5", "passes in which", "circles 2")],
    ("Sec 4.5", "pairwise dominance"): [("Sec 4.5", "each beats", "critique_and_revise > harsh_critic 0")],
    ("Sec 4.5", "Elo"): [("Sec 4.5", "pass by which", NO_DATA)],
    ("Sec 4.3", ""): [("Sec 4.3", "", "pass 15 6, pass 25 1")],
    ("Table 10", "S4.6 code"): [
        ("Table 10", "% solved, Sonnet 4.6, autoreason", "public 87.3, private 76.7"),
        ("Table 10", "% solved, Sonnet 4.6, critique", "public 87.3, private 74.0"),
        ("Table 10", "% solved, Sonnet 4.6, single", "public 80.7, private 72.7"),
    ],
    ("Table 10", "bootstrap"): [
        ("Table 10", "bootstrap intervals of % solved, autoreason", "from 69.3, to 83.3"),
        ("Table 10", "bootstrap intervals of % solved, critique", "from 66.7, to 80.7"),
        ("Table 10", "bootstrap intervals of % solved, single", "from 65.3, to 79.3"),
    ],
    ("Table 10", "McNemar"): [("Table 10", "problems", "first 11, second 5, p 0.2101")],
    ("Table 11", ""): [("Table 11", "", "single 54.7")],
    ("Sec 6", "recovery"): [("Sec 6", "p of", "p 0.0414")],
    ("Sec 6", "Cohen"): [("Sec 6", "Cohen", "h 0.38")],
    ("Sec 7", ""): [("Sec 7", "", "pitch 0")],
    ("Table 14", ""): [("Table 14", "judges of", AS_CLAIMED), ("Table 14", "runs with", "with ballots 0")],
    ("Sec 7.5", ""): [("Sec 7.5", "majority votes", "frequent 0")],
    ("Table 17", ""): [("Table 17", "", AS_CLAIMED), ("Sec 11", "", "votes 22")],
    ("Table 18", ""): [
        ("Table 18", "", AS_CLAIMED),
        ("Sec 7.8", CALLS + "policy", "calls 18"), ("Sec 7.8", CALLS + "GTM", "calls 48"),
    ],
    ("Table 19", ""): [
        ("Table 19", "% solved, Haiku", AS_CLAIMED),
        ("Table 19", "% solved without", "best of 6 41.1, autoreason 44.6, p 0.45"),
        ("Table 19", "points by which autoreason leads single", "lead 2"),
    ],
    ("Table 21", ""): [("Table 21", "p of", NO_DATA)],
    ("Table 23", ""): [
        ("Table 23", "one survival:", "stop 17, pass 6.3"),
        ("Table 23", "two survivals in a row:", "stop 13, pass 12.5"),
        ("Table 23", "three survivals in a row", "stop 0"),
        ("Table 23", "four survivals in a row", "stop 0"),
    ],
    ("Discussion", ""): [("Discussion", "equal compute", AS_CLAIMED), ("Discussion", "calls", "calls 6")],
    ("Fig 5/12", ""): [("Figs 5 and 12", "", AS_CLAIMED)],
    ("Fig 10", ""): [("Fig 10", "", NO_DATA)],
    ("Sec 4.4", ""): [],
    ("App D", "max_tokens"): [("App D", "most tokens", NO_DATA)],
    ("App D", "Haiku 4.5 id"): [("App D", "Haiku 4.5", "name 0")],
    ("App D", "labels"): [],
}  # fmt: skip


def audit(shared: Path) -> list[dict[str, Any]]:
    text = (shared / "recorded" / "paper_vs_data.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_of_the_audit_comes_out_by_itself(shared: Path, recorded: Reproduction) -> None:
    wanted = dict(AUDITED)
    counted_right = [each for each in recorded.lines if "AB taken for A" not in each.claim]
    for line in audit(shared):
        place = line["ref"]
        listed = [key for key in wanted if key[0] == place and line["claim"].startswith(key[1])]
        assert listed or place not in dict(AUDITED)
        expected = wanted.pop(listed[0]) if listed else [(place, "", AS_CLAIMED)]
        for ref, claim, figures in expected:
            there = [each for each in counted_right if each.ref == ref]
            ours = [each for each in there if each.claim.startswith(claim)]
            assert ours, line
            for each in ours:
                check(each, figures, json.dumps(line))
    assert wanted == {}


def check(line: ReproducedLine, figures: str, audited: str) -> None:
    """Whether a line does not contradict the figures of the audit, which must be in what it says."""
    if figures in (AS_CLAIMED, NO_DATA):
        assert line.verdict != "differs", line
        assert figures != NO_DATA or line.verdict == NO_DATA, line
        return
    by_name = {figure.name: figure for figure in line.figures}
    for name, _, number in (each.rpartition(" ") for each in figures.split(", ")):
        assert number.removesuffix(".0") in audited or number in ("0", "1", "2"), (line, number)
        digits = len(number.partition(".")[2])
        found = structs.replace(by_name[name], paper=float(number), digits=digits)
        assert found.verdict in ("agrees", "consistent", "no data"), (line, found)


def test_points_of_wins_are_those_the_audit_lists_and_ab_taken_for_a_gives_table_23(
    recorded: Reproduction,
) -> None:
    # All wins of the reasoned judges are in the shared part.
    found = line_of(recorded, "Sec 4.4", "wins of A with 8 or 9")
    assert found.note == "1 time 7 points, 1 time 8 points, 2 times 9 points"
    assert found.verdict == "differs"
    assert line_of(recorded, "Sec 4.4", "wins of A with 6 or 7").verdict == "differs"
    by_prefix = [line for line in recorded.lines if "AB taken for A" in line.claim]
    assert len(by_prefix) == 4
    assert {line.verdict for line in by_prefix} <= {"agrees", "consistent"}


def test_a_part_is_called_a_part(recorded: Reproduction) -> None:
    assert recorded.unread == ()
    same, of = recorded.recounted
    assert same == of > 200
    for line in recorded.lines:
        assert line.here <= line.whole
        assert line.verdict != "agrees" or line.here == line.whole, line
        assert line.here or line.verdict == "no data", line


def test_the_outage_is_the_row_that_was_flagged(shared: Path, recorded: Reproduction) -> None:
    lines = map(json.loads, (shared / "recorded" / "code_results.jsonl").read_text().splitlines())
    flagged = [line["problem_id"] for line in lines if "suspected_outage_block" in line["flags"]]
    note = line_of(recorded, "Table 19", "% solved without").note
    assert note.startswith(f"left out {len(flagged)} problems, ")


winners = st.lists(st.sampled_from(["A", "B", "AB"]), min_size=1, max_size=30)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return read_recording(SAMPLE)


def run_of(won: list[str]) -> Run:
    lines = [PassLine(experiment="e", run="r", number=n, winner=w) for n, w in enumerate(won, 1)]
    return Run(tuple(lines))


def test_what_cannot_be_used_is_named_and_the_rest_is_read(recording: Recording) -> None:
    assert {kind: list(found) for kind, found in recording.unread.items()} == {
        "ballots": [
            "ballots.jsonl line 32 is not what the file has",
            "monte_carlo/run_03 lacks a pass",
        ],
        "panels": ["panels.jsonl line 8 contradicts an earlier one"],
        "code_results": [],
    }
    assert len(recording.panels) == 6
    assert ("monte_carlo", "run_03") not in recording.runs
    assert sorted(name for _, name in recording.runs) == [
        *("aggregation/3_judge_majority", "pitch/haiku_judges", "policy/haiku_judges"),
        *("run_02", "run_05", "task_01"),
    ]


@given(winners, st.integers(1, 4))
def test_a_run_stops_at_its_first_streak(won: list[str], k: int) -> None:
    stop = run_of(won).stop(k)
    streaks = [at for at in range(k, len(won) + 1) if won[at - k : at] == ["A"] * k]
    assert stop == (streaks[0] if streaks else None)


votes = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20)
points = st.lists(st.tuples(st.integers(1, 35), st.booleans()), min_size=1, max_size=8)


def within(found: Found, value: float) -> bool:
    """Whether a value may be that of the whole; without data it may be any."""
    if found.value is None:
        return True
    low = found.low is None or found.low <= value + 1e-9
    return low and (found.high is None or value <= found.high + 1e-9)


@given(votes)
def test_the_count_of_all_is_within_that_of_a_part(drawn: list[tuple[bool, bool]]) -> None:
    found = tally(hit if here else None for hit, here in drawn)
    assert within(found, sum(hit for hit, _ in drawn))
    assert found.whole == (found.value is None or all(here for _, here in drawn))


@given(points)
def test_the_mean_of_all_is_within_that_of_a_part(drawn: list[tuple[int, bool]]) -> None:
    found = mean_within([value if here else None for value, here in drawn], 1, 35)
    assert within(found, fmean(value for value, _ in drawn))


@given(points)
def test_the_ends_of_all_are_within_those_of_a_part(drawn: list[tuple[int, bool]]) -> None:
    everything, here = [value for value, _ in drawn], [value for value, here in drawn if here]
    assert within(smallest(here, len(drawn)), min(everything))
    assert within(largest(here, len(drawn)), max(everything))


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.data())
def test_a_majority_of_all_is_within_that_of_a_part(
    wins: int, losses: int, missing: int, data: st.DataObject
) -> None:
    more = data.draw(st.integers(0, missing))
    won, lost = wins + more, losses + missing - more
    assert within(majority(wins, losses, missing), float(won > lost))


@cases(
    ("paper", "found", "verdict"),
    [
        ("88", Found(87.33), "differs"),
        ("87", Found(87.33), "agrees"),
        ("0.21", Found(0.2101), "agrees"),
        ("69", Found(70, 69.3, 70.7), "agrees"),
        ("83", Found(85, 84.3, 85.7), "differs"),
        ("0.32", Found(0.3785), "differs"),
        ("33.7", Found(101 / 3), "agrees"),
        ("4", Found(2, 2, 3, whole=False), "differs"),
        ("3", Found(2, 2, 3, whole=False), "consistent"),
        ("83", Found(95.2, whole=False), "consistent"),
        ("1451", Found(1453, None, 1453, whole=False), "consistent"),
        ("1460", Found(1453, None, 1453, whole=False), "differs"),
        ("5", NOTHING, "no data"),
        ("", Found(5), None),
        # What is claimed of all is contradicted by one.
        ("100", all_of(9, 10, whole=False), "differs"),
        ("100", all_of(10, 10, whole=False), "consistent"),
        ("100", all_of(10, 10, whole=True), "agrees"),
    ],
)
def test_a_verdict_on_a_figure(paper: str, found: Found, verdict: str | None) -> None:
    assert compare("it", paper, found).verdict == verdict


@cases(
    ("found", "verdict"),
    [
        ((Found(1), Found(1)), "agrees"),
        ((Found(1), NOTHING), "consistent"),
        ((Found(1), Found(1, 0, 3, whole=False)), "consistent"),
        ((Found(2), NOTHING), "differs"),
        ((NOTHING, NOTHING), "no data"),
    ],
)
def test_a_verdict_on_a_line(found: tuple[Found, ...], verdict: str) -> None:
    assert conclude(compare("it", "1", each) for each in found) == verdict


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 50))
def test_a_share_of_a_whole_is_within_what_is_left_and_a_point_where_nothing_is(
    successes: int, drawn: int, left: int
) -> None:
    successes, total = min(successes, drawn), drawn + left
    found = share_of_whole(successes, drawn, total)
    low, high = ends(found)
    assert successes / total <= low <= high <= (successes + left) / total
    assert left or low == high == found.value


@given(st.integers(0, 200), st.integers(0, 60), st.integers(1, 60))
def test_a_paired_gain_has_bonett_and_prices_interval(both: int, gained: int, lost: int) -> None:
    n = both + gained + lost
    found = paired_gain([1.0] * gained + [-1.0] * lost + [0.0] * both)
    assert found.value == pytest.approx((gained - lost) / n)
    won, other = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    reach = 1.959964 * sqrt((won + other - (won - other) ** 2) / (n + 2))
    reached = max(-1, won - other - reach), min(1, won - other + reach)
    assert ends(found) == pytest.approx(reached, abs=1e-6)
