"""Records of the original experiments are read into the common form, or refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoreason.errors import InvalidInput
from autoreason.studies.audit.audit import audit_runs
from autoreason.studies.audit.files import read_records, without_duplicates

LINE: dict[str, Any] = {
    "experiment": "exp",
    "run": "one",
    "pass": 1,
    "judge_model": "m",
    "aggregation": "borda",
    "panel_size": 3,
    "k": 2,
    "one_order_for_all_judges": False,
    "judges": [
        {"ranking": ["B", "AB", "A"], "order": ["A", "B", "AB"]},
        {"ranking": None, "order": ["B", "A", "AB"]},
        {"ranking": ["B", "B", "A"], "order": ["AB", "A", "B"]},
    ],
    "scores": {"A": 1, "B": 3, "AB": 2},
    "winner": "B",
    "valid_ballots_recorded": None,
    "valid_ballots_implied": 1,
    "streak_after": 0,
    "words": {"A": 10, "B": 12, "AB": None, "critic": 7},
    "elapsed_s": 3.5,
    "flags": ["clone_B_equals_A", "tie"],
}
RUN: dict[str, Any] = {
    "type": "run",
    "experiment": "exp",
    "run": "one",
    "task_prompt": "Write.\n- Maximum 5 words",
    "judge_model": "m",
    "k": 2,
    "initial_a": "First text.",
    "final_output": None,
}
PASS: dict[str, Any] = {
    "type": "pass",
    "pass": 1,
    "version_a": "First text.",
    "version_b": "Second text.",
    "version_ab": "Third text.",
    "critique": "No problems.",
    "judges": [
        {"order": ["AB", "A", "B"], "ranking": ["B", "A", "AB"], "text": "RANKING: 3, 2, 1"}
    ],
    "scores": {"A": 2, "B": 3, "AB": 1},
    "winner": "B",
    "streak_after": 0,
    "elapsed_s": 2.0,
}


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def test_passes_are_gathered_into_runs_in_their_order(tmp_path: Path) -> None:
    file = write(tmp_path / "b.jsonl", LINE | {"pass": 2}, LINE, LINE | {"run": "two"})
    one, two = read_records(file)
    assert (one.name, two.name) == ("exp/one", "exp/two")
    assert [audited_pass.number for audited_pass in one.passes] == [1, 2]
    audited_pass = one.passes[0]
    assert audited_pass.words == {"A": 10, "B": 12}
    assert audited_pass.critique_words == 7
    assert audited_pass.clones == ("clone_B_equals_A",)
    assert audited_pass.panel is not None
    assert (audited_pass.panel.seats, audited_pass.panel.shared_order, audited_pass.panel.rule) == (
        3,
        False,
        "borda",
    )


def test_a_ranking_that_is_no_permutation_is_faulty_and_no_ballot(tmp_path: Path) -> None:
    (run,) = read_records(write(tmp_path / "b.jsonl", LINE))
    votes = run.passes[0].panel.votes if run.passes[0].panel else ()
    assert votes is not None
    assert [vote.faulty for vote in votes] == [False, False, True]
    assert [vote.ranking for vote in votes] == [("B", "AB", "A"), None, None]


def test_a_transcript_is_read_with_its_texts(tmp_path: Path) -> None:
    (run,) = read_records(write(tmp_path / "t.jsonl", RUN, PASS))
    assert (run.first, run.last, run.name) == ("First text.", "Second text.", "exp/one")
    assert run.contract is not None
    assert run.contract.max_words == 5
    audited_pass = run.passes[0]
    assert audited_pass.texts == {"A": "First text.", "B": "Second text.", "AB": "Third text."}
    assert audited_pass.no_problem is True
    assert audited_pass.panel is not None
    assert audited_pass.panel.votes is not None
    assert audited_pass.panel.votes[0].labels == ("1", "2", "3")


def test_several_transcripts_may_stand_in_one_file(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", RUN, PASS, RUN | {"run": "two"}, PASS, PASS | {"pass": 2})
    assert [len(run.passes) for run in read_records(file)] == [1, 2]


def test_a_folder_gives_every_run_once_with_its_texts_where_there_are_any(tmp_path: Path) -> None:
    write(tmp_path / "ballots.jsonl", LINE, LINE | {"run": "two"})
    (tmp_path / "transcripts").mkdir()
    write(tmp_path / "transcripts" / "one.jsonl", RUN, PASS)
    runs = {run.name: run for run in read_records(tmp_path)}
    assert set(runs) == {"exp/one", "exp/two"}
    assert runs["exp/one"].first == "First text."
    assert runs["exp/two"].first is None
    assert len(without_duplicates([*runs.values(), *runs.values()])) == 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([LINE, "{"], "line 2 is no JSON object"),
        ([LINE, "[1]"], "line 2 is no JSON object"),
        ([LINE, LINE | {"pass": "x"}], "line 2 is damaged: `pass`"),
        ([RUN, {"type": "pass", "version_a": "x"}], "line 2 is damaged"),
        ([{"a": 1}], "is no record that can be audited"),
        (["[" * 100_000], "line 1 is no JSON object"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, lines: list[Any], message: str) -> None:
    file = write(tmp_path / "bad.jsonl", *lines)
    with pytest.raises(InvalidInput) as caught:
        read_records(file)
    assert message in str(caught.value)
    assert "bad.jsonl" in str(caught.value)


def test_what_is_not_there_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="contains no record"):
        read_records(tmp_path)
    with pytest.raises(InvalidInput, match="no record at"):
        read_records(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(InvalidInput, match="is empty"):
        read_records(tmp_path / "empty.jsonl")


SLOT = st.sampled_from(["A", "B", "AB"])
ODD_LINES = st.fixed_dictionaries(
    {
        "experiment": st.sampled_from(["x", "y"]),
        "run": st.sampled_from(["1", "2"]),
        "pass": st.integers(1, 9),
    },
    optional={
        "aggregation": st.sampled_from(["borda", "majority", "single_pick", "unheard of"]),
        "panel_size": st.none() | st.integers(0, 7),
        "k": st.none() | st.integers(0, 3),
        "one_order_for_all_judges": st.none() | st.booleans(),
        "judges": st.none()
        | st.lists(
            st.fixed_dictionaries(
                {
                    "ranking": st.none() | st.lists(SLOT, max_size=4),
                    "order": st.none() | st.permutations(["A", "B", "AB"]),
                }
            ),
            max_size=4,
        ),
        "scores": st.none() | st.dictionaries(SLOT, st.integers(0, 9)),
        "winner": st.none() | SLOT,
        "valid_ballots_recorded": st.none() | st.integers(0, 7),
        "streak_after": st.none() | st.integers(0, 3),
        "words": st.none() | st.dictionaries(SLOT, st.none() | st.integers(0, 99)),
        "elapsed_s": st.none() | st.floats(0, 1e6),
    },
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ODD_LINES, min_size=1, max_size=8))
def test_whatever_a_record_leaves_out_it_can_be_audited(
    tmp_path: Path, lines: list[dict[str, Any]]
) -> None:
    audit = audit_runs(read_records(write(tmp_path / "odd.jsonl", *lines)))
    for finding in audit.findings:
        assert finding.statement
        value = finding.number.value
        assert value is None or value == value
        assert (finding.level != "unknown") or value is None
