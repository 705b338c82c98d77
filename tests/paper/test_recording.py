"""Recorded results are read as far as they can be, whatever else lies beside them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper.recording import (
    PanelLine,
    PassLine,
    Recording,
    Run,
    read_recording,
)
from tests.conftest import DATA

from autoreason.errors import InvalidInput

SAMPLE = DATA / "reproduce"
winners = st.lists(st.sampled_from(["A", "B", "AB"]), min_size=1, max_size=30)


@pytest.fixture(scope="module")
def sample() -> Recording:
    """What the sample has."""
    return read_recording(SAMPLE)


def run_of(won: list[str]) -> Run:
    """A run that these won."""
    lines = [PassLine(experiment="e", run="r", number=n, winner=w) for n, w in enumerate(won, 1)]
    return Run(tuple(lines))


def test_what_cannot_be_used_is_named_and_the_rest_is_read(sample: Recording) -> None:
    assert {kind: list(found) for kind, found in sample.unread.items()} == {
        "ballots": [
            "ballots.jsonl line 32 is not what the file has",
            "monte_carlo/run_03 lacks a pass",
        ],
        "panels": ["panels.jsonl line 8 contradicts an earlier one"],
        "code_results": [],
    }
    assert len(sample.panels) == 6
    assert ("monte_carlo", "run_03") not in sample.runs
    assert sorted(name for _, name in sample.runs) == [
        *("aggregation/3_judge_majority", "pitch/haiku_judges", "policy/haiku_judges"),
        *("run_02", "run_05", "task_01"),
    ]


def test_files_are_found_below_the_folder_and_in_parts(tmp_path: Path, sample: Recording) -> None:
    lines = (SAMPLE / "ballots.jsonl").read_bytes().splitlines(keepends=True)
    for part in ("one", "two"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "ballots.jsonl").write_bytes(b"".join(lines[part == "two" :: 2]))
        shutil.copy(SAMPLE / "panels.jsonl", tmp_path / part)
    found = read_recording(tmp_path)
    assert found.runs == sample.runs
    assert found.panels == sample.panels
    assert found.files == 4


@pytest.mark.parametrize("name", ["paper_vs_data.jsonl", "judge_texts.jsonl", "notes.md"])
def test_other_files_are_not_opened(tmp_path: Path, name: str) -> None:
    shutil.copy(SAMPLE / "panels.jsonl", tmp_path)
    (tmp_path / name).symlink_to("/nowhere")
    assert read_recording(tmp_path).unread["panels"] == [
        "panels.jsonl line 8 contradicts an earlier one"
    ]


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "panels.jsonl", tmp_path)
    (tmp_path / "ballots.jsonl").symlink_to("/nowhere")
    assert read_recording(tmp_path).unread["ballots"] == ["ballots.jsonl cannot be read"]


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no recorded results"):
        read_recording(tmp_path)
    with pytest.raises(InvalidInput, match="no folder"):
        read_recording(tmp_path / "gone")


@given(st.lists(st.one_of(st.binary(max_size=40), st.just(b'{"panel_id": "a"}'))))
def test_no_line_stops_the_reading(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "panels.jsonl").write_bytes(b"\n".join(lines))
    assert len(read_recording(folder).panels) == (
        b'{"panel_id": "a"}' in b"\n".join(lines).splitlines()
    )


@pytest.mark.parametrize(
    ("table", "places"),
    [
        ("Table 2 (T1), Figs 2-3", {"Table 2", "Fig 2", "Fig 3"}),
        ("Sec 4.3, Sec 2", {"Sec 4.3", "Sec 2"}),
        ("Discussion, compute-normalized paragraph", {"Discussion"}),
        ("Tables 8 and 9", {"Table 8", "Table 9"}),
        ("Table 12, Table 13", {"Table 12", "Table 13"}),
        (None, set()),
    ],
)
def test_a_panel_knows_where_the_paper_has_it(table: str | None, places: set[str]) -> None:
    assert PanelLine(panel_id="p", paper_table=table).places == places


@given(winners, st.integers(1, 4))
def test_a_run_stops_at_its_first_streak(won: list[str], k: int) -> None:
    stop = run_of(won).stop(k)
    streaks = [at for at in range(k, len(won) + 1) if won[at - k : at] == ["A"] * k]
    assert stop == (streaks[0] if streaks else None)


@given(winners, st.integers(1, 4))
def test_taking_ab_for_a_never_stops_later(won: list[str], k: int) -> None:
    right, by_prefix = run_of(won).stop(k), run_of(won).stop(k, by_prefix=True)
    assert right is None or (by_prefix is not None and by_prefix <= right)


def test_points_are_counted_where_rankings_are_recorded() -> None:
    line = json.loads((SAMPLE / "panels.jsonl").read_text().splitlines()[1])
    wrong = {**line, "borda": dict.fromkeys(line["methods"], 0)}
    assert msgspec.convert(wrong, PanelLine).points == line["borda"]


def test_a_ranking_with_a_name_twice_is_no_ranking() -> None:
    scores = {"A": 5, "B": 5, "AB": 5}
    judges = [{"ranking": ["A", "A", "B"]}, {"ranking": ["B"]}, {"ranking": None}]
    line = {"experiment": "e", "run": "r", "pass": 1, "winner": "A", "judges": judges}
    assert msgspec.convert({**line, "scores": scores}, PassLine).points == scores
    panel = {"panel_id": "p", "methods": ["x", "y"], "judges_valid": 1, "borda": {"x": 2}}
    twice = {"ballots": [{"methods": ["x", "x"]}], "label_map_status": "recorded"}
    assert msgspec.convert({**panel, **twice}, PanelLine).points == {"x": 2}


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "panels.jsonl", tmp_path)
    os.mkfifo(tmp_path / "ballots.jsonl")
    assert read_recording(tmp_path).unread["ballots"] == ["ballots.jsonl cannot be read"]
