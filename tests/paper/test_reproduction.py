"""The paper beside its data: known answers of the sample, and the audit's figures where the recordings are."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from paper.reproduce import ReproducedLine, Reproduction, read_claims, reproduce
from tests.conftest import DATA

SAMPLE = DATA / "reproduce"


@pytest.fixture(scope="module")
def sample() -> Reproduction:
    """The sample's report."""
    return reproduce(SAMPLE)


@pytest.fixture(scope="module")
def recorded(shared: Path) -> Reproduction:
    """The recordings' report."""
    return reproduce(shared / "recorded")


def line_of(report: Reproduction, ref: str, claim: str) -> ReproducedLine:
    """The one line with this reference and beginning."""
    (found,) = [line for line in report.lines if line.ref == ref and line.claim.startswith(claim)]
    return found


def values(line: ReproducedLine) -> dict[str, float | None]:
    """What the data give, figure by figure."""
    return {figure.name: figure.value for figure in line.figures}


# ---- the sample --------------------------------------------------------------------------------


@pytest.mark.parametrize(
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


def test_a_line_says_on_how_much_it_rests_and_what_was_not_read(sample: Reproduction) -> None:
    repeats = line_of(sample, "Sec 4.5", "five repeats of T1")
    assert (repeats.here, repeats.whole, repeats.unit, repeats.unread) == (2, 5, "run", 2)
    table = line_of(sample, "Table 1", "points after one pass, harsh")
    assert (table.here, table.whole, table.unit, table.unread) == (2, 5, "panel", 1)
    assert "2 of 5 panels, 1 not read" in sample.to_markdown()


def test_notes_say_what_the_figures_hide(sample: Reproduction) -> None:
    weak = line_of(sample, "Table 14", "runs with Haiku judges").note
    assert weak == (
        "8 of 18 ballots lost; 2 passes without a ballot, won by A; 1 of 2 converged on a tie or an empty panel"
    )
    assert line_of(sample, "Sec 4.3", "votes").note == "pass15 was shown first to 1 of 2 judges"
    assert line_of(sample, "Table 12", "Haiku 3.5, autoreason").note == (
        "task_03_constrained: 2 of 3 ballots are valid, and 4 points are the most"
    )
    assert line_of(sample, "Table 19", "% solved without").note == (
        "left out 4 problems, medium_2 to medium_5; of the others only autoreason solves 1 and only best of 6 1"
    )
    assert line_of(sample, "Table 4", "Sonnet 4.6 on T2, autoreason").note == (
        "missing: panels of Table 4 on task_02"
    )


def test_every_missing_line_says_what_is_missing(sample: Reproduction, tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "panels.jsonl", tmp_path)
    for report in (sample, reproduce(tmp_path)):
        for line in report.lines:
            assert line.note.startswith("missing: ") == (line.verdict == "no data"), line
            assert line.note != "missing: "


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


def test_what_lies_beside_the_results_changes_nothing(sample: Reproduction, tmp_path: Path) -> None:
    for file in SAMPLE.iterdir():
        shutil.copy(file, tmp_path)
    claim = {"ref": "Sec 4.3", "claim": "pass 15", "paper": "1-6", "data": "1-6"}
    (tmp_path / "paper_vs_data.jsonl").write_text(json.dumps(claim))
    assert reproduce(tmp_path).lines == sample.lines


ODD = st.sampled_from([None, "", "A", -1, 0, 7, 2.5, True, [], {}, ["A", "A"], {"A": 3}, [None]])


@given(st.data())
@settings(max_examples=25)
def test_no_record_stops_the_report(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    for file in SAMPLE.iterdir():
        texts = file.read_text("utf-8").splitlines()
        lines = [json.loads(line) for line in texts if line.endswith("}")]
        for line in data.draw(st.lists(st.sampled_from(lines), max_size=8)):
            line[data.draw(st.sampled_from(sorted(line)))] = data.draw(ODD)
        (folder / file.name).write_text("\n".join(map(json.dumps, lines)), "utf-8")
    report = reproduce(folder)
    assert len(report.lines) == len(read_claims())
    assert report.to_text()


def test_claims_have_a_place_figures_and_something_to_rest_on() -> None:
    claims = read_claims()
    assert len(claims) > 120
    for claim in claims:
        assert re.match(r"(Table|Sec|Figs?|App|Discussion)\b", claim.ref)
        assert any(claim.figures.values())
        assert claim.whole > 0
    assert len({(claim.ref, claim.about) for claim in claims}) == len(claims)


# ---- the recordings ----------------------------------------------------------------------------

AS_CLAIMED = ""
NO_DATA = "no data"
CALLS = "calls of autoreason where best of 6 has six, "
Expected = tuple[str, str, str]
"""A line of ours, and figures that the audit names; or that all are as the paper claims, or that there are no data."""
AUDITED: dict[tuple[str, str], list[Expected]] = {
    ("Table 1", "single-pass Borda"): [("Table 1", "points", AS_CLAIMED)],
    ("Sec 4.1", "single-pass autoreason"): [("Sec 4.1", "tasks", "third 2")],
    ("Table 1", "autoreason uses"): [("Table 1", "calls", "calls 6")],
    ("Table 2", ""): [("Table 2", "points", AS_CLAIMED)],
    ("Sec 4.1 / Fig 3", ""): [("Sec 4.1", "average", "place 1.4"), ("Fig 3", "average", "place 1.4")],
    ("Table 3", ""): [("Table 3", "passes to", AS_CLAIMED), ("Table 3", "how many", "p 0.83")],
    ("Table 4", ""): [("Table 4", "", AS_CLAIMED)],
    ("Sec 5", ""): [("Sec 5", "", "A 6, AB 34, B 10")],
    ("Table 5", ""): [("Table 5", "", AS_CLAIMED)],
    ("Table 6", ""): [("Table 6", "", AS_CLAIMED)],
    ("Table 7", ""): [("Table 7", "", AS_CLAIMED)],
    ("Sec 5.2", ""): [("Sec 5.2", "", "converged 1")],
    ("Table 8", ""): [("Table 8", "", AS_CLAIMED)],
    ("Table 9", ""): [("Table 9", "", AS_CLAIMED)],
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
    ("Table 12", ""): [("Table 12", "", AS_CLAIMED)],
    ("Table 13", ""): [("Table 13", "", AS_CLAIMED)],
    ("Sec 7", ""): [("Sec 7", "", "pitch 0")],
    ("Table 14", ""): [("Table 14", "judges of", AS_CLAIMED), ("Table 14", "runs with", "with ballots 0")],
    ("Table 15", ""): [("Table 15", "", AS_CLAIMED)],
    ("Sec 7.5", ""): [("Sec 7.5", "majority votes", "frequent 0")],
    ("Table 16", ""): [("Table 16", "", AS_CLAIMED)],
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
    ("Table 20", ""): [("Table 20", "", AS_CLAIMED)],
    ("Table 21", ""): [("Table 21", "p of", NO_DATA)],
    ("Table 23", ""): [
        ("Table 23", "one survival:", "stop 17, pass 6.3"),
        ("Table 23", "two survivals in a row:", "stop 13, pass 12.5"),
        ("Table 23", "three survivals in a row", "stop 0"),
        ("Table 23", "four survivals in a row", "stop 0"),
    ],
    ("Discussion", ""): [("Discussion", "equal compute", AS_CLAIMED), ("Discussion", "calls", "calls 6")],
    ("Fig 4", ""): [("Fig 4", "", AS_CLAIMED)],
    ("Fig 5/12", ""): [("Figs 5 and 12", "", AS_CLAIMED)],
    ("Fig 6", ""): [("Fig 6", "", AS_CLAIMED)],
    ("Fig 11", ""): [("Fig 11", "", AS_CLAIMED)],
    ("Fig 10", ""): [("Fig 10", "", NO_DATA)],
    ("Sec 4.4", ""): [],
    ("App D", "max_tokens"): [("App D", "most tokens", NO_DATA)],
    ("App D", "Haiku 4.5 id"): [("App D", "Haiku 4.5", "name 0")],
    ("App D", "labels"): [],
}  # fmt: skip


def audit(shared: Path) -> list[dict[str, Any]]:
    """What was found of each claim over all of the data."""
    text = (shared / "recorded" / "paper_vs_data.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_of_the_audit_comes_out_by_itself(shared: Path, recorded: Reproduction) -> None:
    wanted = dict(AUDITED)
    for line in audit(shared):
        (key,) = [
            each for each in wanted if each[0] == line["ref"] and line["claim"].startswith(each[1])
        ]
        for ref, claim, figures in wanted.pop(key):
            ours = [
                each for each in recorded.lines if each.ref == ref and each.claim.startswith(claim)
            ]
            ours = [each for each in ours if "AB taken for A" not in each.claim]
            assert ours, key
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
        found = structs.replace(
            by_name[name], paper=float(number), digits=len(number.partition(".")[2])
        )
        assert found.verdict in ("agrees", "consistent", "no data"), (line, found)


def test_points_of_wins_are_those_the_audit_lists(recorded: Reproduction) -> None:
    # All wins of the reasoned judges are in the shared part.
    found = line_of(recorded, "Sec 4.4", "wins of A with 8 or 9")
    assert (found.note, found.verdict) == (
        "1 time 7 points, 1 time 8 points, 2 times 9 points",
        "differs",
    )
    assert line_of(recorded, "Sec 4.4", "wins of A with 6 or 7").verdict == "differs"


def test_counting_ab_as_a_gives_the_figures_of_table_23(recorded: Reproduction) -> None:
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
