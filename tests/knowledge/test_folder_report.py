"""What is said of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreason.knowledge.folder_report import check_knowledge, search_knowledge
from autoreason.knowledge.outcome_file import append_outcomes
from autoreason.knowledge_records import Record, RecordedOutcome


def outcome(text: str, value: float, group: str = "g", n: int | None = 2000) -> Record:
    """A record with a result."""
    return Record(
        text=text,
        kind="outcome",
        result=RecordedOutcome(metric="opens", value=value, n=n),
        group=group,
    )


def test_what_to_know_of_records_is_counted(tmp_path: Path) -> None:
    append_outcomes(
        tmp_path,
        [
            outcome("a", 0.3),
            outcome("a", 0.2),
            outcome("b", 0.1),
            outcome("c", 0.1, ""),
            outcome("d", 0.1, "h", None),
            Record(text="b", kind="fact", private=True),
            Record(text="e", kind="verdict", verdict="approved", chosen="picked"),
        ],
    )
    found = check_knowledge(tmp_path)
    assert (found.groups, found.ungrouped, found.pairs, found.paired_groups) == (2, 2, 1, 1)
    assert (found.duplicates, found.private, found.picked, found.no_error) == (2, 1, 1, 1)
    assert found.contradictions == ("outcomes.jsonl:1 and outcomes.jsonl:2",)
    assert "Same text and group, different outcomes: 1" in found.to_text()


@pytest.mark.parametrize("verdict", ["approved", "rejected"])
def test_texts_that_were_all_judged_alike_make_no_pairs(tmp_path: Path, verdict: str) -> None:
    (tmp_path / verdict).mkdir()
    for name in "abc":
        (tmp_path / verdict / f"{name}.md").write_text(f"---\ngroup: g\n---\n{name}")
    found = check_knowledge(tmp_path)
    assert (found.kinds, found.pairs) == ({"verdict": 3}, 0)
    assert "too few to test whether they help" in found.to_text()


@pytest.mark.parametrize(("pairs", "reach"), [(100, "15"), (200, "11"), (400, "8")])
def test_what_so_many_pairs_can_show_is_said(tmp_path: Path, pairs: int, reach: str) -> None:
    append_outcomes(
        tmp_path,
        [outcome(f"{at} {value}", value, f"g{at}") for at in range(pairs) for value in (0.1, 0.3)],
    )
    sentence = f"a test shows a gain of {reach} points or more, four times out of five"
    assert sentence in " ".join(check_knowledge(tmp_path).to_text().split())


def test_an_empty_folder_is_empty(tmp_path: Path) -> None:
    assert check_knowledge(tmp_path).conclusion.startswith("no record in ")
    assert search_knowledge(tmp_path, "anything").found == ()
