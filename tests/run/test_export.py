"""An exported run is a folder a person can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.run.runs import Looping, scripted, start_run
from tests.studies.lab.rivals import compared, comparing
from tests.tournament.stage import document

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.journal import Journal
from autoreason.run.export import export
from autoreason.studies.panels.entries import make_entries
from autoreason.task import Task
from autoreason.tournament.challengers import MAX_RIVALS


async def test_everything_is_there_by_pass(journal: Journal, tmp_path: Path) -> None:
    model = scripted({"pass/1/reviser/try/0": document("Second text.", "I cut the middle.")})
    result = await start_run(journal, model)
    folder = tmp_path / "out"
    files = {str(path.relative_to(folder)) for path in export(result.run, folder, journal=journal)}
    assert {
        "brief.md",
        "settings.json",
        "prompts/judge.md",
        "draft.md",
        "passes/01/A.md",
        "passes/01/B.md",
        "passes/01/B.notes.md",
        "passes/01/AB.md",
        "passes/01/critique_1.md",
        "passes/01/ballot_1.md",
        "passes/02/verdict.json",
        "calls/pass_1_judge_1_try_1.md",
        "final.md",
        "run.json",
    } <= files
    assert (folder / "final.md").read_text() == "First text.\n"
    assert "I cut the middle." in (folder / "passes/01/B.notes.md").read_text()
    summary = json.loads((folder / "run.json").read_text())
    assert (summary["status"], summary["trajectory"], summary["calls"]) == (
        "converged",
        ["A", "A"],
        result.calls,
    )
    assert "coffee machine" in (folder / "calls/pass_1_judge_1_try_1.md").read_text()


async def test_tokens_that_were_not_counted_are_unknown(journal: Journal, tmp_path: Path) -> None:
    result = await start_run(journal, Looping())
    folder = tmp_path / "out"
    export(result.run, folder, journal=journal)
    assert json.loads((folder / "run.json").read_text())["tokens"] is None
    (first, *_) = (folder / "calls").iterdir()
    assert "tokens unknown" in first.read_text().splitlines()[0]


async def test_dropped_candidates_are_all_kept_with_the_reason(
    journal: Journal, tmp_path: Path
) -> None:
    task = Task(brief="Write.", contract=Contract(max_words=4))
    result = await start_run(
        journal, scripted({"reviser": document("Second text of very many words.")}), task=task
    )
    export(result.run, tmp_path / "out", journal=journal)
    files = sorted((tmp_path / "out" / "passes" / "01").glob("dropped_*.md"))
    said = [file.read_text() for file in files]
    assert said[0].startswith("dropped: contract")
    assert "Second text of very many words." in said[0]
    assert [each.splitlines()[0] for each in said[-MAX_RIVALS:]] == ["dropped: clone"] * MAX_RIVALS


async def test_a_folder_with_something_in_it_is_left_alone(
    journal: Journal, tmp_path: Path
) -> None:
    result = await start_run(journal, scripted())
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="is not empty"):
        export(result.run, tmp_path, journal=journal)
    export(result.run, tmp_path, journal=journal, force=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"


async def test_a_place_that_cannot_be_written_is_one_clear_sentence(
    journal: Journal, tmp_path: Path
) -> None:
    result = await start_run(journal, scripted())
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "out", tmp_path / "file"):
        with pytest.raises(InvalidInput, match=r"cannot write .*; name another folder"):
            export(result.run, folder, journal=journal, force=True)


async def test_a_comparison_is_there_cell_by_cell(journal: Journal, tmp_path: Path) -> None:
    result, _ = await compared(journal, comparing("critique_revise", "single", repeats=1, passes=1))
    folder = tmp_path / "out"
    files = {str(path.relative_to(folder)) for path in export(result.run, folder, journal=journal)}
    assert {
        "brief/critique_revise/1/passes/01/B.md",
        "brief/critique_revise/1/final.md",
        "brief/single/1/final.md",
        "brief/panel/1/panels/panel/ballot_1.md",
        "brief/panel/1/panels/panel/verdict.json",
    } <= files


async def test_a_panel_is_there_with_its_texts(journal: Journal, tmp_path: Path) -> None:
    entries = make_entries({"a.md": "First text.", "../b": "Second text."})
    task = Task(brief="Write one sentence.", entries=entries)
    result = await start_run(
        journal, scripted(), task=task, changes={"strategy": "judge", "judges": 2}
    )
    folder = tmp_path / "out"
    files = {str(path.relative_to(folder)) for path in export(result.run, folder, journal=journal)}
    texts = {"texts/a.md", "texts/.._b.md"}
    assert texts | {"panels/panel/ballot_2.md", "panels/panel/verdict.json"} <= files
